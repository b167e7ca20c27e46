import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.UnknownHostException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/**
 * A web service on Tomcat, HikariCP and H2 that asks another service by HTTP. Its argument is the fault that it has:
 * the name of a method below, or {@code none}. Eight clients send requests until the program is ended.
 */
public final class Faulty {
    private static final int CLIENTS = 8;
    private static final int ORDERS = 400;
    private static final Object PRINTER = new Object();
    private static final AtomicInteger ASKED = new AtomicInteger();

    private final String fault;
    private final HikariDataSource pool;
    private final HttpClient client = HttpClient.newHttpClient();
    private final String backend;
    private final ThreadPoolExecutor mailer;
    private final File ledger;
    private final List<Connection> leaked = new ArrayList<>();
    private volatile Object allocated;

    private Faulty(String fault, int backend, File ledger) throws SQLException {
        this.fault = fault;
        this.backend = "http://127.0.0.1:" + backend;
        this.ledger = ledger;
        HikariConfig config = new HikariConfig();
        config.setPoolName("orders-db");
        config.setJdbcUrl("jdbc:h2:mem:orders");
        config.setMaximumPoolSize(fault.equals("smallPool") ? 2 : 60);
        config.setMinimumIdle(4);
        pool = new HikariDataSource(config);
        AtomicInteger number = new AtomicInteger();
        mailer = (ThreadPoolExecutor) Executors.newFixedThreadPool(
                fault.equals("shortOfThreads") ? 1 : 16, task -> new Thread(task, "mailer-" + number.incrementAndGet()));
    }

    public static void main(String[] arguments) throws Exception {
        Logger.getLogger("").setLevel(Level.OFF);
        File directory = Files.createTempDirectory("faulty").toFile();
        File ledger = new File(directory, "ledger.txt");
        Files.write(ledger.toPath(), new byte[40_000]);
        Faulty service = new Faulty(arguments[0], backend(), ledger);
        service.fill();
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(directory.getPath());
        tomcat.setPort(0);
        Context context = tomcat.addContext("", directory.getAbsolutePath());
        Tomcat.addServlet(context, "orders", service.new Orders());
        context.addServletMappingDecoded("/orders/*", "orders");
        tomcat.getConnector().setProperty("maxKeepAliveRequests", "-1");
        tomcat.start();
        int port = tomcat.getConnector().getLocalPort();
        for (int i = 0; i < CLIENTS; i++) {
            int first = i;
            new Thread(() -> send(port, first), "client-" + i).start();
        }
        Thread.sleep(1000);
        System.out.println("ready");
        System.out.flush();
        while (System.in.read() >= 0) {}
        System.exit(0);
    }

    private void fill() throws SQLException {
        try (Connection connection = pool.getConnection(); Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE orders(id INT PRIMARY KEY, customer VARCHAR(40))");
            statement.execute("CREATE TABLE line(id INT PRIMARY KEY, order_id INT, sku VARCHAR(20))");
            statement.execute("CREATE INDEX line_order ON line(order_id)");
            statement.execute("INSERT INTO orders SELECT x, 'customer ' || x FROM SYSTEM_RANGE(1, " + ORDERS + ")");
            statement.execute("INSERT INTO line SELECT x, MOD(x, " + ORDERS + "), 'sku ' || x"
                    + " FROM SYSTEM_RANGE(1, " + 4 * ORDERS + ")");
            statement.execute("CREATE ALIAS PAUSE FOR \"Faulty.pause\"");
        }
    }

    /** A function of the database. */
    public static int pause(int millis) throws InterruptedException {
        Thread.sleep(millis);
        return millis;
    }

