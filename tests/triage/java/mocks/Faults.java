package com.acme.mocks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.logging.Level;

/** The faults of the extension. The slow service and the expensive pattern are in the mappings of WireMock. */
final class Faults {
    private static final int MOST_POOLS = 1500;

    private final String fault;
    private final Path directory;
    private final Prices prices;
    private final ReentrantLock lock = new ReentrantLock();
    private final Object index = new Object();
    private final Object names = new Object();
    private final AtomicBoolean deadlocked = new AtomicBoolean();
    private final AtomicInteger lost = new AtomicInteger();
    private final AtomicInteger pools = new AtomicInteger();
    private final ThreadPoolExecutor exporters =
            new ThreadPoolExecutor(2, 2, 1, TimeUnit.MINUTES, new ArrayBlockingQueue<>(4));
    private volatile Object allocated;

    Faults(String fault, Path directory, Prices prices) {
        this.fault = fault;
        this.directory = directory;
        this.prices = prices;
    }

    /** Causes the fault in a request. */
    void cause(int id) {
        switch (fault) {
            case "lock": lock(); break;
            case "deadlock": deadlock(); break;
            case "commonPool": CompletableFuture.runAsync(() -> pause(30)).join(); break;
            case "names": names(); break;
            case "retries": retries(id); break;
            case "force": force(); break;
            case "threads": threads(id); break;
            case "allocations": allocations(); break;
            case "rejected": rejected(); break;
            case "logging": logging(id); break;
            default: break;
        }
    }

    private static void pause(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void lock() {
        lock.lock();
        try {
            pause(20);
        } finally {
            lock.unlock();
        }
    }

    /** Two threads take the same two locks in another order. */
    private void deadlock() {
        if (deadlocked.compareAndSet(false, true)) {
            CyclicBarrier both = new CyclicBarrier(2);
            new Thread(() -> take(index, names, both), "indexer").start();
            new Thread(() -> take(names, index, both), "renamer").start();
        }
    }

    private void take(Object first, Object second, CyclicBarrier both) {
        synchronized (first) {
            try {
                both.await();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
            synchronized (second) {
                lost.incrementAndGet();
            }
        }
    }

    private void names() {
        for (int i = 0; i < 5; i++) {
            try {
                allocated = InetAddress.getByName("prices-" + System.nanoTime() + ".invalid");
            } catch (UnknownHostException e) {
                lost.incrementAndGet();
            }
        }
    }

    private void retries(int id) {
        for (int attempt = 0; attempt < 3; attempt++) {
            if (prices.ask("/unsteady/" + id) != null) {
                return;
            }
        }
    }

    private void force() {
        try (FileChannel journal = FileChannel.open(
                directory.resolve("journal"), StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
            for (int i = 0; i < 5; i++) {
                journal.write(ByteBuffer.allocate(8192));
                journal.force(true);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A thread pool for each request, which nothing shuts down. */
    private void threads(int id) {
        if (id % 5 == 0 && pools.incrementAndGet() < MOST_POOLS) {
            Executors.newFixedThreadPool(1).execute(() -> pause(1));
        }
    }

    private void allocations() {
        for (int i = 0; i < 64; i++) {
            allocated = new byte[64 * 1024];
        }
    }

    private void rejected() {
        for (int i = 0; i < 8; i++) {
            try {
                exporters.execute(() -> pause(10));
            } catch (RejectedExecutionException e) {
                lost.incrementAndGet();
            }
        }
    }

    private void logging(int id) {
        for (int i = 0; i < 40; i++) {
            Prices.LOG.log(Level.WARNING, "order {0} has no discount for line {1}", new Object[] {id, i});
        }
    }
}
