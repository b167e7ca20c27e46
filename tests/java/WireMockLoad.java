import com.github.tomakehurst.wiremock.WireMockServer;
import com.github.tomakehurst.wiremock.client.WireMock;
import com.github.tomakehurst.wiremock.core.WireMockConfiguration;
import java.net.HttpURLConnection;
import java.net.URL;
import java.util.Map;
import java.util.TreeMap;

/** WireMock on a free port, and a known number of requests: fast ones, slow ones, and requests without a stub. */
public final class WireMockLoad {
    private static final int SLOW_MILLIS = 60;

    private WireMockLoad() {}

    public static void main(String[] arguments) throws Exception {
        int requests = Integer.parseInt(arguments[0]);
        WireMockServer server = new WireMockServer(WireMockConfiguration.options().dynamicPort());
        server.start();
        server.stubFor(WireMock.get(WireMock.urlPathEqualTo("/fast")).willReturn(WireMock.ok("fast")));
        server.stubFor(WireMock.get(WireMock.urlPathEqualTo("/slow"))
                .willReturn(WireMock.ok("slow").withFixedDelay(SLOW_MILLIS)));
        get(server, "/fast?warm=up");
        Gate.await();
        Map<String, Integer> answers = new TreeMap<>();
        for (int i = 0; i < requests; i++) {
            String path = i % 13 == 4 ? "/slow" : i % 17 == 5 ? "/none" : "/fast";
            int status = get(server, path + "?n=" + i);
            answers.merge(path + "=" + status, 1, Integer::sum);
        }
        answers.forEach((answer, times) -> System.out.println("answered " + answer + " " + times));
        System.out.println("done");
        System.out.flush();
        Gate.pass();
        server.stop();
    }

    private static int get(WireMockServer server, String target) throws Exception {
        HttpURLConnection connection = (HttpURLConnection) new URL(server.baseUrl() + target).openConnection();
        int status = connection.getResponseCode();
        (status < 400 ? connection.getInputStream() : connection.getErrorStream()).readAllBytes();
        return status;
    }
}
