package com.acme.shop;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.stereotype.Component;
import org.springframework.web.client.HttpServerErrorException;
import org.springframework.web.client.RestClient;

/** The faults of the shop. The faults of pools that are too small are in {@link Shop} and its properties. */
@Component
class Faults {
    private static final Logger LOG = LoggerFactory.getLogger(Faults.class);

    private final String fault;
    private final ObjectProvider<OrderService> orders;
    private final ObjectProvider<DataSource> connections;
    private final ObjectProvider<RestClient> prices;
    private final List<Connection> leaked = new ArrayList<>();
    private int unknown;

    Faults(
            @Value("${fault}") String fault,
            ObjectProvider<OrderService> orders,
            ObjectProvider<DataSource> connections,
            ObjectProvider<RestClient> prices) {
        this.fault = fault;
        this.orders = orders;
        this.connections = connections;
        this.prices = prices;
    }

    boolean has(String name) {
        return fault.equals(name);
    }

    /** Causes the fault in a request. */
    void cause(int id) throws Exception {
        switch (fault) {
            case "smallPool" -> orders.getObject().reserve(id);
            case "leak" -> leak(id);
            case "slowSql" -> orders.getObject().report();
            case "manySql" -> orders.getObject().countLines();
            case "convoy" -> convoy();
            case "exceptions" -> exceptions();
            case "collections" -> collections(id);
            case "slowService" -> prices.getObject().get().uri("/slow/{id}", id).retrieve().body(String.class);
            case "retries" -> retries(id);
            case "logging" -> logging(id);
            default -> {}
        }
    }

    private void leak(int id) throws SQLException {
        synchronized (leaked) {
            if (id % 50 == 0 && leaked.size() < 40) {
                leaked.add(connections.getObject().getConnection());
            }
        }
    }

    private synchronized void convoy() throws InterruptedException {
        Thread.sleep(20);
    }

    private void exceptions() {
        for (int i = 0; i < 20; i++) {
            try {
                Integer.parseInt("none");
            } catch (NumberFormatException e) {
                unknown++;
            }
        }
    }

    private void collections(int id) {
        if (id % 20 == 0) {
            System.gc();
        }
    }

    private void retries(int id) {
        for (int attempt = 0; attempt < 3; attempt++) {
            try {
                prices.getObject().get().uri("/unsteady/{id}", id).retrieve().body(String.class);
                return;
            } catch (HttpServerErrorException e) {
                unknown++;
            }
        }
    }

    private void logging(int id) {
        for (int i = 0; i < 40; i++) {
            LOG.warn("order {} has no discount for line {}", id, i);
        }
    }
}
