package btpy.runtime;

import jdk.internal.vm.annotation.DontInline;

/**
 * The fast path of a probe whose firings only add to one map: a few loads from the site to the cells. It serves threads that own their
 * stripe, keys that are in the map, and firings that are not timed. Every other firing takes the slow path, which has the same effect.
 */
final class SumFastPath {
    private final int map;
    private final Aggregation target;
    /** The entry of a map without keys; null if the map has one key. */
    private final Entry onlyEntry;
    private final boolean isCount;
    /** The counts of the probe. */
    private final long[] counts;

    SumFastPath(int map, Aggregation target, Entry onlyEntry, boolean isCount, long[] counts) {
        this.map = map;
        this.target = target;
        this.onlyEntry = onlyEntry;
        this.isCount = isCount;
        this.counts = counts;
    }

    /** @return false if nothing was done */
    boolean add(int map, long sample) {
        return map == this.map && onlyEntry != null && add(onlyEntry, sample, 1);
    }

    /** @return false if nothing was done */
    boolean add(int map, Object key, long sample) {
        if (map != this.map || onlyEntry != null) {
            return false;
        }
        Entry entry = target.plainEntry(key);
        return entry != null && add(entry, sample, 1);
    }

    /**
     * Adds a sample. With {@code increment} 0 this method takes the same steps, but counts nothing and adds nothing to
     * a sum.
     */
    private boolean add(Entry entry, long sample, int increment) {
        int stripe = Stripes.owned();
        Cells ownCells = stripe < 0 ? null : entry.ownCells[stripe];
        if (ownCells == null || !Probe.firesUntimed(counts, stripe, increment)) {
            return false;
        }
        try {
            if (isCount) {
                Cells.bump(ownCells.cells, Memory.LONG_BASE, increment, true);
            } else {
                target.add(entry, ownCells, sample, increment);
            }
        } catch (Throwable interruption) {
            // Undoes the count of the firing, which is counted later together with the error. There is no call here,
            // because the stack may be at its end.
            counts[Probe.STRIDE + Probe.STRIDE * stripe + Probe.FIRED + Probe.OWN] -= increment;
            throw interruption;
        }
        return true;
    }

    /**
     * Times a firing that takes less than the resolution of the clock: repeats the work of the fast path some times,
     * without effect.
     *
     * @return false if firings of this thread do not take the fast path, or if repeating would change the map
     * (smallest and largest sample)
     */
    @DontInline
    boolean time(Probe probe, Object key, long sample, int readings) {
        if (!target.shape.isSum()) {
            return false;
        }
        int firings = probe.runLength();
        long began = System.nanoTime();
        for (int i = 0; i < firings; i++) {
            Entry entry = onlyEntry != null ? onlyEntry : target.plainEntry(key);
            if (entry == null || !add(entry, sample, 0)) {
                return false;
            }
        }
        probe.endRuns(System.nanoTime() - began, firings, 0, readings);
        return true;
    }
}
