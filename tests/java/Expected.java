import java.util.Map;
import java.util.TreeMap;

/** The expected calls and exceptions of each method, counted by hand beside each call. */
final class Expected {
    private static final Map<String, long[]> COUNTS = new TreeMap<>();

    private Expected() {}

    /** {@code calls} of {@code type.method}, of which {@code thrown} end by an exception. Adds up. */
    static void calls(String type, String method, long calls, long thrown) {
        long[] counts = COUNTS.computeIfAbsent(type + " " + method, unused -> new long[3]);
        counts[0] += calls;
        counts[1] += calls - thrown;
        counts[2] += thrown;
    }

    static void calls(String type, String method, long calls) {
        calls(type, method, calls, 0);
    }

    /** One line for each method: {@code expect TYPE METHOD entries returns throws}. */
    static void print() {
        COUNTS.forEach((name, counts) ->
                System.out.println("expect " + name + " " + counts[0] + " " + counts[1] + " " + counts[2]));
    }
}