    private final class Orders extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            int id = Integer.parseInt(request.getPathInfo().substring(1)) % ORDERS;
            try {
                String customer = customer(id);
                String price = ask("/price/" + id);
                Future<String> mail = mailer.submit(() -> "mailed " + id);
                cause(id);
                response.getWriter().write(customer + price + mail.get());
            } catch (Exception e) {
                response.setStatus(500);
            }
        }
    }

    private String customer(int id) throws SQLException {
        try (Connection connection = pool.getConnection();
                PreparedStatement statement = connection.prepareStatement("SELECT customer FROM orders WHERE id = ?")) {
            statement.setInt(1, id);
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next() ? rows.getString(1) : "nobody";
            }
        }
    }

    private String ask(String path) throws IOException, InterruptedException {
        return client.send(HttpRequest.newBuilder(URI.create(backend + path)).build(), HttpResponse.BodyHandlers.ofString())
                .body();
    }

    /** Causes the fault in a request. */
    private void cause(int id) throws Exception {
        switch (fault) {
            case "smallPool": smallPool(); break;
            case "slowSql": slowSql(); break;
            case "manySql": manySql(); break;
            case "convoy": convoy(); break;
            case "exceptions": exceptions(); break;
            case "collections": collections(id); break;
            case "slowService": ask("/slow/" + id); break;
            case "retries": retries(id); break;
            case "shortOfThreads": shortOfThreads(); break;
            case "threads": threads(id); break;
            case "allocations": allocations(); break;
            case "files": files(); break;
            case "names": names(); break;
            case "leak": leak(id); break;
            default: break;
        }
    }

    private void smallPool() throws SQLException {
        try (Connection connection = pool.getConnection(); Statement statement = connection.createStatement()) {
            statement.executeQuery("SELECT PAUSE(25)").close();
        }
    }

    private void slowSql() throws SQLException {
        try (Connection connection = pool.getConnection(); Statement statement = connection.createStatement()) {
            statement.executeQuery("SELECT customer, PAUSE(350) FROM orders WHERE id = 7").close();
        }
    }

    private void manySql() throws SQLException {
        try (Connection connection = pool.getConnection()) {
            for (int i = 0; i < 80; i++) {
                try (PreparedStatement statement = connection.prepareStatement("SELECT sku FROM line WHERE order_id = ?")) {
                    statement.setInt(1, i);
                    statement.executeQuery().close();
                }
            }
        }
    }

    private void convoy() throws InterruptedException {
        synchronized (PRINTER) {
            Thread.sleep(20);
        }
    }

    private void exceptions() {
        int wrong = 0;
        for (int i = 0; i < 20; i++) {
            try {
                Integer.parseInt("none");
            } catch (NumberFormatException e) {
                wrong++;
            }
        }
        allocated = wrong;
    }

    private void collections(int id) {
        if (id % 20 == 0) {
            System.gc();
        }
    }

    private void retries(int id) throws Exception {
        for (int attempt = 0; attempt < 3; attempt++) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(backend + "/unsteady/" + id)).build();
            if (client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode() == 200) {
                return;
            }
        }
    }

    private void shortOfThreads() throws Exception {
        mailer.submit(() -> pause(15)).get();
    }

    private void threads(int id) {
        if (id % 5 == 0 && Thread.activeCount() < 1000) {
            Thread thread = new Thread(() -> {
                try {
                    TimeUnit.HOURS.sleep(1);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
            thread.setDaemon(true);
            thread.start();
        }
    }

    private void allocations() {
        for (int i = 0; i < 64; i++) {
            allocated = new byte[64 * 1024];
        }
    }

    private void files() throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(ledger, "r")) {
            int sum = 0;
            for (int i = 0; i < 4_000; i++) {
                sum += file.read();
            }
            allocated = sum;
        }
    }

    private void names() {
        for (int i = 0; i < 5; i++) {
            try {
                allocated = InetAddress.getByName("prices-" + System.nanoTime() + ".invalid");
            } catch (UnknownHostException e) {
                allocated = e;
            }
        }
    }

    private void leak(int id) throws SQLException {
        synchronized (leaked) {
            if (id % 50 == 0 && leaked.size() < 50) {
                leaked.add(pool.getConnection());
            }
        }
    }

    // The other service and the clients are written with sockets: btpy is to see only the requests of the service.

    private static int backend() throws IOException {
        ServerSocket server = new ServerSocket(0, 100);
        Thread thread = new Thread(() -> {
            try {
                while (true) {
                    Socket socket = server.accept();
                    new Thread(() -> answer(socket), "backend").start();
                }
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return server.getLocalPort();
    }

    private static void answer(Socket socket) {
        try (BufferedReader reader = reader(socket); OutputStream out = socket.getOutputStream()) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                String path = line.split(" ")[1];
                while (!line.isEmpty()) {
                    line = reader.readLine();
                }
                Thread.sleep(path.startsWith("/slow") ? 700 : 2);
                boolean failed = path.startsWith("/unsteady") && ASKED.incrementAndGet() % 3 != 0;
                String head = failed ? "HTTP/1.1 503 Busy" : "HTTP/1.1 200 OK";
                out.write((head + "\r\nContent-Length: 2\r\n\r\nok").getBytes(StandardCharsets.US_ASCII));
                out.flush();
            }
        } catch (IOException | InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void send(int port, int first) {
        try (Socket socket = new Socket("127.0.0.1", port); BufferedReader reader = reader(socket)) {
            OutputStream out = socket.getOutputStream();
            for (int i = first; ; i += CLIENTS) {
                String request = "GET /orders/" + i + " HTTP/1.1\r\nHost: shop\r\n\r\n";
                out.write(request.getBytes(StandardCharsets.US_ASCII));
                out.flush();
                int length = 0;
                for (String line = reader.readLine(); !line.isEmpty(); line = reader.readLine()) {
                    if (line.toLowerCase().startsWith("content-length:")) {
                        length = Integer.parseInt(line.substring(15).trim());
                    }
                }
                for (int read = 0; read < length; read++) {
                    reader.read();
                }
                Thread.sleep(40);
            }
        } catch (IOException | InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static BufferedReader reader(Socket socket) throws IOException {
        return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
    }
}
