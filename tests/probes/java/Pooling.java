import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.metrics.IMetricsTracker;
import com.zaxxer.hikari.metrics.MetricsTrackerFactory;
import com.zaxxer.hikari.metrics.PoolStats;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Level;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.apache.tomcat.jdbc.pool.PoolProperties;

/** Pools of HikariCP and Tomcat: connections that are returned, returned twice, leaked, or never given to a waiter. */
public final class Pooling {
    private static final List<Connection> LEAKED = new ArrayList<>();

    private Pooling() {}

    /** The counts of HikariCP itself. */
    private static final class Counts implements MetricsTrackerFactory, IMetricsTracker {
        final AtomicInteger acquired = new AtomicInteger();
        final AtomicInteger used = new AtomicInteger();
        final AtomicInteger timedOut = new AtomicInteger();

        @Override
        public IMetricsTracker create(String poolName, PoolStats poolStats) {
            return this;
        }

        @Override
        public void recordConnectionAcquiredNanos(long nanos) {
            acquired.incrementAndGet();
        }

        @Override
        public void recordConnectionUsageMillis(long millis) {
            used.incrementAndGet();
        }

        @Override
        public void recordConnectionTimeout() {
            timedOut.incrementAndGet();
        }
    }

    public static void main(String[] arguments) throws Exception {
        Logger.getLogger("").setLevel(Level.OFF);
        Counts counts = new Counts();
        HikariConfig config = new HikariConfig();
        config.setPoolName("orders");
        config.setJdbcUrl("jdbc:h2:mem:orders");
        config.setMaximumPoolSize(5);
        config.setMinimumIdle(1);
        config.setMetricsTrackerFactory(counts);
        HikariDataSource hikari = new HikariDataSource(config);
        PoolProperties properties = new PoolProperties();
        properties.setName("stock");
        properties.setUrl("jdbc:h2:mem:stock");
        properties.setDriverClassName("org.h2.Driver");
        properties.setMaxActive(3);
        properties.setInitialSize(1);
        properties.setJmxEnabled(false);
        org.apache.tomcat.jdbc.pool.DataSource tomcat = new org.apache.tomcat.jdbc.pool.DataSource(properties);
        tomcat.getConnection().close();
        Gate.await();
        query(hikari, 53);
        closeTwice(hikari, 17);
        leak(hikari, 5);
        hikari.getHikariConfigMXBean().setConnectionTimeout(250);
        query(tomcat, 41);
        leak(tomcat, 3);
        tomcat.setMaxWait(250);
        waitInVain(tomcat, 2);
        waitInVain(hikari, 3);
        System.out.println("hikari " + counts.acquired + " " + counts.used + " " + counts.timedOut);
        System.out.println("done");
        System.out.flush();
        Gate.pass();
        hikari.close();
        tomcat.close(true);
    }

    private static void query(DataSource pool, int times) throws SQLException {
        for (int i = 0; i < times; i++) {
            try (Connection connection = pool.getConnection()) {
                connection.createStatement().executeQuery("SELECT " + i).close();
            }
        }
    }

    private static void closeTwice(DataSource pool, int times) throws SQLException {
        for (int i = 0; i < times; i++) {
            Connection connection = pool.getConnection();
            connection.close();
            connection.close();
        }
    }

    private static void leak(DataSource pool, int times) throws SQLException {
        for (int i = 0; i < times; i++) {
            LEAKED.add(pool.getConnection());
        }
    }

    private static void waitInVain(DataSource pool, int times) {
        for (int i = 0; i < times; i++) {
            try {
                LEAKED.add(pool.getConnection());
            } catch (SQLException e) {
                System.out.println("timed out");
            }
        }
    }
}
