/** Contended, after avrora: a thread for each simulated device, which all advance one clock under one monitor, in steps of little work. Parallel. */
public final class Devices {
    private static final int DEVICES = 16;

    private static long clock;
    private static long registers;
    private static final Object MONITOR = new Object();

    private static long step(long state) {
        for (int i = 0; i < 400; i++) {
            state = state * 6364136223846793005L + 1442695040888963407L;
        }
        return state;
    }

    public static void main(String[] arguments) throws InterruptedException {
        int size = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 10;
        int steps = 1_500 * size;
        long[] states = new long[DEVICES];
        Thread[] devices = new Thread[DEVICES];
        for (int i = 0; i < DEVICES; i++) {
            int own = i;
            devices[i] = new Thread(() -> {
                long state = own;
                for (int at = 0; at < steps; at++) {
                    state = step(state);
                    // More of the work is inside than outside.
                    synchronized (MONITOR) {
                        clock++;
                        registers ^= step(step(state));
                    }
                }
                states[own] = state;
            }, "device-" + i);
            devices[i].start();
        }
        for (Thread device : devices) device.join();
        long expected = 3;
        for (int at = 0; at < steps; at++) expected = step(expected);
        if (clock != (long) DEVICES * steps || states[3] != expected) {
            throw new AssertionError(clock + " steps");
        }
        System.out.println("Devices: " + clock + " steps");
    }
}
