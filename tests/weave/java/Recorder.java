import java.io.PrintStream;

/** The handlers of woven code: they count the calls of each site and add up the values. */
public final class Recorder {
    private static final int SITES = 1 << 17;
    private static final long[] CALLS = new long[SITES];
    private static final long[] SUMS = new long[SITES];
    private static final int[] DEPTHS = new int[SITES];

    private Recorder() {}

    private static void add(int site, long value) {
        CALLS[site]++;
        SUMS[site] += value;
    }

    public static void call(int site) {
        add(site, 0);
    }

    public static void value(int site, int value) {
        add(site, value);
    }

    public static void value(int site, boolean value) {
        add(site, value ? 1 : 0);
    }

    public static void value(int site, byte value) {
        add(site, value);
    }

    public static void value(int site, char value) {
        add(site, value);
    }

    public static void value(int site, short value) {
        add(site, value);
    }

    public static void value(int site, long value) {
        add(site, value);
    }

    public static void value(int site, float value) {
        add(site, (long) value);
    }

    public static void value(int site, double value) {
        add(site, (long) value);
    }

    /** Adds the length of a string, 1 for any other object, 0 for null. */
    public static void value(int site, Object value) {
        add(site, value instanceof String ? ((String) value).length() : value == null ? 0 : 1);
    }

    /** Adds 1 for a plausible duration: not negative and less than an hour. */
    public static void duration(int site, long nanos) {
        add(site, nanos >= 0 && nanos < 3_600_000_000_000L ? 1 : 0);
    }

    public static int enter(int site) {
        return DEPTHS[site]++;
    }

    public static Object enterSelf(int site, Object self) {
        return self;
    }

    public static void leave(int site, int depth) {
        add(site, depth);
        DEPTHS[site] = depth;
    }

    /** One line for each reached site: id, calls, sum, remaining depth. */
    public static void report(PrintStream out) {
        for (int site = 0; site < SITES; site++) {
            if (CALLS[site] != 0 || DEPTHS[site] != 0) {
                out.println(site + " " + CALLS[site] + " " + SUMS[site] + " " + DEPTHS[site]);
            }
        }
    }
}
