package com.acme.mocks;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.tomakehurst.wiremock.extension.ResponseTransformerV2;
import com.github.tomakehurst.wiremock.http.Response;
import com.github.tomakehurst.wiremock.stubbing.ServeEvent;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.FileHandler;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import okhttp3.OkHttpClient;
import okhttp3.Request;

/**
 * An extension of WireMock that adds a price to each answer: from a cache, or from another service by OkHttp. It logs
 * each answer, and audits it in a thread pool. The system property {@code fault} names the fault that it has; see
 * {@link Faults}.
 */
public final class Prices implements ResponseTransformerV2 {
    static final Logger LOG = Logger.getLogger("com.acme.mocks");

    private final OkHttpClient client = new OkHttpClient();
    private final String downstream = "http://127.0.0.1:" + Integer.getInteger("downstream");
    private final Cache<Integer, String> prices = Caffeine.newBuilder().maximumSize(10_000).build();
    private final Faults faults;
    private final ExecutorService auditors;

    public Prices() throws IOException {
        Path directory = Path.of(System.getProperty("directory"));
        FileHandler handler = new FileHandler(directory.resolve("mocks.log").toString());
        handler.setFormatter(new SimpleFormatter());
        LOG.setUseParentHandlers(false);
        LOG.setLevel(Level.INFO);
        LOG.addHandler(handler);
        AtomicInteger number = new AtomicInteger();
        auditors = Executors.newFixedThreadPool(8, task -> new Thread(task, "auditor-" + number.incrementAndGet()));
        faults = new Faults(System.getProperty("fault"), directory, this);
    }

    @Override
    public String getName() {
        return "prices";
    }

    @Override
    public Response transform(Response response, ServeEvent event) {
        String url = event.getRequest().getUrl();
        int id = Integer.parseInt(url.replaceAll("\\D+", "")) % 400;
        String price = prices.get(id, key -> ask("/price/" + key));
        auditors.execute(() -> LOG.log(Level.FINE, "{0} was served", url));
        faults.cause(id);
        LOG.log(Level.INFO, "order {0} costs {1}", new Object[] {id, price});
        return Response.Builder.like(response).but().body(response.getBodyAsString() + price).build();
    }

    /** The answer of the other service, or null if it has failed. */
    String ask(String path) {
        Request request = new Request.Builder().url(downstream + path).build();
        try (okhttp3.Response response = client.newCall(request).execute()) {
            return response.isSuccessful() ? response.body().string() : null;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
