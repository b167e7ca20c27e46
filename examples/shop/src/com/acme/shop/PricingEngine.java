package com.acme.shop;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Computes prices. */
public final class PricingEngine {
    private final Catalog catalog;

    public PricingEngine(Catalog catalog) {
        this.catalog = catalog;
    }

    /** Returns the price of {@code quantity} pieces. Slow for imported products. */
    public Money quote(String sku, int quantity) {
        Tally.count("quote");
        if (quantity <= 0) {
            throw new BadRequestException("quantity " + quantity);
        }
        Product product = catalog.find(sku);
        Money price = product.price.times(quantity);
        if (product.imported) {
            return price.plus(tariff(product, quantity));
        }
        return quantity >= 10 ? price.less(3.0) : price;
    }

    /** Returns the duty on an imported product. Simulates a slow remote service. */
    private Money tariff(Product product, int quantity) {
        Tally.count("tariff");
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(12 + quantity);
        long left;
        while ((left = until - System.nanoTime()) > 0) {
            LockSupport.parkNanos(left);
        }
        return product.price.times(quantity).less(81.0);
    }
}
