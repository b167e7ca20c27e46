package btpy.runtime;

/**
 * The counter of a probe that a map reads. Firings that only count add to the counts of their probe, and do not use the
 * map ({@link Probe#tally}). This object stores the part that the map has taken. It also counts the hits that the
 * budget skips, one by one. Without the budget the map would have counted each of these hits, so the map stays exact.
 */
final class ProbeCounter {
    private static final Memory MEMORY = Memory.instance();

    private final long[] counts;
    private final Probe probe;
    /** The counts that were taken, by stripe. The last element is for skipped hits. */
    private final long[] takenCounts = new long[Stripes.COUNT + 1];

    ProbeCounter(long[] counts, Probe probe) {
        this.counts = counts;
        this.probe = probe;
        takenCounts[Stripes.COUNT] = probe.skipped(); // the weights of earlier firings include these hits
    }

    /** Returns the counts. With {@code take}, later sums do not include them. */
    long sum(boolean take) {
        long sum = 0;
        for (int stripe = 0; stripe < takenCounts.length; stripe++) {
            long offset = Memory.LONG_BASE + 8L * stripe;
            long takenCount;
            long count;
            do {
                // read the taken count first, because the counts never decrease
                takenCount = MEMORY.getLongVolatile(takenCounts, offset);
                count = stripe < Stripes.COUNT ? Probe.tallied(counts, stripe) : skippedHits(takenCount);
            } while (take && !MEMORY.compareAndSetLong(takenCounts, offset, takenCount, count));
            sum += count - takenCount;
        }
        return sum;
    }

    private long skippedHits(long takenCount) {
        return probe.countsSkipped() ? Math.max(takenCount, probe.skipped()) : takenCount;
    }
}
