import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/** Objects for probes to inspect: with fields that reflection hides, with secrets, with cycles, with getters that run code. */
public class Inspected {
    enum Status {
        NEW,
        SHIPPED
    }

    static class Order {
        int pieces = 7;
        String password = "hunter2";
        Order next = this;
        Line line = new Line();
        Status status = Status.SHIPPED;
        int calls;

        String getTitle() {
            calls++;
            return "title " + calls;
        }

        int pricedAt(int factor, String unit) {
            return 100 * factor + unit.length();
        }

        String getRefused() {
            throw new IllegalStateException("not today");
        }
    }

    static class Line {
        int number = 3;
        Inner inner = new Inner();
    }

    static class Inner {
        long deep = 42;
    }

    static class Values {
        String text = "some text";
        BigDecimal decimal = new BigDecimal("12.50");
        UUID uuid = new UUID(1, 2);
        URI uri = URI.create("http://host/path?q=1");
        File file = new File("/tmp/file.txt");
        Path path = Paths.get("/tmp/path");
        AtomicInteger atomic = new AtomicInteger(11);
        Duration took = Duration.ofMillis(1500);
        Optional<String> present = Optional.of("there");
        Class<?> type = String.class;
        Thread thread = Thread.currentThread();
        ReentrantLock lock = new ReentrantLock();
        Object monitor = new Object();
    }

    static int look(Order order, Values values, String token) {
        return order.pieces;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        Order order = new Order();
        Values values = new Values();
        values.lock.lock();
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            for (int i = 0; i < Integer.parseInt(line); i++) {
                look(order, values, "s3cret");
            }
            System.out.println("calls " + order.calls);
        }
    }
}
