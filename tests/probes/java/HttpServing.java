import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;

/** The web server of the JDK, and a known number of requests: answered, not found, and slow. */
public final class HttpServing {
    private HttpServing() {}

    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/items", HttpServing::item);
        server.createContext("/none", exchange -> answer(exchange, 404));
        server.start();
        String base = "http://127.0.0.1:" + server.getAddress().getPort();
        Gate.await();
        for (int i = 0; i < 53; i++) {
            get(base + "/items/" + i + "?q=" + i);
        }
        for (int i = 0; i < 11; i++) {
            get(base + "/none");
        }
        System.out.println("done");
        System.out.flush();
        Gate.pass();
        server.stop(0);
    }

    private static void item(HttpExchange exchange) throws IOException {
        if (exchange.getRequestURI().getPath().endsWith("/17")) {
            try {
                Thread.sleep(60);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        answer(exchange, 200);
    }

    private static void answer(HttpExchange exchange, int status) throws IOException {
        byte[] body = {'o', 'k'};
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private static void get(String url) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) new URL(url).openConnection();
        int status = connection.getResponseCode();
        (status < 400 ? connection.getInputStream() : connection.getErrorStream()).readAllBytes();
    }
}
