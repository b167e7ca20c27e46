package com.acme.shop;

import java.util.ArrayList;
import java.util.List;

/** A node in the tree of categories. */
public final class Category {
    private final String name;
    private final List<Category> children = new ArrayList<>();
    private final List<Product> products = new ArrayList<>();

    Category(String name) {
        this.name = name;
    }

    public String name() {
        return name;
    }

    Category child(String childName) {
        Category child = new Category(childName);
        children.add(child);
        return child;
    }

    void add(Product product) {
        products.add(product);
    }

    /** Counts the products of this category and of all categories below it, recursively: one call for each. */
    public int countProducts() {
        Tally.count("countProducts");
        int count = products.size();
        for (Category child : children) {
            count += child.countProducts();
        }
        return count;
    }
}
