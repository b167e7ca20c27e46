import java.util.ArrayList;
import java.util.List;

/** Orders, each in a span of its own: the amount of the order is in the ids of its trace and its span. */
final class Orders {
    private static final int ROUND = 1009;
    private static final int THREADS = 7;

    /** Makes the span of an order current. */
    interface Tracing {
        AutoCloseable enter(String traceId, String spanId, boolean sampled);
    }

    private Orders() {}

    /** Each line of stdin begins a round. Every third trace is not sampled, every fifth order has no span. */
    static void rounds(Tracing tracing, boolean virtual) throws Exception {
        Gate.await();
        for (int round = 0; round < 3; round++) {
            if (virtual) {
                onVirtualThreads(tracing, round);
            } else {
                orders(tracing, round, 0, 1);
            }
            System.out.println("ordered " + (round + 1) * ROUND);
            Gate.pass();
        }
    }

    /** The threads place orders in turn, and change their carrier threads between orders. */
    private static void onVirtualThreads(Tracing tracing, int round) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            int first = i;
            Runnable calls = () -> orders(tracing, round, first, THREADS);
            threads.add((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, calls));
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void orders(Tracing tracing, int round, int first, int step) {
        for (int i = first; i < ROUND; i += step) {
            order(tracing, round * (long) ROUND + i);
            if (step > 1) {
                Thread.yield();
            }
        }
    }

    private static void order(Tracing tracing, long number) {
        long amount = 1 + number * number * 37 % 1_000_003;
        if (number % 5 == 0) {
            place(amount, number % 2 == 0);
            return;
        }
        String traceId = String.format("%032x", 1_000_000_000_000L + amount);
        String spanId = String.format("%016x", 2_000_000_000_000L + amount);
        try (AutoCloseable scope = tracing.enter(traceId, spanId, number % 3 != 0)) {
            if (number % 7 == 0) {
                Thread.yield();
            }
            place(amount, number % 2 == 0);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    static void place(long amount, boolean even) {}
}
