import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** Scalable, after xalan: transforms and groups what a parallel stream brings. Parallel. */
public final class Streams {
    public static void main(String[] arguments) {
        int size = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 10;
        long numbers = 40_000L * size;
        Map<Integer, Long> groups = LongStream.range(0, numbers).parallel()
            .mapToObj(number -> "<n v=\"" + number * 2654435761L % 1_000_003 + "\"/>")
            .map(element -> element.substring(element.indexOf('"') + 1, element.lastIndexOf('"')))
            .collect(Collectors.groupingByConcurrent(String::length, Collectors.counting()));
        int[] expected = new int[10];
        for (long number = 0; number < numbers; number++) {
            int digits = 1;
            for (long rest = number * 2654435761L % 1_000_003; rest >= 10; rest /= 10) digits++;
            expected[digits]++;
        }
        groups.forEach((digits, count) -> {
            if (expected[digits] != count) throw new AssertionError(count + " of " + digits + " digits");
        });
        System.out.println("Streams: " + groups.size() + " lengths");
    }
}
