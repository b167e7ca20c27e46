import com.github.benmanes.caffeine.cache.AsyncCache;
import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.LoadingCache;
import com.github.benmanes.caffeine.cache.stats.CacheStats;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Caches of Caffeine: one that is bounded by its size, one by the age of entries, one without a bound, and one for futures. */
public final class Caching {
    private static final AtomicLong NANOS = new AtomicLong();

    private Caching() {}

    public static void main(String[] arguments) throws Exception {
        LoadingCache<Integer, String> products = Caffeine.newBuilder()
                .maximumSize(10)
                .executor(Runnable::run)
                .recordStats()
                .build(Caching::load);
        Cache<Integer, String> sessions = Caffeine.newBuilder()
                .expireAfterWrite(1, TimeUnit.MINUTES)
                .ticker(NANOS::get)
                .executor(Runnable::run)
                .recordStats()
                .build();
        Cache<Integer, String> rates = Caffeine.newBuilder().recordStats().build();
        AsyncCache<Integer, String> prices =
                Caffeine.newBuilder().executor(Runnable::run).recordStats().buildAsync();
        Gate.await();
        products(products);
        sessions(sessions);
        rates(rates);
        prices(prices);
        print("products", products.stats());
        print("sessions", sessions.stats());
        print("rates", rates.stats());
        print("prices", prices.synchronous().stats());
        System.out.println("done");
        System.out.flush();
        Gate.pass();
    }

    private static void products(LoadingCache<Integer, String> products) {
        for (int i = 0; i < 23; i++) {
            read(products, i);
            read(products, i);
        }
        products.cleanUp();
        for (int i = 0; i < 5; i++) {
            read(products, -1 - i);
        }
    }

    private static void read(LoadingCache<Integer, String> products, int key) {
        try {
            products.get(key);
        } catch (IllegalStateException e) {
            // A negative key.
        }
    }

    private static String load(int key) {
        if (key < 0) {
            throw new IllegalStateException("no product " + key);
        }
        sleep(2);
        return "product " + key;
    }

    private static void sessions(Cache<Integer, String> sessions) {
        for (int i = 0; i < 31; i++) {
            look(sessions, i);
            sessions.put(i, "session");
            look(sessions, i);
            look(sessions, i);
        }
        NANOS.addAndGet(TimeUnit.MINUTES.toNanos(2));
        for (int i = 0; i < 7; i++) {
            sessions.get(i, key -> "a new session");
        }
        sessions.cleanUp();
    }

    private static void look(Cache<Integer, String> cache, int key) {
        cache.getIfPresent(key);
        cache.asMap().get(key);
    }

    private static void rates(Cache<Integer, String> rates) {
        for (int i = 0; i < 3; i++) {
            for (int key = 0; key < 11; key++) {
                rates.get(key, Caching::load);
            }
        }
        rates.getIfPresent(1);
        rates.getIfPresent(100);
        rates.get(200, key -> null);
    }

    private static void prices(AsyncCache<Integer, String> prices) {
        for (int i = 0; i < 2; i++) {
            for (int key = 0; key < 13; key++) {
                prices.get(key, Caching::load).join();
            }
        }
    }

    private static void print(String name, CacheStats stats) {
        System.out.println(name + " " + stats.hitCount() + " " + stats.missCount() + " " + stats.loadCount() + " "
                + stats.evictionCount() + " " + stats.totalLoadTime());
    }

    private static void sleep(int milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
