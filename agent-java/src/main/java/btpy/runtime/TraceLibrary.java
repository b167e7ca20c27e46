package btpy.runtime;

/**
 * A library that keeps the current span of a thread, read from its fields. Every method returns null for missing
 * values.
 *
 * <p>{@code session}, {@code probe} and {@code at} identify the probe in the warning about an unknown class.
 */
abstract class TraceLibrary {
    static final int ID = 32;
    static final int SPAN_ID = 16;

    /** The place of the library's thread-local. */
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

    /** 16 hexadecimal digits. */
    abstract String spanId(Object ids);

    /** The flags of W3C Trace Context: bit 0 says that the trace is sampled. */
    abstract Object flags(Object ids);

    abstract String baggage(Session session, String key, int probe, int at);
}
