package com.acme.shop;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/** The reserved pieces of each product. */
public final class Inventory {
    private final Catalog catalog;
    private final InventoryLock lock = new InventoryLock();
    private final Map<String, Integer> reserved = new HashMap<>();
    private long reservedPieces;

    public Inventory(Catalog catalog) {
        this.catalog = catalog;
    }

    /** Reserves pieces, and returns the total number of reserved pieces of that product. */
    public int reserve(String sku, int quantity) {
        Tally.count("reserve");
        lock.acquire();
        try {
            if (catalog.find(sku).discontinued) {
                Tally.count("reserve!OutOfStockException");
                throw new OutOfStockException(sku);
            }
            LockSupport.parkNanos(200_000L); // simulates slow work while the lock is held
            reservedPieces += quantity;
            return reserved.merge(sku, quantity, Integer::sum);
        } finally {
            lock.release();
        }
    }

    public long reservedPieces() {
        lock.acquire();
        try {
            return reservedPieces;
        } finally {
            lock.release();
        }
    }
}
