import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveAction;

/** Scalable: multiplies matrices by halves, with fork and join. G1. */
public final class Matrix {
    private static final int SIDE = 192;

    private static final class Rows extends RecursiveAction {
        private final double[][] a, b, c;
        private final int from, to;

        Rows(double[][] a, double[][] b, double[][] c, int from, int to) {
            this.a = a;
            this.b = b;
            this.c = c;
            this.from = from;
            this.to = to;
        }

        @Override
        protected void compute() {
            if (to - from > 8) {
                int middle = (from + to) / 2;
                invokeAll(new Rows(a, b, c, from, middle), new Rows(a, b, c, middle, to));
                return;
            }
            for (int i = from; i < to; i++) {
                double[] row = new double[SIDE];
                for (int k = 0; k < SIDE; k++) {
                    double factor = a[i][k];
                    for (int j = 0; j < SIDE; j++) row[j] += factor * b[k][j];
                }
                c[i] = row;
            }
        }
    }

    public static void main(String[] arguments) {
        int size = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 10;
        double[][] shift = new double[SIDE][SIDE], numbers = new double[SIDE][SIDE];
        for (int i = 0; i < SIDE; i++) {
            shift[i][(i + 1) % SIDE] = 1;
            for (int j = 0; j < SIDE; j++) numbers[i][j] = i * SIDE + j;
        }
        // Each product moves all rows up by one.
        int rounds = 4 * size;
        for (int round = 0; round < rounds; round++) {
            double[][] product = new double[SIDE][];
            ForkJoinPool.commonPool().invoke(new Rows(shift, numbers, product, 0, SIDE));
            numbers = product;
        }
        for (int i = 0; i < SIDE; i++) {
            if (numbers[i][0] != (i + rounds) % SIDE * SIDE) {
                throw new AssertionError("row " + i + " is " + numbers[i][0]);
            }
        }
        System.out.println("Matrix: " + rounds + " products");
    }
}
