package btpy.runtime;

/**
 * Brave 5 and 6, by itself or under Micrometer Tracing. It keeps a {@code TraceContext} in a thread-local. The ids in
 * the TraceContext are numbers. Trace ids of 64 bits get zeros in front, as in W3C Trace Context.
 */
final class BraveLibrary extends TraceLibrary {
    static final String CURRENT = "brave.propagation.ThreadLocalCurrentTraceContext";
    static final String INHERITED = "brave.propagation.CurrentTraceContext$Default";

    /** {@code InternalPropagation.FLAG_SAMPLED}. */
    private static final int SAMPLED = 2;

    private static final int MOST_EXTRAS = 16;
    private static final int MOST_FIELDS = 256;

    /** btpy recognises the class by this field. The layout reads the trace id and the span id. */
    private final KnownField extras = new KnownField("brave.propagation.TraceContext", "extraList");
    private final KnownField state = new KnownField("brave.internal.baggage.BaggageFields", "state");
    private final KnownField name = new KnownField("brave.baggage.BaggageField", "name");

    private BraveLibrary(StaticField storage) {
        super(storage);
    }

    /** Returns null if the class lacks the field. */
    static TraceLibrary of(Class<?> type) {
        StaticField storage = StaticField.of(type, "DEFAULT", "INHERITABLE");
        return storage == null ? null : new BraveLibrary(storage);
    }

    @Override
    Object current(Session session, int probe, int at) {
        Object context = ofThread();
        if (context == null) {
            return null;
        }
        if (extras.read(context) == KnownField.UNKNOWN) {
            session.contexts.unknown(session, probe, at, context);
            return null;
        }
        return context;
    }

    @Override
    String traceId(Object ids) {
        char[] digits = new char[ID];
        return writeHex(ids, "traceIdHigh", digits, 0) && writeHex(ids, "traceId", digits, SPAN_ID) ? new String(digits) : null;
    }

    @Override
    Object flags(Object ids) {
        Long flags = Layouts.number(ids, "flags");
        return flags == null ? null : (flags.longValue() & SAMPLED) != 0 ? SET : CLEAR;
    }

    @Override
    String baggage(Session session, String key, int probe, int at) {
        Object context = current(session, probe, at);
        Object list = context == null ? null : extras.read(context);
        if (list == null) {
            return null;
        }
        Object[] fields = Elements.of(LoggingLibrary.unwrap(list), MOST_EXTRAS, false);
        for (Object extra : fields) {
            Object pairs = extra == null ? null : state.read(extra);
            if (pairs instanceof Object[]) {
                String value = value((Object[]) pairs, key);
                if (value != null) {
                    return value;
                }
            }
        }
        return null;
    }

    private String value(Object[] pairs, String key) {
        for (int i = 0; i + 1 < pairs.length && i < MOST_FIELDS; i += 2) {
            Object itsName = pairs[i] == null ? null : name.read(pairs[i]);
            if (itsName instanceof String && Strings.equal((String) itsName, key) && pairs[i + 1] instanceof String) {
                return (String) pairs[i + 1];
            }
        }
        return null;
    }
}
