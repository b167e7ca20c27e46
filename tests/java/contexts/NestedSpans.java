import java.util.concurrent.locks.LockSupport;

/**
 * Requests whose spans are made by the OpenTelemetry agent ({@code request}, {@code store}), by btpy ({@code price}, {@code discount},
 * {@code write}, {@code fail}), or by no tool. The first request is before the gate.
 */
public final class NestedSpans {
    /** Milliseconds that {@code store} takes. */
    private static final long PAUSE = Long.getLong("pause", 0);

    private static volatile int sink;

    private NestedSpans() {}

    /** Arguments: the number of requests; {@code virtual} for a virtual thread. */
    public static void main(String[] arguments) throws Exception {
        request(0);
        Gate.await();
        Runnable requests = () -> {
            for (int i = 1; i <= Integer.parseInt(arguments[0]); i++) {
                request(i);
            }
        };
        if (arguments.length > 1) {
            ((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, requests)).join();
        } else {
            requests.run();
        }
        System.out.println("done");
        Gate.pass();
    }

    static void request(int number) {
        price(number);
        try {
            fail(number);
        } catch (IllegalStateException expected) {
            sink++;
        }
    }

    static int price(int number) {
        discount(number);
        store(number);
        return number;
    }

    static void discount(int number) {
        sink++;
    }

    static void store(int number) {
        write(number);
        if (PAUSE > 0) {
            LockSupport.parkNanos(PAUSE * 1_000_000);
        }
    }

    static void write(int number) {
        sink++;
    }

    static void fail(int number) {
        discount(number);
        throw new IllegalStateException("order " + number);
    }
}
