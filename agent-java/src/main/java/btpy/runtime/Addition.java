package btpy.runtime;

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
        return map == this.map && only != null && add(only, sample);
    }

    /** @return false when nothing was done */
    boolean add(int map, Object key, long sample) {
        if (map != this.map || only != null) {
            return false;
        }
        Entry entry = target.plain(key);
        return entry != null && add(entry, sample);
    }

    private boolean add(Entry entry, long sample) {
        int stripe = Stripes.owned();
        Cells own = stripe < 0 ? null : entry.own[stripe];
        if (own == null || !Probe.firesUntimed(counts, stripe)) {
            return false;
        }
        if (isCount) {
            Cells.bump(own.cells, Memory.LONG_BASE, 1, true);
        } else {
            target.add(entry, own, sample, 1);
        }
        return true;
    }
}
