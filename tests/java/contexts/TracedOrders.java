import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.context.Scope;

/** Orders, each in a span of its own: the amount of the order is in the ids of its trace and its span. */
public final class TracedOrders {
    private TracedOrders() {}

    /** Each line of stdin has the number of orders. Every third trace is not sampled, every fifth order has no span. */
    public static void main(String[] arguments) throws Exception {
        Span.current();
        Gate.await();
        long next = 0;
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 1009; i++) {
                order(next++);
            }
            System.out.println("ordered " + next);
            Gate.pass();
        }
    }

    private static void order(long number) {
        long amount = 1 + number * number * 37 % 1_000_003;
        if (number % 5 == 0) {
            place(amount, number % 2 == 0);
            return;
        }
        SpanContext context = SpanContext.create(
                String.format("%032x", 1_000_000_000_000L + amount),
                String.format("%016x", 2_000_000_000_000L + amount),
                number % 3 == 0 ? TraceFlags.getDefault() : TraceFlags.getSampled(),
                TraceState.getDefault());
        try (Scope scope = Span.wrap(context).makeCurrent()) {
            place(amount, number % 2 == 0);
        }
    }

    static void place(long amount, boolean even) {}
}
