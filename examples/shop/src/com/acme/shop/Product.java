package com.acme.shop;

/** One article. Imported ones need a tariff that takes a while to find out; discontinued ones cannot be reserved. */
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
