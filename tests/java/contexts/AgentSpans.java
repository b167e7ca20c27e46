/** Calls in spans that the OpenTelemetry agent makes. The first call is before the gate, so that the agent loads its storage of spans. */
public class AgentSpans {
    private static volatile int sink;

    public static void main(String[] arguments) {
        outer();
        Gate.await();
        for (int i = 0; i < 7; i++) {
            outer();
        }
        System.out.println("done");
        Gate.pass();
    }

    static void outer() {
        inner();
        inner();
    }

    static void inner() {
        sink++;
    }
}
