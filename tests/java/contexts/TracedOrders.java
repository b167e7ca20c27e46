import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.context.Scope;

/** Orders in spans of OpenTelemetry. */
public final class TracedOrders {
    private TracedOrders() {}

    /** Argument: {@code virtual} for virtual threads. */
    public static void main(String[] arguments) throws Exception {
        Span.current();
        Orders.rounds(TracedOrders::enter, arguments.length > 0);
    }

    private static Scope enter(String traceId, String spanId, boolean sampled) {
        TraceFlags flags = sampled ? TraceFlags.getSampled() : TraceFlags.getDefault();
        return Span.wrap(SpanContext.create(traceId, spanId, flags, TraceState.getDefault())).makeCurrent();
    }
}
