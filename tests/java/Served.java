import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;

/** An HTTP server on threads of a pool, or with the argument {@code virtual} on a virtual thread for each request. */
public final class Served {
    private Served() {}

    public static void main(String[] arguments) throws Exception {
        boolean virtual = arguments.length > 0 && arguments[0].equals("virtual");
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(virtual
                ? (Executor) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null)
                : Executors.newFixedThreadPool(4));
        server.createContext("/", Served::answer);
        server.start();
        System.out.println("ready " + server.getAddress().getPort());
        System.in.read();
        server.stop(0);
        System.exit(0);
    }

    private static void answer(HttpExchange exchange) throws IOException {
        String parent = exchange.getRequestHeaders().getFirst("traceparent");
        int length = work(parent == null ? "" : parent);
        exchange.sendResponseHeaders(200, length == 0 ? -1 : length);
        exchange.getResponseBody().write(new byte[length]);
        exchange.close();
    }

    static int work(String parent) {
        return parent.length();
    }
}
