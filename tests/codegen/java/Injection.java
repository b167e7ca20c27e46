import java.util.Arrays;

/** Prepared classes ({@code tests/codegen/injection.py}) ask here, before an instruction, whether it must fail. */
public class Injection {
    /**
     * Points from this number on belong to the handler, and throw the session's error. Lower points belong to the
     * runtime.
     */
    static final int HANDLER = 1 << 20;
    /** Added to the number of a point that is a call in the handler. */
    static final int CALL = 1 << 19;

    static final int SINGLE = 0;
    static final int NO_MORE_CALLS = 1;

    private static boolean on;
    /** The point that must fail, and a second point that must fail later; −1 means no point. */
    private static int first = -1;
    private static int second = -1;
    private static int mode;
    private static boolean outOfMemory;
    private static boolean failed;
    private static boolean failedTwice;
    private static final boolean[] SEEN = new boolean[2 * HANDLER];
    private static final int[] TRACE = new int[1 << 16];
    private static int traced;

    private Injection() {}

    static void arm(int first, int second, int mode, boolean outOfMemory) {
        Injection.first = first;
        Injection.second = second;
        Injection.mode = mode;
        Injection.outOfMemory = outOfMemory;
        failed = failedTwice = false;
    }

    static void forget() {
        Arrays.fill(SEEN, false);
        traced = 0;
    }

    /** Activates the points until {@link #end}. */
    static void begin() {
        on = true;
    }

    /** @return how many errors were thrown, then the points that the code has reached for the first time */
    static String end() {
        on = false;
        StringBuilder met = new StringBuilder().append(failedTwice ? 2 : failed ? 1 : 0);
        for (int i = 0; i < traced; i++) {
            if (SEEN[TRACE[i]]) {
                met.append(' ').append(TRACE[i]);
            }
        }
        traced = 0;
        return met.toString();
    }

    public static void at(int point) {
        if (!on) {
            return;
        }
        if (!SEEN[point]) {
            SEEN[point] = true;
            TRACE[traced++] = point;
        }
        if (!failed) {
            if (point == first) {
                failed = true;
                fail();
            }
        } else if (point == second && !failedTwice || mode == NO_MORE_CALLS && (point & (HANDLER | CALL)) == (HANDLER | CALL)) {
            failedTwice = true;
            fail();
        }
    }

    private static void fail() {
        throw outOfMemory ? new OutOfMemoryError("injected") : new StackOverflowError("injected");
    }
}
