import brave.Span;
import brave.Tracing;
import brave.baggage.BaggageField;
import brave.baggage.BaggagePropagation;
import brave.baggage.BaggagePropagationConfig.SingleBaggageField;
import brave.propagation.B3Propagation;
import brave.propagation.CurrentTraceContext;
import brave.propagation.ThreadLocalCurrentTraceContext;

/** Spans of Brave with trace ids of 128 bits and of 64 bits, and spans in a thread-local that new threads inherit. */
public final class BraveSpans {
    private static final BaggageField TENANT = BaggageField.create("tenant");

    private BraveSpans() {}

    public static void main(String[] arguments) {
        ThreadLocalCurrentTraceContext.newBuilder().build();
        CurrentTraceContext.Default.inheritable();
        Gate.await();
        for (boolean wide : new boolean[] {true, false}) {
            run(ThreadLocalCurrentTraceContext.newBuilder().build(), wide);
        }
        run(CurrentTraceContext.Default.inheritable(), true);
        System.out.println("done");
        Gate.pass();
    }

    private static void run(CurrentTraceContext current, boolean wide) {
        Tracing tracing = Tracing.newBuilder()
                .traceId128Bit(wide)
                .currentTraceContext(current)
                .propagationFactory(BaggagePropagation.newFactoryBuilder(B3Propagation.FACTORY)
                        .add(SingleBaggageField.remote(TENANT)).build())
                .build();
        for (int i = 0; i < 7; i++) {
            Span span = tracing.tracer().newTrace();
            TENANT.updateValue(span.context(), "t" + i);
            try (CurrentTraceContext.Scope scope = current.newScope(span.context())) {
                String trace = span.context().traceIdString();
                work(trace.length() == 32 ? trace : "0000000000000000" + trace, span.context().spanIdString(), "t" + i);
            }
        }
        work(null, null, null);
        tracing.close();
    }

    static void work(String trace, String span, String tenant) {}
}
