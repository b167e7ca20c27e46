import com.github.tomakehurst.wiremock.WireMockServer;
import com.github.tomakehurst.wiremock.client.WireMock;
import com.github.tomakehurst.wiremock.core.WireMockConfiguration;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.net.URI;

/** Starts WireMock, answers one request, prints "started NANOSECONDS LOADED-CLASSES" since main, and ends. */
public final class Starting {
    private Starting() {}

    public static void main(String[] arguments) throws Exception {
        long begin = System.nanoTime();
        WireMockServer server = new WireMockServer(WireMockConfiguration.options().dynamicPort().globalTemplating(true));
        server.start();
        server.stubFor(WireMock.get("/stock").willReturn(WireMock.okJson("{\"path\": \"{{request.path}}\"}")));
        try (InputStream answer = URI.create(server.baseUrl() + "/stock").toURL().openStream()) {
            while (answer.read() >= 0) {
                continue;
            }
        }
        long nanos = System.nanoTime() - begin;
        System.out.println("started " + nanos + " " + ManagementFactory.getClassLoadingMXBean().getLoadedClassCount());
        System.exit(0);
    }
}
