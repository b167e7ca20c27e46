import com.github.tomakehurst.wiremock.WireMockServer;
import com.github.tomakehurst.wiremock.client.WireMock;
import com.github.tomakehurst.wiremock.core.WireMockConfiguration;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;

/**
 * WireMock and its clients in one JVM. For each window of 100 ms it notes the number of answered requests, and the
 * longest time for which a thread that wants to run every 0.2 ms was stopped. Lines on standard input: "now" prints the
 * number of the window; "windows A B" prints the requests and the longest stops (ns) of the windows in [A, B);
 * "latencies" prints the number of requests since the last such line, and the median and the 99th percentile of their
 * time (ns).
 */
public final class AttachingServer {
    private static final long WINDOW = 100_000_000L;
    private static final long STEP = 200_000L;
    private static final int WINDOWS = 36_000;
    private static final long START = System.nanoTime();
    private static final AtomicIntegerArray REQUESTS = new AtomicIntegerArray(WINDOWS);
    private static final int LATENCIES = 1 << 20;
    private static final AtomicInteger LATENCY = new AtomicInteger();
    private static final long[] LATENCY_NANOS = new long[LATENCIES];
    private static final AtomicLongArray STOPS = new AtomicLongArray(WINDOWS);
    private static final String[] BODIES = {
        "{\"customer\": {\"name\": \"ada\", \"lines\": [1, 2, 3]}, \"total\": 4711}", "<order><total>4711</total></order>", "plain",
    };

    private AttachingServer() {}

    public static void main(String[] arguments) throws Exception {
        int clients = Integer.parseInt(arguments[0]);
        long thinkNanos = Long.parseLong(arguments[1]);
        WireMockServer server = new WireMockServer(WireMockConfiguration.options().dynamicPort()
            .globalTemplating(true).disableRequestJournal()); // the journal grows and makes collections longer
        server.start();
        server.stubFor(WireMock.get(WireMock.urlPathMatching("/stock/[0-9]+")).withQueryParam("n", WireMock.matching("[0-9]+"))
            .willReturn(WireMock.okJson("{\"path\": \"{{request.path}}\", \"n\": {{request.query.n}}, \"at\": \"{{now}}\"}")));
        server.stubFor(WireMock.post("/order/json").withRequestBody(WireMock.matchingJsonPath("$.customer.lines[?(@ > 2)]"))
            .willReturn(WireMock.okJson("{\"for\": \"{{jsonPath request.body '$.customer.name'}}\"}")));
        server.stubFor(WireMock.post("/order/equal").withRequestBody(WireMock.equalToJson(BODIES[0], true, true))
            .willReturn(WireMock.created()));
        server.stubFor(WireMock.post("/order/xml").withRequestBody(WireMock.matchingXPath("/order/total"))
            .willReturn(WireMock.okXml("<total>{{xPath request.body '/order/total/text()'}}</total>")));
        server.stubFor(WireMock.get(WireMock.urlPathMatching("/old/.*")).willReturn(WireMock.aResponse()
            .proxiedFrom(server.baseUrl() + "/stock/7?n=1")));
        for (int i = 0; i < clients; i++) {
            int seed = i;
            start(() -> requests(server.baseUrl(), seed, thinkNanos));
        }
        start(AttachingServer::watchTheClock);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("now")) {
                System.out.println("now " + window());
            } else if (words[0].equals("latencies")) {
                System.out.println("latencies " + latencies());
            } else {
                StringBuilder out = new StringBuilder("windows");
                for (int i = Integer.parseInt(words[1]); i < Integer.parseInt(words[2]); i++) {
                    out.append(' ').append(REQUESTS.get(i)).append(':').append(STOPS.get(i));
                }
                System.out.println(out);
            }
        }
        System.exit(0);
    }

    private static String latencies() {
        int count = Math.min(LATENCY.getAndSet(0), LATENCIES);
        long[] sorted = Arrays.copyOf(LATENCY_NANOS, count);
        Arrays.sort(sorted);
        return count == 0 ? "0 0 0" : count + " " + sorted[count / 2] + " " + sorted[count * 99 / 100];
    }

    private static int window() {
        return (int) ((System.nanoTime() - START) / WINDOW);
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }

    private static void watchTheClock() {
        long last = System.nanoTime();
        while (true) {
            LockSupport.parkNanos(STEP);
            long now = System.nanoTime();
            int window = window();
            long stop = now - last - STEP;
            if (stop > STOPS.get(window)) {
                STOPS.set(window, stop);
            }
            last = now;
        }
    }

    private static void requests(String base, int seed, long thinkNanos) {
        for (int i = seed; ; i++) {
            long start = System.nanoTime();
            try {
                switch (i % 7) {
                    case 0: request("POST", base + "/order/json", BODIES[0]); break;
                    case 1: request("POST", base + "/order/equal", BODIES[0]); break;
                    case 2: request("POST", base + "/order/xml", BODIES[1]); break;
                    case 3: request("GET", base + "/old/" + i, null); break;
                    case 4: request("POST", base + "/nowhere", BODIES[2]); break;
                    default: request("GET", base + "/stock/" + i + "?n=" + i, null);
                }
            } catch (java.io.IOException failed) {
                throw new IllegalStateException(failed);
            }
            REQUESTS.incrementAndGet(window());
            int at = LATENCY.getAndIncrement();
            if (at < LATENCIES) {
                LATENCY_NANOS[at] = System.nanoTime() - start;
            }
            if (thinkNanos > 0) {
                LockSupport.parkNanos(thinkNanos);
            }
        }
    }

    private static void request(String method, String target, String body) throws java.io.IOException {
        HttpURLConnection connection = (HttpURLConnection) URI.create(target).toURL().openConnection();
        connection.setRequestMethod(method);
        if (body != null) {
            connection.setDoOutput(true);
            connection.getOutputStream().write(body.getBytes(StandardCharsets.UTF_8));
        }
        int status = connection.getResponseCode();
        var answer = status < 400 ? connection.getInputStream() : connection.getErrorStream();
        if (answer != null) {
            answer.readAllBytes();
        }
    }
}
