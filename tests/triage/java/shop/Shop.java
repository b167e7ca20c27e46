package com.acme.shop;

import com.github.benmanes.caffeine.cache.Caffeine;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.cache.CacheManager;
import org.springframework.cache.annotation.EnableCaching;
import org.springframework.cache.caffeine.CaffeineCacheManager;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import org.springframework.core.task.TaskExecutor;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;
import org.springframework.web.client.RestClient;

/**
 * A shop on Spring Boot: MVC on Tomcat, JPA with Hibernate, HikariCP and H2, a cache of Caffeine, tasks of {@code @Async}
 * and a client of another service. The property {@code fault} names the fault that it has; see {@link Faults}.
 */
@SpringBootApplication
@EnableAsync
@EnableCaching
public class Shop {
    static final int ORDERS = 400;
    static final int LINES = 1600;

    public static void main(String[] arguments) {
        ConfigurableApplicationContext context = SpringApplication.run(Shop.class, arguments);
        fill(context.getBean(JdbcTemplate.class));
        System.out.println("ready " + context.getEnvironment().getProperty("local.server.port"));
        System.out.flush();
    }

    private static void fill(JdbcTemplate jdbc) {
        jdbc.execute("INSERT INTO orders(id, customer) SELECT x, x FROM SYSTEM_RANGE(1, " + ORDERS + ")");
        jdbc.execute("INSERT INTO line(id, order_id, sku) SELECT x, 1 + MOD(x, " + ORDERS + "), 'sku ' || x"
                + " FROM SYSTEM_RANGE(1, " + LINES + ")");
        jdbc.execute("CREATE INDEX line_of_order ON line(order_id)");
        jdbc.execute("CREATE ALIAS PAUSE FOR \"com.acme.shop.Shop.pause\"");
    }

    /** A function of the database. */
    public static int pause(int millis) throws InterruptedException {
        Thread.sleep(millis);
        return millis;
    }

    @Bean
    RestClient prices(Environment environment) {
        return RestClient.create("http://127.0.0.1:" + environment.getRequiredProperty("downstream"));
    }

    @Bean
    CacheManager caches(Faults faults) {
        CaffeineCacheManager manager = new CaffeineCacheManager();
        manager.setCaffeine(Caffeine.newBuilder().maximumSize(faults.has("smallCache") ? 10 : 10_000));
        return manager;
    }

    @Bean
    TaskExecutor taskExecutor(Faults faults) {
        ThreadPoolTaskExecutor executor = new ThreadPoolTaskExecutor();
        executor.setCorePoolSize(faults.has("shortOfThreads") ? 1 : 16);
        executor.setThreadNamePrefix("mailer-");
        return executor;
    }
}
