import com.github.tomakehurst.wiremock.WireMockServer;
import com.github.tomakehurst.wiremock.client.WireMock;
import com.github.tomakehurst.wiremock.core.WireMockConfiguration;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;

/**
 * Starts WireMock, answers one request, prints "started NANOSECONDS MAIN-NANOSECONDS ALL-NANOSECONDS LOADED-CLASSES" and ends:
 * the time since main by the clock, the processor time of the main thread, and the processor time of all threads of the
 * JVM.
 */
public final class Starting {
    private Starting() {}

    public static void main(String[] arguments) throws Exception {
        long begin = System.nanoTime();
        long ofMain = ofThisThread();
        long ofAll = ofAllThreads();
        WireMockServer server = new WireMockServer(WireMockConfiguration.options().dynamicPort().globalTemplating(true));
        server.start();
        server.stubFor(WireMock.get("/stock").willReturn(WireMock.okJson("{\"path\": \"{{request.path}}\"}")));
        try (InputStream answer = URI.create(server.baseUrl() + "/stock").toURL().openStream()) {
            while (answer.read() >= 0) {
                continue;
            }
        }
        long nanos = System.nanoTime() - begin;
        ofMain = ofThisThread() - ofMain;
        ofAll = ofAllThreads() - ofAll;
        System.out.println("started " + nanos + " " + ofMain + " " + ofAll + " " + ManagementFactory.getClassLoadingMXBean().getLoadedClassCount());
        System.exit(0);
    }

    private static long ofThisThread() throws IOException {
        String[] run = new String(Files.readAllBytes(Paths.get("/proc/thread-self/schedstat")), StandardCharsets.US_ASCII).split(" ");
        return Long.parseLong(run[0]);
    }

    private static long ofAllThreads() {
        return ProcessHandle.current().info().totalCpuDuration().get().toNanos();
    }
}
