import com.github.tomakehurst.wiremock.WireMockServer;
import com.github.tomakehurst.wiremock.client.WireMock;
import com.github.tomakehurst.wiremock.core.WireMockConfiguration;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.net.URI;

/**
 * Starts WireMock, answers one request, prints "started NANOSECONDS CPU-NANOSECONDS LOADED-CLASSES" since main (of all threads of
 * the JVM), and ends.
 */
public final class Starting {
    private Starting() {}

    public static void main(String[] arguments) throws Exception {
        long begin = System.nanoTime();
        long processor = processor();
        WireMockServer server = new WireMockServer(WireMockConfiguration.options().dynamicPort().globalTemplating(true));
        server.start();
        server.stubFor(WireMock.get("/stock").willReturn(WireMock.okJson("{\"path\": \"{{request.path}}\"}")));
        try (InputStream answer = URI.create(server.baseUrl() + "/stock").toURL().openStream()) {
            while (answer.read() >= 0) {
                continue;
            }
        }
        long nanos = System.nanoTime() - begin;
        processor = processor() - processor;
        System.out.println("started " + nanos + " " + processor + " " + ManagementFactory.getClassLoadingMXBean().getLoadedClassCount());
        System.exit(0);
    }

    private static long processor() {
        return ProcessHandle.current().info().totalCpuDuration().get().toNanos();
    }
}
