package btpy.runtime;

/**
 * The OpenTelemetry API and SDK 1.x, and the renamed copies in agents ({@code io.opentelemetry.javaagent.shaded.…}).
 *
 * <p>{@code ThreadLocalContextStorage.THREAD_LOCAL_STORAGE} is a thread-local of a {@code Context}; an {@code ArrayBasedContext} has
 * alternating keys and values; keys have names. The span in the context has a {@code SpanContext} with the ids.
 */
final class OpenTelemetryLibrary extends TraceLibrary {
    static final String STORAGE = "io.opentelemetry.context.ThreadLocalContextStorage";
    private static final String LOCAL = "THREAD_LOCAL_STORAGE";
    private static final String SPAN = "opentelemetry-trace-span-key";
    private static final String BAGGAGE = "opentelemetry-baggage-key";

    /** The context of Datadog's agent behind the API of OpenTelemetry. */
    private static final String BY_DATADOG = "shim.context.OtelContext";

    /** The largest number of keys and values that are read of a context, or of baggage. */
    private static final int MOST_ENTRIES = 256;

    /** A span of an application may wrap a span of an agent, which may wrap another span. */
    private static final int MOST_SPANS = 4;

    private final KnownField entries = new KnownField("io.opentelemetry.context.ArrayBasedContext", "entries");
    private final KnownField keyName = new KnownField("io.opentelemetry.context.DefaultContextKey", "name");
    private final KnownField span = new KnownField(
            "io.opentelemetry.sdk.trace.SdkSpan", "context",
            "io.opentelemetry.sdk.trace.RecordEventsReadableSpan", "context",
            "io.opentelemetry.api.trace.PropagatedSpan", "spanContext",
            "io.opentelemetry.javaagent.instrumentation.opentelemetryapi.trace.ApplicationSpan", "agentSpan");
    private final KnownField traceId = new KnownField("io.opentelemetry.api.internal.AutoValue_ImmutableSpanContext", "traceId");
    private final KnownField spanId = new KnownField("io.opentelemetry.api.internal.AutoValue_ImmutableSpanContext", "spanId");
    private final KnownField flags = new KnownField("io.opentelemetry.api.internal.AutoValue_ImmutableSpanContext", "traceFlags");
    private final KnownField pairs = new KnownField("io.opentelemetry.api.baggage.ImmutableBaggage", "data");
    private final KnownField value = new KnownField("io.opentelemetry.api.baggage.AutoValue_ImmutableEntry", "value");

    private OpenTelemetryLibrary(StaticField storage) {
        super(storage);
    }

    /** Returns null if the class lacks the field. */
    static TraceLibrary of(Class<?> type) {
        StaticField storage = StaticField.of(type, LOCAL);
        return storage == null ? null : new OpenTelemetryLibrary(storage);
    }

    @Override
    Object current(Session session, int probe, int at) {
        Object span = underKey(SPAN, session, probe, at);
        for (int i = 0; i < MOST_SPANS && span != null; i++) {
            Object innerSpan = this.span.read(span);
            if (innerSpan == KnownField.UNKNOWN) {
                session.contexts.unknown(session, probe, at, span);
                return null;
            }
            if (innerSpan != null) {
                Object id = traceId.read(innerSpan);
                if (id instanceof String) {
                    return isValid((String) id) ? innerSpan : null;
                }
            }
            span = innerSpan;
        }
        if (span != null) {
            session.contexts.unknown(session, probe, at, span);
        }
        return null;
    }

    @Override
    String traceId(Object ids) {
        return text(traceId.read(ids), ID);
    }

    @Override
    String spanId(Object ids) {
        return text(spanId.read(ids), SPAN_ID);
    }

    @Override
    Object flags(Object ids) {
        Object flagsObject = flags.read(ids);
        if (flagsObject == null || flagsObject == KnownField.UNKNOWN) {
            return null;
        }
        Long bits = Layouts.number(flagsObject, "byteRep");
        return bits == null ? null : Long.valueOf(bits.longValue() & 0xFF);
    }

    @Override
    String baggage(Session session, String key, int probe, int at) {
        Object baggage = underKey(BAGGAGE, session, probe, at);
        if (baggage == null) {
            return null;
        }
        Object data = pairs.read(baggage);
        if (!(data instanceof Object[])) {
            session.contexts.unknown(session, probe, at, baggage);
            return null;
        }
        Object[] elements = (Object[]) data;
        for (int i = 0; i + 1 < elements.length && i < MOST_ENTRIES; i += 2) {
            if (elements[i] instanceof String && Strings.equal((String) elements[i], key) && elements[i + 1] != null) {
                Object text = value.read(elements[i + 1]);
                if (text instanceof String) {
                    return (String) text;
                }
                session.contexts.unknown(session, probe, at, elements[i + 1]);
            }
        }
        return null;
    }

    /** The value of the current context under the key of this name. */
    private Object underKey(String name, Session session, int probe, int at) {
        Object context = ofThread();
        if (context == null) {
            return null;
        }
        Object content = entries.read(context);
        if (!(content instanceof Object[])) {
            if (KnownField.isOrEndsIn(ClassNames.of(context.getClass()), BY_DATADOG)) {
                return null; // DatadogLibrary reads its span from Datadog's agent
            }
            session.contexts.unknown(session, probe, at, context);
            return null;
        }
        Object[] array = (Object[]) content;
        for (int i = 0; i + 1 < array.length && i < MOST_ENTRIES; i += 2) {
            Object key = array[i];
            Object itsName = key == null ? null : keyName.read(key);
            if (itsName instanceof String && Strings.equal((String) itsName, name)) {
                return array[i + 1];
            }
        }
        return null;
    }

    private static String text(Object id, int length) {
        return id instanceof String && Strings.length((String) id) == length ? (String) id : null;
    }

    /** An id of zeros means that there is none. */
    private static boolean isValid(String id) {
        for (int i = 0; i < Strings.length(id); i++) {
            if (Strings.charAt(id, i) != '0') {
                return true;
            }
        }
        return false;
    }
}
