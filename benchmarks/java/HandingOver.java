import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A web server and its clients in one JVM. The server hands each request over three times: to a pool with submit(), and
 * to another with two stages of a CompletableFuture. A line "latencies" prints the number of requests since the last
 * such line, and the median and the 99th percentile of their time (ns).
 */
public final class HandingOver {
    private static final int LATENCIES = 1 << 20;
    private static final AtomicInteger LATENCY = new AtomicInteger();
    private static final long[] LATENCY_NANOS = new long[LATENCIES];
    private static final ExecutorService POOL = pool(2);
    private static final ExecutorService STAGES = pool(2);

    private HandingOver() {}

    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 64);
        server.setExecutor(pool(2));
        server.createContext("/", HandingOver::handle);
        server.start();
        for (int i = 0; i < Integer.parseInt(arguments[0]); i++) {
            int seed = i;
            Thread thread = new Thread(() -> requests("http://127.0.0.1:" + server.getAddress().getPort(), seed));
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        while (in.readLine() != null) {
            System.out.println("latencies " + latencies());
        }
        System.exit(0);
    }

    private static void handle(HttpExchange exchange) throws IOException {
        String query = exchange.getRequestURI().getQuery();
        byte[] body;
        try {
            var stock = POOL.submit(() -> table(query, 600));
            var order = CompletableFuture.supplyAsync(() -> table(query, 600), STAGES).thenApplyAsync(HandingOver::sum, STAGES);
            body = (stock.get().length() + " " + order.get()).getBytes(StandardCharsets.UTF_8);
        } catch (Exception e) {
            throw new IOException(e);
        }
        exchange.getResponseHeaders().set("Content-Type", "text/plain");
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    /** Some work of about the size of a small template. */
    private static String table(String query, int rows) {
        StringBuilder table = new StringBuilder();
        for (int i = 0; i < rows; i++) {
            table.append(query).append(' ').append(i).append(' ').append(i * 31L % 7919).append('\n');
        }
        return table.toString();
    }

    private static long sum(String table) {
        long sum = 0;
        for (String row : table.split("\n")) {
            sum += Long.parseLong(row.substring(row.lastIndexOf(' ') + 1));
        }
        return sum;
    }

    private static void requests(String base, int seed) {
        for (int i = seed; ; i++) {
            long start = System.nanoTime();
            try {
                HttpURLConnection connection =
                        (HttpURLConnection) URI.create(base + "/orders/" + i % 1000 + "?n=" + i).toURL().openConnection();
                connection.getInputStream().readAllBytes();
            } catch (IOException failed) {
                throw new IllegalStateException(failed);
            }
            int at = LATENCY.getAndIncrement();
            if (at < LATENCIES) {
                LATENCY_NANOS[at] = System.nanoTime() - start;
            }
        }
    }

    private static String latencies() {
        int count = Math.min(LATENCY.getAndSet(0), LATENCIES);
        long[] sorted = Arrays.copyOf(LATENCY_NANOS, count);
        Arrays.sort(sorted);
        return count == 0 ? "0 0 0" : count + " " + sorted[count / 2] + " " + sorted[count * 99 / 100];
    }

    private static ExecutorService pool(int threads) {
        return Executors.newFixedThreadPool(threads, task -> {
            Thread thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
        });
    }
}
