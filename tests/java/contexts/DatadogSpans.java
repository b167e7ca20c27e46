import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;

/** Spans that Datadog's agent makes for the API of OpenTelemetry, each with a child, and calls without a span. */
public final class DatadogSpans {
    private DatadogSpans() {}

    /** Arguments: {@code virtual} for a virtual thread. */
    public static void main(String[] arguments) throws Exception {
        Gate.await();
        Tracer tracer = GlobalOpenTelemetry.getTracer("test");
        Runnable calls = () -> {
            for (int i = 0; i < 7; i++) {
                Span span = tracer.spanBuilder("outer").setParent(Context.root()).startSpan();
                try (Scope scope = span.makeCurrent()) {
                    call(span);
                    Span inner = tracer.spanBuilder("inner").startSpan();
                    try (Scope innerScope = inner.makeCurrent()) {
                        call(inner);
                    }
                    inner.end();
                }
                span.end();
            }
            work(null, null, null);
        };
        if (arguments.length > 0) {
            ((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, calls)).join();
        } else {
            calls.run();
        }
        System.out.println("done");
        Gate.pass();
    }

    private static void call(Span span) {
        work(span.getSpanContext().getTraceId(), span.getSpanContext().getSpanId(), null);
    }

    static void work(String trace, String span, String tenant) {}
}
