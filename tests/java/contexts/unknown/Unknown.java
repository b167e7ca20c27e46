import datadog.trace.bootstrap.instrumentation.api.AgentTracer;
import io.opentelemetry.context.ThreadLocalContextStorage;
import org.slf4j.MDC;

/** Calls with libraries of unknown versions: OpenTelemetry, or, with an argument, Datadog's agent. */
public final class Unknown {
    private Unknown() {}

    public static void main(String[] arguments) throws Exception {
        MDC.put();
        if (arguments.length > 0) {
            AgentTracer.start();
        } else {
            ThreadLocalContextStorage.attach();
        }
        System.out.println("ready");
        System.in.read();
        for (int i = 0; i < 13; i++) {
            work();
        }
        System.out.println("done");
        System.in.read();
    }

    static void work() {}
}
