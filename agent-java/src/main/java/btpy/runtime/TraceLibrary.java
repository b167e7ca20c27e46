package btpy.runtime;

/**
 * A library that keeps the current span of each thread. The agent reads the span from the library's fields. Every
 * method returns null for missing values.
 *
 * <p>{@code session}, {@code probe} and {@code at} identify the probe in the warning about an unknown class.
 */
abstract class TraceLibrary {
    static final int ID = 32;
    static final int SPAN_ID = 16;

    private static final Memory MEMORY = Memory.instance();
    static final Long SET = Long.valueOf(1);
    static final Long CLEAR = Long.valueOf(0);

    private static final char[] HEX = {'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};

    /** The place of the library's thread-local, or of the object that leads to it. */
    final StaticField storage;

    TraceLibrary(StaticField storage) {
        this.storage = storage;
    }

    /** The value of the library's thread-local in this thread; null: none. */
    final Object ofThread() {
        Object local = storage.read();
        return local instanceof ThreadLocal ? ThreadLocals.get((ThreadLocal<?>) local) : null;
    }

    /** The ids of the current span; null: this thread has no span in this library. */
    abstract Object current(Session session, int probe, int at);

    /** 32 hexadecimal digits. */
    abstract String traceId(Object ids);

    /** 16 hexadecimal digits. Brave and Datadog keep a number. */
    String spanId(Object ids) {
        char[] digits = new char[SPAN_ID];
        return writeHex(ids, "spanId", digits, 0) ? new String(digits) : null;
    }

    /** The flags of W3C Trace Context: bit 0 says that the trace is sampled. */
    abstract Object flags(Object ids);

    abstract String baggage(Session session, String key, int probe, int at);

    /** Writes the 16 digits of a field of type {@code long}. Returns false if the object has no such field. */
    static boolean writeHex(Object ids, String field, char[] digits, int from) {
        Layout layout = Layouts.of(ids);
        int fieldIndex = layout.find(field, 'J');
        if (fieldIndex < 0) {
            return false;
        }
        writeHex(MEMORY.getLong(ids, layout.offsets[fieldIndex]), digits, from);
        return true;
    }

    /** Writes 16 digits. */
    static void writeHex(long id, char[] digits, int from) {
        for (int i = SPAN_ID - 1; i >= 0; i--, id >>>= 4) {
            digits[from + i] = HEX[(int) id & 15];
        }
    }
}
