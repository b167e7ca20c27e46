package com.acme.shop;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The articles that a customer wants to buy. */
public final class Basket {
    /** An article and its quantity. */
    public static final class Line {
        final String sku;
        final int quantity;

        Line(String sku, int quantity) {
            this.sku = sku;
            this.quantity = quantity;
        }
    }

    private final List<Line> lines = new ArrayList<>();
    private int pieces;

    /** Parses {@code SKU-0001:2,SKU-0007:1}. */
    public static Basket parse(String text) {
        Basket basket = new Basket();
        for (String part : text.split(",")) {
            int colon = part.indexOf(':');
            if (colon < 0) {
                throw new BadRequestException("not sku:quantity: " + part);
            }
            basket.add(part.substring(0, colon), Integer.parseInt(part.substring(colon + 1)));
        }
        return basket;
    }

    public void add(String sku, int quantity) {
        Tally.count("add");
        lines.add(new Line(sku, quantity));
        pieces += quantity;
    }

    public List<Line> lines() {
        return Collections.unmodifiableList(lines);
    }

    public int pieces() {
        return pieces;
    }
}
