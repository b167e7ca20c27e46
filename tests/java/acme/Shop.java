package com.acme.shop;

import java.util.List;

/** The classes in the worked examples of diagnostics. */
class PricingEngine {
    Money quote(String sku, int qty) {
        return null;
    }
}

class Money {}

class Order {
    private final List<String> lines = List.of();
    long total;

    long getTotal() {
        return lines.size();
    }
}

class OrderService {
    void place(String customer, int qty, List<String> items) {}

    void place(Order order) {}
}
