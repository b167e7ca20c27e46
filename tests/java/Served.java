import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;

/**
 * An HTTP server on threads of a pool. With the argument {@code virtual}, a second server runs each request on a virtual
 * thread.
 */
public final class Served {
    private Served() {}

    public static void main(String[] arguments) throws Exception {
        StringBuilder ports = new StringBuilder().append(started(Executors.newFixedThreadPool(4)));
        if (arguments.length > 0) {
            ports.append(' ').append(started(
                    (Executor) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null)));
        }
        System.out.println("ready " + ports);
        System.in.read();
        System.exit(0);
    }

    /** Starts a server. Returns its port. */
    private static int started(Executor executor) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(executor);
        server.createContext("/", Served::answer);
        server.start();
        return server.getAddress().getPort();
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
