import brave.propagation.CurrentTraceContext;
import brave.propagation.ThreadLocalCurrentTraceContext;
import brave.propagation.TraceContext;

/** Orders in spans of Brave. */
public final class BraveOrders {
    private BraveOrders() {}

    /** Argument: {@code virtual} for virtual threads. */
    public static void main(String[] arguments) throws Exception {
        CurrentTraceContext current = ThreadLocalCurrentTraceContext.newBuilder().build();
        Orders.rounds((traceId, spanId, sampled) -> current.newScope(TraceContext.newBuilder()
                .traceIdHigh(Long.parseUnsignedLong(traceId.substring(0, 16), 16))
                .traceId(Long.parseUnsignedLong(traceId.substring(16), 16))
                .spanId(Long.parseUnsignedLong(spanId, 16))
                .sampled(sampled)
                .build()), arguments.length > 0);
    }
}
