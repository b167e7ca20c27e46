import jakarta.servlet.AsyncContext;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URL;

/** The servlets of the web servers among the programs, and known numbers of requests to them. */
final class Served {
    private Served() {}

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

    /** Requests that are answered, created, failed, not found, and answered later. */
    static void request(String app, int later) throws IOException {
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
        for (int i = 0; i < later; i++) {
            send("GET", app + "/later");
        }
    }

    static void send(String method, String url) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) new URL(url).openConnection();
        connection.setRequestMethod(method);
        int status = connection.getResponseCode();
        (status < 400 ? connection.getInputStream() : connection.getErrorStream()).readAllBytes();
    }
}
