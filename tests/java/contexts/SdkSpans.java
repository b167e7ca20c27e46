import io.opentelemetry.api.baggage.Baggage;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.trace.SdkTracerProvider;

/** Spans of the OpenTelemetry SDK: recorded ones, spans of a parent that is not sampled, and calls without a span. */
public final class SdkSpans {
    private SdkSpans() {}

    /** Arguments: {@code virtual} for a virtual thread; {@code late}: no class of OpenTelemetry is loaded before the gate. */
    public static void main(String[] arguments) throws Exception {
        String mode = arguments.length == 0 ? "" : arguments[0];
        if (!mode.equals("late")) {
            Context.current();
        }
        Gate.await();
        SdkTracerProvider provider = SdkTracerProvider.builder().build();
        Runnable calls = () -> {
            for (int i = 0; i < 17; i++) {
                Span span = provider.get("test").spanBuilder("work").startSpan();
                Context context = Baggage.builder().put("tenant", "t" + i).put("token", "s" + i).build().storeInContext(Context.root().with(span));
                try (Scope scope = context.makeCurrent()) {
                    work(span.getSpanContext().getTraceId(), span.getSpanContext().getSpanId(), "t" + i);
                }
            }
            SpanContext remote = SpanContext.createFromRemoteParent(
                    "0123456789abcdef0123456789abcdef", "0123456789abcdef", TraceFlags.getDefault(), TraceState.getDefault());
            Span span = provider.get("test").spanBuilder("work").setParent(Context.root().with(Span.wrap(remote))).startSpan();
            try (Scope scope = span.makeCurrent()) {
                work(remote.getTraceId(), span.getSpanContext().getSpanId(), null);
            }
            try (Scope scope = Span.getInvalid().makeCurrent()) {
                work(null, null, null);
            }
            work(null, null, null);
        };
        calls.run();
        if (mode.equals("virtual")) {
            ((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, calls)).join();
        } else {
            Thread thread = new Thread(calls);
            thread.start();
            thread.join();
        }
        while (mode.equals("late") && System.in.available() == 0) {
            calls.run();
            Thread.sleep(5);
        }
        System.out.println("done");
        Gate.pass();
    }

    static void work(String trace, String span, String tenant) {}
}
