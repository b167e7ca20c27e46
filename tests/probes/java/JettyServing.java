import jakarta.servlet.AsyncContext;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URL;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** A Jetty 12 with two servlets, and a known number of requests: answered, created, failed, not found, answered later. */
public final class JettyServing {
    private JettyServing() {}

    static final class Items extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            if (request.getPathInfo().equals("/fail")) {
                throw new IllegalStateException("asked to fail");
            }
            response.getWriter().write("ok");
        }

        @Override
        protected void doPost(HttpServletRequest request, HttpServletResponse response) {
            response.setStatus(201);
        }
    }

    /** Answers after 50 ms, on another thread. */
    static final class Later extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) {
            AsyncContext context = request.startAsync();
            new Thread(() -> {
                try {
                    Thread.sleep(50);
                    response.getWriter().write("late");
                } catch (InterruptedException | IOException e) {
                    throw new IllegalStateException(e);
                }
                context.complete();
            }).start();
        }
    }

    public static void main(String[] arguments) throws Exception {
        Server server = new Server();
        ServerConnector connector = new ServerConnector(server);
        server.addConnector(connector);
        ServletContextHandler context = new ServletContextHandler("/app");
        context.addServlet(new ServletHolder(new Items()), "/items/*");
        ServletHolder later = new ServletHolder(new Later());
        later.setAsyncSupported(true);
        context.addServlet(later, "/later");
        server.setHandler(context);
        server.start();
        String app = "http://127.0.0.1:" + connector.getLocalPort() + "/app";
        send("GET", app + "/items/0");
        Gate.await();
        for (int i = 0; i < 53; i++) {
            send("GET", app + "/items/" + i + "?q=" + i);
        }
        for (int i = 0; i < 17; i++) {
            send("POST", app + "/items/" + i);
        }
        for (int i = 0; i < 5; i++) {
            send("GET", app + "/items/fail");
        }
        for (int i = 0; i < 11; i++) {
            send("GET", app + "/none");
        }
        for (int i = 0; i < 3; i++) {
            send("GET", app + "/later");
        }
        System.out.println("done");
        System.out.flush();
        Gate.pass();
        server.stop();
    }

    private static void send(String method, String url) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) new URL(url).openConnection();
        connection.setRequestMethod(method);
        int status = connection.getResponseCode();
        (status < 400 ? connection.getInputStream() : connection.getErrorStream()).readAllBytes();
    }
}
