import java.util.concurrent.locks.ReentrantLock;

/** Four threads share a lock, a monitor or a ReentrantLock. One of them holds it for long, the others for a moment. */
public class Holds {
    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static long work;

    /** Computes for some milliseconds. */
    static void compute(int ms) {
        for (long end = System.nanoTime() + ms * 1_000_000L; System.nanoTime() < end;) work++;
    }

    public static void main(String[] arguments) throws InterruptedException {
        boolean monitor = arguments[0].equals("monitor");
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            int ms = i == 0 ? 40 : 2;
            threads[i] = new Thread(() -> {
                for (int round = 0; round < 12; round++) {
                    if (monitor) {
                        synchronized (MONITOR) {
                            compute(ms);
                        }
                    } else {
                        LOCK.lock();
                        try {
                            compute(ms);
                        } finally {
                            LOCK.unlock();
                        }
                    }
                    compute(1);
                }
            }, i == 0 ? "holder" : "waiter-" + i);
        }
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
    }
}
