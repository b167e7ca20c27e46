package com.acme.shop;

import java.util.HashMap;
import java.util.Map;

/** All orders. One monitor guards the orders, so writers wait for each other. */
public final class OrderBook {
    private final Map<Long, Order> orders = new HashMap<>();
    private long lastId;

    synchronized long nextId() {
        return ++lastId;
    }

    /** Stores the order and returns its receipt, which is (deliberately) written while the monitor is held. */
    synchronized String file(Order order) {
        Tally.count("file");
        orders.put(order.id(), order);
        return "order " + order.id() + "\n" + "-".repeat(37) + "\n" + order.total();
    }

    synchronized Order find(long id) {
        Order order = orders.get(id);
        if (order == null) {
            throw new NoSuchOrderException(id);
        }
        return order;
    }
}
