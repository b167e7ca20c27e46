package acme;

/** The traced methods. They are small, so that nothing hides the cost of tracing. */
public class Work {
    public static final class Order {
        public long total;

        public Order(long total) {
            this.total = total;
        }
    }

    private long state = 1;

    public long counted(long x) {
        return state = state * 31 + x;
    }

    public long keyed(String key, long x) {
        return state = state * 31 + x;
    }

    public long timed(long x) {
        return state = state * 31 + x;
    }

    public long timedByKey(String key, long x) {
        return state = state * 31 + x;
    }

    public long filtered(long x) {
        return state = state * 31 + x;
    }

    public long event(long x, int y) {
        return state = state * 31 + x + y;
    }

    public long eventWithObject(String name, Order order) {
        return state = state * 31 + order.total;
    }

    public long eventWithStack(long x) {
        return state = state * 31 + x;
    }

    /** About a microsecond. */
    public long microsecond(long x) {
        for (int i = 0; i < 500; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        return state = x;
    }
}
