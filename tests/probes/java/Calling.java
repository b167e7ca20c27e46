import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import okhttp3.Call;
import okhttp3.Callback;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import org.apache.hc.client5.http.classic.methods.HttpGet;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;

/** Four clients that call the JDK's web server: answers, redirects, failures of servers, and ports without a listener. */
public final class Calling {
    private static final CountDownLatch NEVER = new CountDownLatch(1);

    private Calling() {}

    public static void main(String[] arguments) throws Exception {
        System.setProperty("sun.net.httpserver.nodelay", "true");
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newFixedThreadPool(6));
        server.createContext("/", exchange -> {
            String path = exchange.getRequestURI().getPath();
            boolean moved = path.startsWith("/moved");
            int status = moved ? 302 : path.startsWith("/broken") ? 503 : path.startsWith("/none") ? 404 : 200;
            if (moved) {
                exchange.getResponseHeaders().add("Location", "/here");
            }
            if (path.startsWith("/never")) {
                await(NEVER);
            }
            exchange.getRequestBody().readAllBytes();
            byte[] body = "answer".getBytes();
            exchange.sendResponseHeaders(status, body.length);
            try (OutputStream stream = exchange.getResponseBody()) {
                stream.write(body);
            }
        });
        server.start();
        int free;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            free = socket.getLocalPort();
        }
        String base = "http://127.0.0.1:" + server.getAddress().getPort();
        String closed = "http://127.0.0.1:" + free + "/";
        System.out.println("ports " + server.getAddress().getPort() + " " + free);
        HttpClient jdk = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build();
        OkHttpClient ok = new OkHttpClient();
        CloseableHttpClient apache = HttpClients.custom().disableAutomaticRetries().build();
        Gate.await();
        for (int i = 0; i < 23; i++) {
            jdk(jdk, base + "/items/" + i, false);
        }
        for (int i = 0; i < 5; i++) {
            jdk(jdk, base + "/moved", false);
            jdk(jdk, base + "/broken", false);
        }
        for (int i = 0; i < 3; i++) {
            jdk(jdk, closed, false);
        }
        jdk(jdk, base + "/never", false);
        for (int i = 0; i < 29; i++) {
            jdk(jdk, base + "/later/" + i, true);
        }
        for (int i = 0; i < 7; i++) {
            jdk(jdk, base + "/moved", true);
        }
        for (int i = 0; i < 2; i++) {
            jdk(jdk, closed, true);
        }
        jdk(jdk, base + "/never", true);
        for (int i = 0; i < 31; i++) {
            old("POST", base + "/old/" + i);
        }
        for (int i = 0; i < 11; i++) {
            old("GET", base + "/none");
            old("GET", base + "/moved");
        }
        for (int i = 0; i < 13; i++) {
            old("GET", closed);
        }
        for (int i = 0; i < 37; i++) {
            try (Response response = ok.newCall(request(base + "/ok/" + i)).execute()) {
                response.body().string();
            }
        }
        CountDownLatch answered = new CountDownLatch(17);
        for (int i = 0; i < 17; i++) {
            ok.newCall(request(base + "/broken")).enqueue(new Callback() {
                @Override
                public void onFailure(Call call, IOException e) {
                    answered.countDown();
                }

                @Override
                public void onResponse(Call call, Response response) {
                    response.close();
                    answered.countDown();
                }
            });
        }
        answered.await();
        try {
            ok.newCall(request(closed)).execute();
        } catch (IOException e) {
            System.out.println("refused");
        }
        for (int i = 0; i < 41; i++) {
            apache.execute(new HttpGet(base + "/apache/" + i)).close();
        }
        for (int i = 0; i < 19; i++) {
            apache.execute(new HttpGet(base + "/none")).close();
        }
        try {
            apache.execute(new HttpGet(closed)).close();
        } catch (IOException e) {
            System.out.println("refused");
        }
        System.out.println("done");
        System.out.flush();
        Gate.pass();
        System.exit(0);
    }

    private static Request request(String url) {
        return new Request.Builder().url(url).build();
    }

    private static void jdk(HttpClient client, String url, boolean later) throws Exception {
        Duration patience = Duration.ofMillis(url.endsWith("/never") ? 300 : 60_000);
        HttpRequest request = HttpRequest.newBuilder(URI.create(url)).timeout(patience).build();
        try {
            if (later) {
                client.sendAsync(request, HttpResponse.BodyHandlers.ofString()).join();
            } else {
                client.send(request, HttpResponse.BodyHandlers.ofString());
            }
        } catch (IOException | java.util.concurrent.CompletionException e) {
            System.out.println("failed " + e);
        }
    }

    private static void old(String method, String url) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) new URL(url).openConnection();
        connection.setRequestMethod(method);
        try {
            int status = connection.getResponseCode();
            try (InputStream stream = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
                stream.readAllBytes();
            }
        } catch (java.net.ConnectException e) {
            System.out.println("refused");
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
