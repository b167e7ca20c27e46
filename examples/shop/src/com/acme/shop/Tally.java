package com.acme.shop;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** What the shop counts about itself, so that what a tracer sees can be compared with the truth. */
public final class Tally {
    private static final Map<String, LongAdder> COUNTS = new ConcurrentHashMap<>();

    private Tally() {}

    public static void count(String what) {
        COUNTS.computeIfAbsent(what, unused -> new LongAdder()).increment();
    }

    /** {@code counts a=1 b=2 …}, in alphabetical order. */
    static String line() {
        StringBuilder text = new StringBuilder("counts");
        new TreeMap<>(COUNTS).forEach((what, count) -> text.append(' ').append(what).append('=').append(count));
        return text.toString();
    }
}
