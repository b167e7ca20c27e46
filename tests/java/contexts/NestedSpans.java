import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.locks.LockSupport;

/**
 * Requests whose spans are made by the OpenTelemetry agent ({@code request}, {@code store}), by btpy ({@code price}, {@code discount},
 * {@code write}, {@code fail}), or by no tool. Each line of its standard input is a number of requests, with the word
 * {@code virtual} for a virtual thread. The line {@code first} is one request, so that the agent loads its storage of spans.
 */
public final class NestedSpans {
    /** Milliseconds that {@code store} takes. */
    private static final long PAUSE = Long.getLong("pause", 0);

    private static volatile int sink;

    private NestedSpans() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            if (line.equals("first")) {
                request(0);
                System.out.println("first");
                continue;
            }
            String[] words = line.split(" ");
            Runnable requests = () -> {
                for (int i = 1; i <= Integer.parseInt(words[0]); i++) {
                    request(i);
                }
            };
            if (words.length > 1) {
                ((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, requests)).join();
            } else {
                requests.run();
            }
            System.out.println("done");
        }
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
