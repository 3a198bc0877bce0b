import java.util.concurrent.locks.ReentrantLock;

/** Four threads take turns in a lock, a monitor's or a ReentrantLock. The one that is called "holder" keeps it thirty times as long as the others do. */
public class Locks {
    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static double sum;

    static void compute(int steps) {
        double x = 1;
        for (int i = 0; i < steps; i++) x = Math.sqrt(x + i);
        sum += x;
    }

    static void turn(boolean monitor, int steps) {
        if (monitor) {
            synchronized (MONITOR) {
                compute(steps);
            }
            return;
        }
        LOCK.lock();
        try {
            compute(steps);
        } finally {
            LOCK.unlock();
        }
    }

    public static void main(String[] words) throws InterruptedException {
        boolean monitor = words[0].equals("monitor");
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            int steps = i == 0 ? 600_000 : 20_000;
            threads[i] = new Thread(() -> {
                for (int turn = 0; turn < 200; turn++) turn(monitor, steps);
            }, i == 0 ? "holder" : "other-" + i);
        }
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
        System.out.println(sum > 0 ? "done" : "nothing was done");
    }
}
