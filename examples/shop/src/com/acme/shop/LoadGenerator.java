package com.acme.shop;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Simulates shoppers. In every run with the same seed the n-th request is the same, however the threads are scheduled.
 * So two runs have the same counts.
 */
final class LoadGenerator {
    static final String[] CUSTOMERS = {"ada", "ben", "cleo", "dora", "emil", "mia", "max"};
    private static final String[] CATEGORIES = {"home", "living", "kitchen", "seats", "lights", "tea", "garden"};

    private final int port;
    private final Random random;
    private final int products;
    private final double rate;
    private final long limit;
    private long made;
    private long dueNanos;

    /** {@code rate}: requests a second, 0 for as many as possible; {@code limit}: the number of requests. */
    LoadGenerator(int port, int products, long seed, double rate, long limit) {
        this.port = port;
        this.products = products;
        this.random = new Random(seed);
        this.rate = rate;
        this.limit = limit;
    }

    /** Runs until {@code limit} requests are answered. */
    void run(int shoppers) throws InterruptedException {
        dueNanos = System.nanoTime();
        Thread[] threads = new Thread[shoppers];
        for (int i = 0; i < shoppers; i++) {
            threads[i] = new Thread(this::shop, "shopper-" + (i + 1));
            threads[i].setDaemon(true);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private void shop() {
        String target;
        while ((target = next()) != null) {
            try {
                request(target);
                Tally.count("answered");
            } catch (IOException e) {
                Tally.count("failed");
            }
        }
    }

    /** Returns the next request when it is due; null when there are no more. */
    private String next() {
        String target;
        long due;
        synchronized (this) {
            if (made == limit) {
                return null;
            }
            made++;
            target = target();
            if (rate > 0) {
                dueNanos += (long) (TimeUnit.SECONDS.toNanos(1) / rate);
            }
            due = dueNanos;
        }
        long wait;
        while ((wait = due - System.nanoTime()) > 0) {
            LockSupport.parkNanos(wait);
        }
        return target;
    }

    private String target() {
        int roll = random.nextInt(100);
        if (roll < 40) {
            return "/quote?sku=" + sku() + "&quantity=" + (1 + random.nextInt(12));
        }
        if (roll < 75) {
            StringBuilder items = new StringBuilder();
            int lines = 1 + random.nextInt(3);
            for (int i = 0; i < lines; i++) {
                items.append(i == 0 ? "" : ",").append(sku()).append(':').append(1 + random.nextInt(9));
            }
            return "/order?customer=" + CUSTOMERS[random.nextInt(CUSTOMERS.length)] + "&items=" + items;
        }
        if (roll < 85) {
            return "/count?category=" + CATEGORIES[random.nextInt(CATEGORIES.length)];
        }
        if (roll < 95) {
            return "/promotion?cents=" + (random.nextInt(1000) - 100);
        }
        return "/orders?id=" + -(1 + random.nextInt(9));
    }

    /** Returns an article number; about one in thirty does not exist. */
    private String sku() {
        return Catalog.sku(random.nextInt(products + products / 30 + 1));
    }

    private void request(String target) throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            String text = "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
            socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
            InputStream in = socket.getInputStream();
            byte[] buffer = new byte[1024];
            while (in.read(buffer) >= 0) {
                // only the end of the answer matters
            }
        }
    }
}
