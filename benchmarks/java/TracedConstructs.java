import ch.qos.logback.classic.util.LogbackMDCAdapter;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import org.slf4j.MDC;

/** {@link Constructs} with a current span of the OpenTelemetry SDK and an MDC of Logback. */
public final class TracedConstructs {
    private TracedConstructs() {}

    public static void main(String[] arguments) throws Exception {
        if (!(MDC.getMDCAdapter() instanceof LogbackMDCAdapter)) {
            throw new IllegalStateException("Logback is not there");
        }
        MDC.put("userId", "u-1");
        MDC.put("tenant", "t-1");
        Span span = SdkTracerProvider.builder().build().get("benchmark").spanBuilder("call").startSpan();
        try (Scope scope = span.makeCurrent()) {
            Constructs.main(arguments);
        }
    }
}
