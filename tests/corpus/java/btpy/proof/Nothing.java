package btpy.proof;

/** Handlers that do nothing, for a JVM all of whose classes are woven, those that it boots with included. */
public final class Nothing {
    private Nothing() {}

    public static void call(int site) {}

    public static void value(int site, int value) {}

    public static void value(int site, long value) {}

    public static void value(int site, float value) {}

    public static void value(int site, double value) {}

    public static void value(int site, Object value) {}

    public static void value(int site, boolean value) {}

    public static void value(int site, byte value) {}

    public static void value(int site, char value) {}

    public static void value(int site, short value) {}

    public static void duration(int site, long nanos) {}

    public static int enter(int site) {
        return 0;
    }

    public static Object enterSelf(int site, Object self) {
        return self;
    }

    public static void leave(int site, int depth) {}
}
