package btpy.runtime;

/**
 * Datadog's Java agent 1.x: {@code AgentTracer.provider} is the tracer, whose scope manager has a thread-local of a {@code ScopeStack}.
 * The active scope has a context, which is the span, or keeps it among other values. Ids are numbers.
 */
final class DatadogLibrary extends TraceLibrary {
    static final String TRACER = "datadog.trace.bootstrap.instrumentation.api.AgentTracer";

    /** {@code PrioritySampling.UNSET}: the agent often decides when the first span of the trace ends. */
    private static final int UNDECIDED = -128;

    /** The largest number of values of one context. */
    private static final int MOST_VALUES = 32;

    private final KnownField manager = new KnownField("datadog.trace.agent.core.CoreTracer", "scopeManager");
    private final KnownField local =
            new KnownField("datadog.trace.agent.core.scopemanager.ContinuableScopeManager", "tlsScopeStack");
    private final KnownField top = new KnownField("datadog.trace.agent.core.scopemanager.ScopeStack", "top");
    private final KnownField overdue = new KnownField("datadog.trace.agent.core.scopemanager.ScopeStack", "overdueRootScope");
    private final KnownField scopeContext = new KnownField(
            "datadog.trace.agent.core.scopemanager.ContinuableScope", "context",
            "datadog.trace.agent.core.scopemanager.ContinuingScope", "context");
    private final KnownField values = new KnownField("datadog.context.IndexedContext", "store");
    private final KnownField value = new KnownField("datadog.context.SingletonContext", "value");
    private final KnownField ids = new KnownField(
            "datadog.trace.agent.core.DDSpan", "context",
            "datadog.trace.bootstrap.instrumentation.api.ExtractedSpan", "spanContext");
    private final KnownField traceId = new KnownField(
            "datadog.trace.agent.core.DDSpanContext", "traceId",
            "datadog.trace.agent.core.propagation.ExtractedContext", "traceId");
    private final KnownField collector = new KnownField("datadog.trace.agent.core.DDSpanContext", "traceCollector");
    private final KnownField root = new KnownField(
            "datadog.trace.agent.core.PendingTrace", "rootSpan",
            "datadog.trace.agent.core.StreamingTraceCollector", "rootSpan");
    private final KnownField items = new KnownField("datadog.trace.agent.core.DDSpanContext", "baggageItems");

    private DatadogLibrary(StaticField tracer) {
        super(tracer);
    }

    /** Returns null if the class lacks the field. */
    static TraceLibrary of(Class<?> type) {
        StaticField tracer = StaticField.of(type, "provider");
        return tracer == null ? null : new DatadogLibrary(tracer);
    }

    @Override
    Object current(Session session, int probe, int at) {
        Object stack = stack(session, probe, at);
        Object scope = stack == null ? null : known(top, stack, session, probe, at);
        if (scope == null || overdue.read(stack) == scope) {
            return null;
        }
        Object context = known(scopeContext, scope, session, probe, at);
        Object span = context == null ? null : span(context);
        Object result = span == null ? null : known(ids, span, session, probe, at);
        return result == null || known(traceId, result, session, probe, at) == null ? null : result;
    }

    /** The stack of scopes of this thread. */
    private Object stack(Session session, int probe, int at) {
        Object tracer = storage.read();
        Object scopes = tracer == null ? null : known(manager, tracer, session, probe, at);
        Object stacks = scopes == null ? null : known(local, scopes, session, probe, at);
        return stacks instanceof ThreadLocal ? ThreadLocals.get((ThreadLocal<?>) stacks) : null;
    }

    /**
     * The span of a context; the context itself if it is a span, or of an unknown class; null if the context has no
     * span.
     */
    private Object span(Object context) {
        Object single = value.read(context);
        if (single != KnownField.UNKNOWN) {
            return isSpan(single) ? single : null;
        }
        Object several = values.read(context);
        if (!(several instanceof Object[])) {
            return context;
        }
        Object[] array = (Object[]) several;
        for (int i = 0; i < array.length && i < MOST_VALUES; i++) {
            if (isSpan(array[i])) {
                return array[i];
            }
        }
        return null;
    }

    private boolean isSpan(Object value) {
        return value != null && ids.read(value) != KnownField.UNKNOWN;
    }

    /** The value of the field; null if the object is null or of a class that btpy does not know. */
    private static Object read(KnownField field, Object object) {
        Object result = object == null ? null : field.read(object);
        return result == KnownField.UNKNOWN ? null : result;
    }

    /** The value of the field. Null, with a warning, for an object of a class that btpy does not know. */
    private static Object known(KnownField field, Object object, Session session, int probe, int at) {
        Object result = field.read(object);
        if (result != KnownField.UNKNOWN) {
            return result;
        }
        if (!standsForNone(ClassNames.of(object.getClass()))) {
            session.contexts.unknown(session, probe, at, object);
        }
        return null;
    }

    /**
     * Whether objects of the class stand for a missing value: before the agent has started its tracer, in contexts
     * without a value, and where tracing is switched off.
     */
    private static boolean standsForNone(String name) {
        return KnownField.isOrEndsIn(name, "AgentTracer$NoopTracerAPI")
                || KnownField.isOrEndsIn(name, "EmptyContext")
                || KnownField.isOrEndsIn(name, "NoopSpan")
                || KnownField.isOrEndsIn(name, "BlackHoleSpan");
    }

    @Override
    String traceId(Object context) {
        Object id = read(traceId, context);
        if (id == null) {
            return null;
        }
        char[] digits = new char[ID];
        boolean isWide = writeHex(id, "highOrderBits", digits, 0) && writeHex(id, "lowOrderBits", digits, SPAN_ID);
        if (isWide) {
            return new String(digits);
        }
        for (int i = 0; i < SPAN_ID; i++) {
            digits[i] = '0';
        }
        return writeHex(id, "id", digits, SPAN_ID) ? new String(digits) : null;
    }

    /** The flag for the sampling decision, which is stored in the first span of the trace. */
    @Override
    Object flags(Object context) {
        Object ofFirst = read(ids, read(root, read(collector, context)));
        Object decider = ofFirst == null ? context : ofFirst;
        Long priority = Layouts.number(decider, "samplingPriority");
        return priority == null || priority.longValue() == UNDECIDED ? null : priority.longValue() > 0 ? SET : CLEAR;
    }

    @Override
    String baggage(Session session, String key, int probe, int at) {
        Object context = current(session, probe, at);
        Object map = read(items, context);
        if (map == null) {
            return null;
        }
        Object inner = LoggingLibrary.unwrap(map);
        Containers.Shape shape = Layouts.of(inner).shape;
        Object text = shape == null || !shape.isMap() ? null : Elements.value(inner, key);
        return text instanceof String ? (String) text : null;
    }
}
