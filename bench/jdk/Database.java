import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;

/** Contended, after hsqldb and pjbb2005: clients move money between accounts of four tables, each under one lock. ZGC. */
public final class Database {
    private static final int TABLES = 4, ACCOUNTS = 2_000, CLIENTS = 12;

    private static final class Table {
        final ReentrantLock lock = new ReentrantLock();
        TreeMap<Integer, Long> accounts = new TreeMap<>();
        long[] log = new long[64];
        int written;
    }

    private static void move(Table from, Table to, int debtor, int creditor, long amount) {
        from.accounts.merge(debtor, -amount, Long::sum);
        to.accounts.merge(creditor, amount, Long::sum);
        from.log[from.written++ % from.log.length] = amount;
        // A report over some of the table, inside the lock.
        long sum = 0;
        for (long value : to.accounts.subMap(creditor / 2, creditor / 2 + 100).values()) sum += value;
        to.log[to.written++ % to.log.length] = sum;
    }

    public static void main(String[] arguments) throws InterruptedException {
        int size = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 10;
        Table[] tables = new Table[TABLES];
        for (int i = 0; i < TABLES; i++) {
            tables[i] = new Table();
            for (int account = 0; account < ACCOUNTS; account++) tables[i].accounts.put(account, 1_000L);
        }
        int transactions = 1_000 * size;
        Thread[] clients = new Thread[CLIENTS];
        for (int i = 0; i < CLIENTS; i++) {
            SplittableRandom random = new SplittableRandom(i);
            clients[i] = new Thread(() -> {
                for (int at = 0; at < transactions; at++) {
                    // Most are about the first table. Locks are taken in the order of tables.
                    int first = random.nextInt(3) == 0 ? random.nextInt(TABLES - 1) : 0, second = first + 1 + random.nextInt(TABLES - 1 - first);
                    tables[first].lock.lock();
                    tables[second].lock.lock();
                    try {
                        move(tables[first], tables[second], random.nextInt(ACCOUNTS), random.nextInt(ACCOUNTS), random.nextInt(100));
                    } finally {
                        tables[second].lock.unlock();
                        tables[first].lock.unlock();
                    }
                }
            }, "client-" + i);
            clients[i].start();
        }
        for (Thread client : clients) client.join();
        long money = 0;
        for (Table table : tables) {
            for (long value : table.accounts.values()) money += value;
        }
        if (money != 1_000L * ACCOUNTS * TABLES) {
            throw new AssertionError(money + " is in all accounts");
        }
        System.out.println("Database: " + CLIENTS * transactions + " transactions");
    }
}
