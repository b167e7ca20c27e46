package btpy.proof;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;

/** Handlers that read all their inputs, and write their number of calls to the file btpy.tally at the end. */
public final class Tally {
    private static long calls;
    private static long values;

    private Tally() {}

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(Tally::report));
    }

    private static void report() {
        try {
            Files.write(Paths.get(System.getProperty("btpy.tally")), (calls + " " + values).getBytes());
        } catch (IOException unwritable) {
            throw new IllegalStateException(unwritable);
        }
    }

    public static void call(int site) {
        calls++;
    }

    public static void value(int site, int value) {
        values++;
    }

    public static void value(int site, long value) {
        values++;
    }

    public static void value(int site, float value) {
        values++;
    }

    public static void value(int site, double value) {
        values++;
    }

    public static void value(int site, Object value) {
        if (value != null && value.getClass() != null) {
            values++;
        }
    }

    public static void value(int site, boolean value) {
        values++;
    }

    public static void value(int site, byte value) {
        values++;
    }

    public static void value(int site, char value) {
        values++;
    }

    public static void value(int site, short value) {
        values++;
    }

    public static void duration(int site, long nanos) {
        if (nanos < 0) {
            throw new IllegalStateException("a negative time");
        }
        values++;
    }

    public static int enter(int site) {
        return site;
    }

    public static Object enterSelf(int site, Object self) {
        return self;
    }

    public static void leave(int site, int depth) {
        if (depth != site) {
            throw new IllegalStateException("what was kept at entry is not there at exit");
        }
    }
}
