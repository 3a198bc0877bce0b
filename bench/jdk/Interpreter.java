/** Single-threaded, after jython: interprets the bytecode of a small stack machine. G1. */
public final class Interpreter {
    private static final int PUSH = 0, LOAD = 1, STORE = 2, ADD = 3, MULTIPLY = 4, MASK = 5, LESS = 6, JUMP_IF = 7, HALT = 8;

    /** Adds the squares of the numbers below the second variable to the first, within 30 bits. */
    private static final int[] PROGRAM = {
        LOAD, 2, LOAD, 2, MULTIPLY, 0, LOAD, 0, ADD, 0, MASK, 0, STORE, 0,
        LOAD, 2, PUSH, 1, ADD, 0, STORE, 2,
        LOAD, 2, LOAD, 1, LESS, 0, JUMP_IF, 0, HALT, 0,
    };

    /** Values are objects, as those of a dynamic language are. */
    private static long interpret(int[] program, Long[] variables) {
        Long[] stack = new Long[8];
        int top = 0;
        for (int at = 0;; at += 2) {
            int argument = program[at + 1];
            switch (program[at]) {
                case PUSH -> stack[top++] = (long) argument;
                case LOAD -> stack[top++] = variables[argument];
                case STORE -> variables[argument] = stack[--top];
                case ADD -> { top--; stack[top - 1] = stack[top - 1] + stack[top]; }
                case MULTIPLY -> { top--; stack[top - 1] = stack[top - 1] * stack[top]; }
                case MASK -> stack[top - 1] = stack[top - 1] & 0x3fffffff;
                case LESS -> { top--; stack[top - 1] = stack[top - 1] < stack[top] ? 1L : 0L; }
                case JUMP_IF -> { if (stack[--top] != 0) at = argument - 2; }
                default -> { return variables[0]; }
            }
        }
    }

    public static void main(String[] arguments) {
        int size = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 10;
        long numbers = 300_000L * size, expected = 0;
        for (long i = 0; i < numbers; i++) {
            expected = expected + i * i & 0x3fffffff;
        }
        long found = interpret(PROGRAM, new Long[] {0L, numbers, 0L});
        if (found != expected) {
            throw new AssertionError(found + " is not " + expected);
        }
        System.out.println("Interpreter: " + found);
    }
}
