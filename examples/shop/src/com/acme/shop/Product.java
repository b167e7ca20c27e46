package com.acme.shop;

/** One article. The tariff of imported products takes time to compute; discontinued products cannot be reserved. */
public final class Product {
    final String sku;
    final String title;
    final Money price;
    final boolean imported;
    final boolean discontinued;

    Product(String sku, String title, Money price, boolean imported, boolean discontinued) {
        this.sku = sku;
        this.title = title;
        this.price = price;
        this.imported = imported;
        this.discontinued = discontinued;
    }
}
