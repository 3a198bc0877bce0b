import java.util.concurrent.atomic.AtomicInteger;

/** Scalable, after sunflow: threads take lines of a picture of spheres, and allocate a vector for each step. ZGC. */
public final class RayTracer {
    private static final int SIDE = 160;

    private record Vector(double x, double y, double z) {
        Vector plus(Vector other) { return new Vector(x + other.x, y + other.y, z + other.z); }
        Vector times(double factor) { return new Vector(x * factor, y * factor, z * factor); }
        double dot(Vector other) { return x * other.x + y * other.y + z * other.z; }
        Vector unit() { return times(1 / Math.sqrt(dot(this))); }
    }

    private static final Vector[] SPHERES = new Vector[12];

    /** How bright it is where a ray ends. */
    private static int trace(Vector from, Vector to, int depth) {
        double nearest = Double.POSITIVE_INFINITY;
        Vector hit = null;
        for (Vector sphere : SPHERES) {
            Vector center = sphere.plus(from.times(-1));
            double along = center.dot(to), root = along * along - center.dot(center) + 0.8;
            if (root > 0 && along - Math.sqrt(root) > 1e-6 && along - Math.sqrt(root) < nearest) {
                nearest = along - Math.sqrt(root);
                hit = sphere;
            }
        }
        if (hit == null || depth == 0) {
            return (int) (100 * (1 + to.y()));
        }
        Vector at = from.plus(to.times(nearest)), normal = at.plus(hit.times(-1)).unit();
        return 20 + trace(at, to.plus(normal.times(-2 * to.dot(normal))), depth - 1) / 2;
    }

    private static int line(int y) {
        int sum = 0;
        for (int x = 0; x < SIDE; x++) {
            sum += trace(new Vector(0, 0, -6), new Vector(x - SIDE / 2, y - SIDE / 2, SIDE).unit(), 4);
        }
        return sum;
    }

    public static void main(String[] arguments) throws InterruptedException {
        int size = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 10;
        for (int i = 0; i < SPHERES.length; i++) {
            SPHERES[i] = new Vector(i % 4 - 1.5, i / 4 - 1, i % 3);
        }
        int lines = SIDE * size / 2;
        int[] sums = new int[lines];
        AtomicInteger next = new AtomicInteger();
        Thread[] tracers = new Thread[8];
        for (int i = 0; i < tracers.length; i++) {
            tracers[i] = new Thread(() -> {
                for (int at = next.getAndIncrement(); at < lines; at = next.getAndIncrement()) sums[at] = line(at % SIDE);
            }, "tracer-" + i);
            tracers[i].start();
        }
        for (Thread tracer : tracers) tracer.join();
        for (int at = 0; at < lines; at += 37) {
            if (sums[at] != line(at % SIDE)) throw new AssertionError("line " + at);
        }
        System.out.println("RayTracer: " + lines + " lines");
    }
}
