package com.acme.shop;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** Counts of the shop itself, with which tests compare the counts of a tracer. */
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
