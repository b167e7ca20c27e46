import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** A Tomcat with a servlet, and its client: parameters, headers, chunks, redirects, sessions, errors. */
public final class TomcatRoundTrip {
    private TomcatRoundTrip() {}

    static final class Echo extends HttpServlet {
        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
            String path = request.getPathInfo();
            if (path.equals("/fail")) {
                throw new IllegalStateException("asked to fail");
            }
            if (path.equals("/away")) {
                response.sendRedirect(request.getContextPath() + "/echo/here?n=1");
                return;
            }
            byte[] body = request.getInputStream().readAllBytes();
            response.setContentType("text/plain;charset=UTF-8");
            response.setHeader("X-Length", String.valueOf(body.length));
            StringBuilder text = new StringBuilder(request.getMethod() + " " + path + "\n");
            for (String name : new java.util.TreeSet<>(Collections.list(request.getParameterNames()))) {
                text.append(name).append('=').append(String.join("|", request.getParameterValues(name))).append('\n');
            }
            text.append(request.getHeader("X-Asked")).append(' ').append(request.getSession(true).isNew()).append('\n');
            text.append(new String(body, StandardCharsets.UTF_8));
            for (int i = 0; i < 100; i++) {
                text.append("line ").append(i).append('\n');
                response.getWriter().write(text.toString());
                response.getWriter().flush();
                text.setLength(0);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        Logger.getLogger("").setLevel(Level.OFF);
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir("tomcat");
        tomcat.setPort(0);
        Context context = tomcat.addContext("/app", new File(".").getAbsolutePath());
        Tomcat.addServlet(context, "echo", new Echo());
        context.addServletMappingDecoded("/echo/*", "echo");
        tomcat.getConnector();
        tomcat.start();
        int port = tomcat.getConnector().getLocalPort();
        for (int i = 0; i < 23; i++) {
            ask(port, "GET", "/app/echo/p" + i + "?a=" + i + "&b=%C3%A4&a=2", null);
            ask(port, "POST", "/app/echo/post" + i, "body ".repeat(i * 100));
        }
        ask(port, "GET", "/app/echo/fail", null);
        ask(port, "GET", "/app/echo/away", null);
        ask(port, "GET", "/app/nowhere", null);
        ask(port, "HEAD", "/app/echo/head", null);
        tomcat.stop();
        tomcat.destroy();
        System.out.println("stopped");
    }

    private static void ask(int port, String method, String path, String body) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) new URL("http://localhost:" + port + path).openConnection();
        connection.setRequestMethod(method);
        connection.setRequestProperty("X-Asked", "yes");
        if (body != null) {
            connection.setDoOutput(true);
            connection.setRequestProperty("Content-Type", "text/plain");
            connection.setChunkedStreamingMode(64);
            connection.getOutputStream().write(body.getBytes(StandardCharsets.UTF_8));
        }
        int status = connection.getResponseCode();
        InputStream in = status < 400 ? connection.getInputStream() : connection.getErrorStream();
        String text = in == null ? "" : new String(in.readAllBytes(), StandardCharsets.UTF_8);
        System.out.println(method + " " + path + " " + status + " " + connection.getHeaderField("X-Length") + " "
            + text.length() + " " + text.replace(String.valueOf(port), "PORT").hashCode());
    }
}
