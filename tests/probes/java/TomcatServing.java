import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.File;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.file.Files;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.util.threads.ThreadPoolExecutor;

/** A Tomcat with one servlet, and a known number of requests: answered, created, failed, and not found. */
public final class TomcatServing {
    private TomcatServing() {}

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

    public static void main(String[] arguments) throws Exception {
        Logger.getLogger("").setLevel(Level.OFF);
        File base = Files.createTempDirectory("tomcat").toFile();
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(base.getPath());
        tomcat.setPort(0);
        Context context = tomcat.addContext("/app", base.getAbsolutePath());
        Tomcat.addServlet(context, "items", new Items());
        context.addServletMappingDecoded("/items/*", "items");
        tomcat.getConnector();
        tomcat.start();
        String app = "http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + "/app";
        send("GET", app + "/items/0");
        long before = tasks(tomcat);
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
        System.out.println("tasks " + (tasks(tomcat) - before));
        System.out.println("done");
        System.out.flush();
        Gate.pass();
        tomcat.stop();
    }

    /** The tasks that the threads of Tomcat have run, once none is running. */
    private static long tasks(Tomcat tomcat) throws InterruptedException {
        ThreadPoolExecutor threads =
                (ThreadPoolExecutor) tomcat.getConnector().getProtocolHandler().getExecutor();
        while (threads.getActiveCount() > 0) {
            Thread.sleep(1);
        }
        return threads.getCompletedTaskCount();
    }

    private static void send(String method, String url) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) new URL(url).openConnection();
        connection.setRequestMethod(method);
        int status = connection.getResponseCode();
        (status < 400 ? connection.getInputStream() : connection.getErrorStream()).readAllBytes();
    }
}
