/** Single-threaded, after fop: builds trees and drops them, which keeps the collector busy. Parallel. */
public final class Trees {
    private record Tree(Tree left, Tree right, int value) {
        static Tree of(int depth, int value) {
            return depth == 0 ? null : new Tree(of(depth - 1, 2 * value), of(depth - 1, 2 * value + 1), value);
        }

        long sum() {
            return value + (left == null ? 0 : left.sum()) + (right == null ? 0 : right.sum());
        }
    }

    public static void main(String[] arguments) {
        int size = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 10;
        int depth = 15;
        // Some live long, so that there is something to copy.
        Tree[] kept = new Tree[8];
        long sum = 0;
        for (int i = 0; i < 12 * size; i++) {
            kept[i % kept.length] = Tree.of(depth, 1);
            sum += kept[i * 5 % kept.length] == null ? 0 : kept[i * 5 % kept.length].sum();
        }
        // Nodes are numbered from 1 in breadth.
        long nodes = (1L << depth) - 1, one = nodes * (nodes + 1) / 2, expected = 0;
        boolean[] there = new boolean[kept.length];
        for (int i = 0; i < 12 * size; i++) {
            there[i % kept.length] = true;
            expected += there[i * 5 % kept.length] ? one : 0;
        }
        if (sum != expected) {
            throw new AssertionError(sum + " is not " + expected);
        }
        System.out.println("Trees: " + sum);
    }
}
