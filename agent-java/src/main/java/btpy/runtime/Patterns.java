package btpy.runtime;

/** Matches whole texts. The length of the text bounds the work, and nothing is allocated. */
public final class Patterns {
    /** The largest number of steps for a glob whose stars backtrack repeatedly. */
    private static final int MOST_STEPS = 1 << 22;

    private Patterns() {}

    /** Matches a glob: {@code *} stands for any characters, {@code ?} for one. Returns null if an argument is null. */
    public static Object glob(String text, String pattern) {
        return text == null || pattern == null ? null : Boolean.valueOf(fits(text, pattern));
    }

    static boolean fits(String text, String pattern) {
        int length = Texts.length(text);
        int end = Strings.length(pattern);
        int at = 0;
        int i = 0;
        int star = -1;
        int resume = 0;
        for (int steps = 0; i < length; steps++) {
            if (steps == MOST_STEPS) {
                throw ProbeError.BUDGET;
            }
            char patternChar = at < end ? Strings.charAt(pattern, at) : 0;
            if (at < end && patternChar == '*') {
                star = at++;
                resume = i;
            } else if (at < end && (patternChar == '?' || patternChar == Strings.charAt(text, i))) {
                at++;
                i++;
            } else if (star >= 0) {
                at = star + 1;
                i = ++resume;
            } else {
                return false;
            }
        }
        while (at < end && Strings.charAt(pattern, at) == '*') {
            at++;
        }
        return at == end;
    }

    /**
     * Runs a table that the client generated from a regular expression: {@code intervals classes states}, for each
     * interval of characters its first character and its class, for each state whether it accepts, for each state and
     * class the next state. State 0 is a dead end, 1 the start. A step is a search among the intervals and a look-up.
     */
    public static Object automaton(String text, String table) {
        if (text == null) {
            return null;
        }
        int length = Texts.length(text);
        int intervals = Strings.charAt(table, 0);
        int classes = Strings.charAt(table, 1);
        int acceptingAt = 3 + 2 * intervals;
        int transitionsAt = acceptingAt + Strings.charAt(table, 2);
        int state = 1;
        for (int i = 0; i < length && state != 0; i++) {
            char c = Strings.charAt(text, i);
            int low = 0;
            int high = intervals - 1;
            while (low < high) {
                int middle = low + high + 1 >>> 1;
                if (Strings.charAt(table, 3 + 2 * middle) <= c) {
                    low = middle;
                } else {
                    high = middle - 1;
                }
            }
            state = Strings.charAt(table, transitionsAt + state * classes + Strings.charAt(table, 4 + 2 * low));
        }
        return Boolean.valueOf(Strings.charAt(table, acceptingAt + state) != 0);
    }
}
