package com.acme.shop;

import java.util.concurrent.locks.ReentrantLock;

/** The single lock of the warehouse, which every order takes. */
public final class InventoryLock {
    private final ReentrantLock lock = new ReentrantLock();

    /** Waits until the warehouse is free. */
    public void acquire() {
        Tally.count("acquire");
        lock.lock();
    }

    public void release() {
        lock.unlock();
    }
}
