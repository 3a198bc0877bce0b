import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.zip.CRC32;

/** Contended, after pmd: stages of unequal work hand items on through short queues. G1. */
public final class Pipeline {
    private static final byte[] END = {};

    private interface Stage {
        byte[] of(byte[] item);
    }

    private static byte[] repeat(byte[] item, int times) {
        byte[] changed = item.clone();
        for (int round = 0; round < times; round++) {
            for (int i = 1; i < changed.length; i++) changed[i] = (byte) (changed[i] * 31 + changed[i - 1]);
        }
        return changed;
    }

    /** The third is the bottleneck. */
    private static final Stage[] STAGES = {item -> repeat(item, 4), item -> repeat(item, 6), item -> repeat(item, 20), item -> repeat(item, 3)};

    public static void main(String[] arguments) throws InterruptedException {
        int size = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 10;
        int items = 1_000 * size;
        BlockingQueue<byte[]>[] queues = newQueues();
        for (int i = 0; i < STAGES.length; i++) {
            int own = i;
            new Thread(() -> {
                try {
                    byte[] item;
                    while ((item = queues[own].take()) != END) queues[own + 1].put(STAGES[own].of(item));
                    queues[own + 1].put(END);
                } catch (InterruptedException error) {
                    throw new AssertionError(error);
                }
            }, "stage-" + i).start();
        }
        Thread source = new Thread(() -> {
            try {
                for (int i = 0; i < items; i++) queues[0].put(made(i));
                queues[0].put(END);
            } catch (InterruptedException error) {
                throw new AssertionError(error);
            }
        }, "source");
        source.start();
        CRC32 sum = new CRC32();
        byte[] item;
        int taken = 0;
        while ((item = queues[STAGES.length].take()) != END) {
            sum.update(item);
            if (taken % 101 == 0) check(made(taken), item);
            taken++;
        }
        if (taken != items) {
            throw new AssertionError(taken + " of " + items + " items");
        }
        System.out.println("Pipeline: " + Long.toHexString(sum.getValue()));
    }

    private static byte[] made(int number) {
        byte[] item = new byte[1024];
        for (int i = 0; i < item.length; i++) item[i] = (byte) (number + i);
        return item;
    }

    private static void check(byte[] made, byte[] found) {
        byte[] expected = made;
        for (Stage stage : STAGES) expected = stage.of(expected);
        if (!java.util.Arrays.equals(expected, found)) throw new AssertionError("an item was changed on its way");
    }

    @SuppressWarnings("unchecked")
    private static BlockingQueue<byte[]>[] newQueues() {
        BlockingQueue<byte[]>[] queues = new BlockingQueue[STAGES.length + 1];
        for (int i = 0; i < queues.length; i++) queues[i] = new ArrayBlockingQueue<>(4);
        return queues;
    }
}
