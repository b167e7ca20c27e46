import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpResponse.BodySubscribers;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

/** Calls of the JDK's HttpClient for which no thread waits. */
public class HttpClientFlows {
    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 400);
        byte[] page = "one\ntwo\n".getBytes(StandardCharsets.UTF_8);
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, page.length);
            exchange.getResponseBody().write(page);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(5));
        server.start();
        URI uri = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/");
        HttpRequest request = HttpRequest.newBuilder(uri).version(HttpClient.Version.HTTP_1_1).build();
        HttpClient client = HttpClient.newBuilder().executor(Executors.newFixedThreadPool(4)).build();
        HttpClient other = HttpClient.newHttpClient();
        HandingOver requests = new HandingOver();
        requests.kind("sendAsync", 1, work -> client.sendAsync(request, BodyHandlers.ofString())
                .thenAccept(response -> work.run()));
        requests.kind("stages", 3, work -> other.sendAsync(request, BodyHandlers.ofString())
                .thenApplyAsync(response -> {
                    work.run();
                    return response;
                }).thenCompose(response -> {
                    work.run();
                    return client.sendAsync(request, BodyHandlers.discarding());
                }).whenComplete((response, failure) -> work.run()));
        requests.kind("body", 2, work -> client.sendAsync(request, information -> {
            work.run();
            return BodySubscribers.mapping(BodySubscribers.ofString(StandardCharsets.UTF_8), text -> {
                work.run();
                return text;
            });
        }));
        requests.kind("parts of the body", 2, work -> other.sendAsync(request, BodyHandlers.ofByteArrayConsumer(part -> {
            work.run();
        })));
        requests.serve();
    }
}
