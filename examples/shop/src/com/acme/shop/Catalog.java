package com.acme.shop;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** All products, by article number and by category. Never changes. */
public final class Catalog {
    private static final String[] NAMES = {"lamp", "chair", "table", "kettle", "carpet", "mirror", "clock"};

    private final Map<String, Product> bySku = new LinkedHashMap<>();
    private final Map<String, Category> categories = new HashMap<>();

    public Catalog(int products) {
        Category home = category(null, "home");
        Category living = category(home, "living");
        Category kitchen = category(home, "kitchen");
        Category[] shelves = {category(living, "seats"), category(living, "lights"), kitchen, category(kitchen, "tea")};
        for (int i = 0; i < products; i++) {
            String title = NAMES[i % NAMES.length] + " no. " + i;
            Product product = new Product(sku(i), title, Money.ofCents(199 + 137L * i), i % 11 == 5, i % 13 == 7);
            bySku.put(product.sku, product);
            shelves[i % shelves.length].add(product);
        }
    }

    static String sku(int number) {
        return String.format("SKU-%04d", number);
    }

    private Category category(Category parent, String name) {
        Category category = parent == null ? new Category(name) : parent.child(name);
        categories.put(name, category);
        return category;
    }

    public Product find(String sku) {
        Tally.count("find");
        Product product = bySku.get(sku);
        if (product == null) {
            Tally.count("find!NoSuchProductException");
            throw new NoSuchProductException(sku);
        }
        return product;
    }

    public Category category(String name) {
        Category category = categories.get(name);
        if (category == null) {
            throw new BadRequestException("no category " + name);
        }
        return category;
    }
}
