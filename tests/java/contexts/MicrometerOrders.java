import brave.Tracing;
import brave.propagation.ThreadLocalCurrentTraceContext;
import io.micrometer.tracing.CurrentTraceContext;
import io.micrometer.tracing.brave.bridge.BraveCurrentTraceContext;
import io.micrometer.tracing.brave.bridge.BraveTracer;

/** Orders in spans of Micrometer Tracing over Brave. */
public final class MicrometerOrders {
    private MicrometerOrders() {}

    /** Argument: {@code virtual} for virtual threads. */
    public static void main(String[] arguments) throws Exception {
        brave.propagation.CurrentTraceContext ofBrave = ThreadLocalCurrentTraceContext.newBuilder().build();
        Tracing tracing = Tracing.newBuilder().traceId128Bit(true).currentTraceContext(ofBrave).build();
        CurrentTraceContext current = new BraveCurrentTraceContext(ofBrave);
        BraveTracer tracer = new BraveTracer(tracing.tracer(), current);
        Orders.rounds((traceId, spanId, sampled) -> {
            CurrentTraceContext.Scope scope = current.newScope(
                    tracer.traceContextBuilder().traceId(traceId).spanId(spanId).sampled(sampled).build());
            return scope::close;
        }, arguments.length > 0);
    }
}
