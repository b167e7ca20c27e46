package btpy.runtime;

import jdk.internal.vm.annotation.DontInline;

/**
 * The short way of a probe whose firings do nothing but add to one map: few steps from the site to the cells, for threads that own their
 * stripe, keys that are there, and firings that are not timed. What cannot go it goes the long way, which does the same.
 */
final class Addition {
    private final int map;
    private final Aggregation target;
    /** Of a map without keys; null: the map has one key. */
    private final Entry only;
    private final boolean isCount;
    /** Of the probe. */
    private final long[] counts;

    Addition(int map, Aggregation target, Entry only, boolean isCount, long[] counts) {
        this.map = map;
        this.target = target;
        this.only = only;
        this.isCount = isCount;
        this.counts = counts;
    }

    /** @return false when nothing was done */
    boolean add(int map, long sample) {
        return map == this.map && only != null && add(only, sample, 1);
    }

    /** @return false when nothing was done */
    boolean add(int map, Object key, long sample) {
        if (map != this.map || only != null) {
            return false;
        }
        Entry entry = target.plain(key);
        return entry != null && add(entry, sample, 1);
    }

    /** {@code one}: 0 where nothing is to be counted, nor added to a sum. */
    private boolean add(Entry entry, long sample, int one) {
        int stripe = Stripes.owned();
        Cells own = stripe < 0 ? null : entry.own[stripe];
        if (own == null || !Probe.firesUntimed(counts, stripe, one)) {
            return false;
        }
        try {
            if (isCount) {
                Cells.bump(own.cells, Memory.LONG_BASE, one, true);
            } else {
                target.add(entry, own, sample, one);
            }
        } catch (Throwable interruption) {
            // Counted with the error instead. No call: the stack may be at its end.
            counts[Probe.STRIDE + Probe.STRIDE * stripe + Probe.FIRED + Probe.OWN] -= one;
            throw interruption;
        }
        return true;
    }

    /**
     * A firing was to be timed, and takes less than the clock tells: what this does of it is done again some times, without effect.
     *
     * @return false when firings of this thread do not go this way, or would leave something behind (the least and the greatest sample)
     */
    @DontInline
    boolean time(Probe probe, Object key, long sample, int readings) {
        if (!target.shape.isSum()) {
            return false;
        }
        int firings = probe.runLength();
        long began = System.nanoTime();
        for (int i = 0; i < firings; i++) {
            Entry entry = only != null ? only : target.plain(key);
            if (entry == null || !add(entry, sample, 0)) {
                return false;
            }
        }
        probe.tookRun(System.nanoTime() - began, firings, 0, readings);
        return true;
    }
}
