import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A web service whose requests are slow for a known reason, which the path names. It reads lines such as {@code 7 /sql}
 * and sends this number of requests, one after the other.
 */
public final class Planted {
    interface Work {
        void run() throws Exception;
    }

    private final Map<String, Work> work = new LinkedHashMap<>();
    private final HikariDataSource pool = pool("orders-db", 4);
    private final HikariDataSource small = pool("small-db", 1);
    private final ReentrantLock lock = new ReentrantLock();
    private final Object monitor = new Object();
    private final ExecutorService single = named("single", 1);
    private final ExecutorService many = named("many", 3);
    private final HttpClient client = HttpClient.newHttpClient();
    private final String backend = "http://127.0.0.1:" + backend();

    private Planted() throws Exception {
        try (Connection connection = pool.getConnection(); Statement statement = connection.createStatement()) {
            statement.execute("CREATE ALIAS PAUSE FOR \"Planted.pause\"");
        }
        work.put("/fast", () -> {});
        work.put("/itself", () -> Thread.sleep(61));
        work.put("/sql", () -> query(67));
        work.put("/many", this::queries);
        work.put("/lock", this::waitForLock);
        work.put("/monitor", this::waitForMonitor);
        work.put("/pool", this::waitForConnection);
        work.put("/http", this::call);
        work.put("/async", this::callAsync);
        work.put("/tasks", this::tasks);
        work.put("/nested", this::nested);
        work.put("/stages", this::stages);
        work.put("/later", this::later);
        work.put("/beside", this::beside);
    }

    public static void main(String[] arguments) throws Exception {
        Planted planted = new Planted();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(named("http", 2));
        server.createContext("/", planted::handle);
        server.start();
        HttpClient client = HttpClient.newHttpClient();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        String line;
        while ((line = in.readLine()) != null) {
            String[] words = line.split(" ");
            URI uri = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + words[1]);
            for (int i = 0; i < Integer.parseInt(words[0]); i++) {
                HttpResponse<String> answer =
                        client.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
                if (answer.statusCode() != 200) {
                    throw new IllegalStateException(uri + ": " + answer.statusCode());
                }
            }
            System.out.println("sent " + line);
        }
        System.exit(0);
    }

    private void handle(HttpExchange exchange) throws IOException {
        int status = 200;
        try {
            work.get(exchange.getRequestURI().getPath()).run();
        } catch (Exception e) {
            e.printStackTrace();
            status = 500;
        }
        byte[] body = "done".getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    /** A function of the database. */
    public static int pause(int millis) throws InterruptedException {
        Thread.sleep(millis);
        return millis;
    }

    private void query(int millis) throws Exception {
        try (Connection connection = pool.getConnection();
                PreparedStatement statement = connection.prepareStatement("SELECT PAUSE(?)")) {
            statement.setInt(1, millis);
            statement.executeQuery();
        }
    }

    /** 101 short statements. */
    private void queries() throws Exception {
        try (Connection connection = pool.getConnection();
                PreparedStatement statement = connection.prepareStatement("SELECT 1 + ?")) {
            for (int i = 0; i < 101; i++) {
                statement.setInt(1, i);
                statement.executeQuery();
            }
        }
        Thread.sleep(31);
    }

    private void waitForLock() throws Exception {
        holding(release -> {
            lock.lock();
            release.run();
            lock.unlock();
        });
        lock.lock();
        lock.unlock();
    }

    private void waitForMonitor() throws Exception {
        holding(release -> {
            synchronized (monitor) {
                release.run();
            }
        }, 307);
        synchronized (monitor) {
            Thread.yield();
        }
    }

    private void waitForConnection() throws Exception {
        holding(release -> {
            try (Connection connection = small.getConnection()) {
                release.run();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        small.getConnection().close();
    }

    interface Holder {
        void hold(Runnable release);
    }

    private static void holding(Holder holder) throws Exception {
        holding(holder, 71);
    }

    /** Lets a thread that works for no request hold a resource for this time. Returns when the thread holds it. */
    private static void holding(Holder holder, int millis) throws Exception {
        CountDownLatch held = new CountDownLatch(1);
        HOLDERS.add(() -> holder.hold(() -> {
            held.countDown();
            sleep(millis);
        }));
        held.await();
    }

    /** The thread that reads this queue is older than the requests, and no flow passes through it. */
    private static final java.util.concurrent.LinkedBlockingQueue<Runnable> HOLDERS =
            new java.util.concurrent.LinkedBlockingQueue<>();

    static {
        Thread holder = new Thread(() -> {
            while (true) {
                try {
                    HOLDERS.take().run();
                } catch (InterruptedException e) {
                    return;
                }
            }
        }, "holder");
        holder.setDaemon(true);
        holder.start();
    }

    private void call() throws Exception {
        client.send(HttpRequest.newBuilder(URI.create(backend + "/stock")).build(), HttpResponse.BodyHandlers.ofString());
    }

    private void callAsync() throws Exception {
        client.sendAsync(HttpRequest.newBuilder(URI.create(backend + "/async")).build(), HttpResponse.BodyHandlers.ofString())
                .thenApply(answer -> answer.statusCode())
                .get();
    }

    /** The third task waits until the two others have run for 41 ms each. */
    private void tasks() throws Exception {
        List<Future<?>> tasks = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            tasks.add(single.submit(() -> {
                query(41);
                return null;
            }));
        }
        for (Future<?> task : tasks) {
            task.get();
        }
    }

    /** The first task ends long before the second one. */
    private void beside() throws Exception {
        Future<?> first = many.submit(() -> sleep(31));
        Future<?> second = many.submit(() -> {
            query(71);
            return null;
        });
        second.get();
        first.get();
    }

    private void nested() throws Exception {
        many.submit(() -> {
            sleep(23);
            return single.submit(() -> sleep(43)).get();
        }).get();
    }

    private void stages() throws Exception {
        CompletableFuture.supplyAsync(() -> sleep(29), many).thenApplyAsync(done -> sleep(37), single).get();
    }

    /** A task of the request ends after the answer. */
    private void later() throws Exception {
        single.execute(() -> sleep(211));
        Thread.sleep(53);
    }

    private static int sleep(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return millis;
    }

    private static HikariDataSource pool(String name, int connections) {
        HikariConfig config = new HikariConfig();
        config.setPoolName(name);
        config.setJdbcUrl("jdbc:h2:mem:orders;DB_CLOSE_DELAY=-1");
        config.setMaximumPoolSize(connections);
        return new HikariDataSource(config);
    }

    private static ExecutorService named(String name, int threads) {
        return Executors.newFixedThreadPool(threads, task -> {
            Thread thread = new Thread(task, name);
            thread.setDaemon(true);
            return thread;
        });
    }

    /** Another service, which needs 59 ms for an answer. */
    private static int backend() throws IOException {
        ServerSocket server = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
        Thread thread = new Thread(() -> {
            while (true) {
                try (Socket socket = server.accept()) {
                    BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream()));
                    String line = in.readLine();
                    while (line != null && !line.isEmpty()) {
                        line = in.readLine();
                    }
                    sleep(59);
                    socket.getOutputStream()
                            .write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok".getBytes(StandardCharsets.UTF_8));
                } catch (IOException e) {
                    e.printStackTrace();
                }
            }
        }, "backend");
        thread.setDaemon(true);
        thread.start();
        return server.getLocalPort();
    }
}
