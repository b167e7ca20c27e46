package btpy.runtime;

import java.util.HashMap;

/**
 * The last results of {@code rate(@m)}, by map and probe. Only agent threads use it. A timer that asks twice in one
 * firing gets the same answer.
 */
final class Rates {
    private static final long SAME_FIRING_NANOS = 1_000_000L;

    private static final class Reading {
        double total;
        long nanos;
        double rate;
    }

    private final HashMap<Long, Reading> readings = new HashMap<Long, Reading>();

    double of(int map, int probe, double total, long started, long now) {
        Long key = (long) map << 32 | probe;
        Reading lastReading = readings.get(key);
        if (lastReading == null) {
            lastReading = new Reading();
            lastReading.nanos = started;
            readings.put(key, lastReading);
        }
        if (now - lastReading.nanos >= SAME_FIRING_NANOS) {
            double perSecond = Math.max(0, total - lastReading.total) * 1e9 / (now - lastReading.nanos);
            lastReading.rate = Math.round(perSecond * 100) / 100.0; // more digits would not be significant
            lastReading.total = total;
            lastReading.nanos = now;
        }
        return lastReading.rate;
    }
}
