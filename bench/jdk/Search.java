import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** Scalable, after lusearch: threads search one index, each for its own queries, and rank what they find. G1. */
public final class Search {
    private static final int DOCUMENTS = 2_000, WORDS = 500;

    /** The ten documents with most of the words. */
    private static int query(Map<String, int[]> index, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Map<Integer, Integer> found = new HashMap<>();
        for (int i = 0; i < 4; i++) {
            for (int document : index.get("word" + random.nextInt(WORDS))) found.merge(document, 1, Integer::sum);
        }
        List<Map.Entry<Integer, Integer>> ranked = new ArrayList<>(found.entrySet());
        ranked.sort((a, b) -> a.getValue().equals(b.getValue()) ? a.getKey() - b.getKey() : b.getValue() - a.getValue());
        return ranked.stream().limit(10).mapToInt(Map.Entry::getKey).sum();
    }

    public static void main(String[] arguments) throws InterruptedException {
        int size = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 10;
        Map<String, int[]> index = new HashMap<>();
        for (int word = 0; word < WORDS; word++) {
            int own = word;
            index.put("word" + word, new SplittableRandom(word).ints(DOCUMENTS / 8, 0, DOCUMENTS).map(d -> (d + own) % DOCUMENTS).toArray());
        }
        int queries = 60 * size;
        Thread[] searchers = new Thread[8];
        long[][] sums = new long[searchers.length][];
        for (int i = 0; i < searchers.length; i++) {
            int own = i;
            searchers[i] = new Thread(() -> {
                long[] mine = new long[queries];
                Arrays.setAll(mine, at -> query(index, (long) own * queries + at));
                sums[own] = mine;
            }, "searcher-" + i);
            searchers[i].start();
        }
        for (Thread searcher : searchers) searcher.join();
        for (int i = 0; i < searchers.length; i++) {
            if (sums[i][i] != query(index, (long) i * queries + i)) throw new AssertionError("searcher " + i);
        }
        System.out.println("Search: " + queries + " queries a thread");
    }
}
