import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * Fills its heap with live objects until this number of KiB is free, and reports that. For every line of its input it
 * calls a method as often as the line says, and prints the sum. Each call makes a little garbage.
 */
public final class Filled {
    private static Object[] kept = {};

    private Filled() {}

    static final class Work {
        private Work() {}

        static int step(int i) {
            return new byte[64 + (i & 63)].length;
        }
    }

    /** The free KiB after a full collection. */
    private static long free() {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        return runtime.maxMemory() - runtime.totalMemory() + runtime.freeMemory() >> 10;
    }

    public static void main(String[] arguments) throws Exception {
        long wanted = Long.parseLong(arguments[0]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("sum " + Work.step(1)); // allocates the memory for printing this line
        for (long surplus = free() - wanted; surplus > 320; surplus = free() - wanted) {
            for (long kib = surplus / 2 + 128; kib > 0; kib -= 8) {
                kept = new Object[] {new byte[(8 << 10) - 64], kept};
            }
        }
        System.out.println("ready " + free());
        for (String line; (line = in.readLine()) != null; ) {
            int sum = 0;
            for (int i = 0; i < Integer.parseInt(line); i++) {
                sum += Work.step(i);
            }
            System.out.println("sum " + sum);
        }
        System.out.println("end " + (kept.length > 0));
    }
}
