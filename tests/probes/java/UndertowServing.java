import io.undertow.Undertow;
import io.undertow.server.handlers.PathHandler;
import io.undertow.servlet.Servlets;
import io.undertow.servlet.api.DeploymentManager;
import io.undertow.servlet.util.ImmediateInstanceFactory;
import jakarta.servlet.AsyncContext;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.URL;

/** An Undertow with two servlets, and a known number of requests: answered, created, failed, not found, answered later. */
public final class UndertowServing {
    private UndertowServing() {}

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
        DeploymentManager manager = Servlets.defaultContainer().addDeployment(Servlets.deployment()
                .setClassLoader(UndertowServing.class.getClassLoader())
                .setContextPath("/app")
                .setDeploymentName("app")
                .addServlets(
                        Servlets.servlet("items", Items.class, new ImmediateInstanceFactory<>(new Items()))
                                .addMapping("/items/*"),
                        Servlets.servlet("later", Later.class, new ImmediateInstanceFactory<>(new Later()))
                                .addMapping("/later")
                                .setAsyncSupported(true)));
        manager.deploy();
        Undertow server = Undertow.builder()
                .addHttpListener(0, "127.0.0.1")
                .setHandler(new PathHandler().addPrefixPath("/app", manager.start()))
                .build();
        server.start();
        int port = ((InetSocketAddress) server.getListenerInfo().get(0).getAddress()).getPort();
        String app = "http://127.0.0.1:" + port + "/app";
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
