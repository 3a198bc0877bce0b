import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** Single-threaded, after luindex: splits generated documents into words and notes where each is. G1. */
public final class TextIndex {
    public static void main(String[] arguments) {
        int size = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 10;
        SplittableRandom random = new SplittableRandom(1);
        Map<String, List<Integer>> index = new HashMap<>();
        long words = 0;
        for (int document = 0; document < 300 * size; document++) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < 200; i++) {
                // Few words are frequent and many are rare.
                int rank = random.nextInt(1 + random.nextInt(20_000));
                text.append(Integer.toString(rank * 7919 + 1296, 36)).append(i % 11 == 10 ? ".\n" : " ");
                words++;
            }
            for (String word : text.toString().split("[ .\n]+")) {
                index.computeIfAbsent(word, unknown -> new ArrayList<>()).add(document);
            }
        }
        long noted = index.values().stream().mapToLong(List::size).sum();
        boolean sorted = index.values().stream().allMatch(documents -> {
            for (int i = 1; i < documents.size(); i++) {
                if (documents.get(i - 1) > documents.get(i)) return false;
            }
            return true;
        });
        if (noted != words || !sorted) {
            throw new AssertionError(noted + " of " + words + " words");
        }
        System.out.println("TextIndex: " + index.size() + " words");
    }
}
