package btpy.runtime;

/**
 * The counter of a probe that a map reads. Firings that only count add to the counts of their probe, and do not use the
 * map ({@link Probe#tally}). This object stores the part that the map has taken. It also counts the hits that the
 * budget skips, one by one. The map would have counted each of them, so it stays exact.
 */
final class ProbeCounter {
    private static final Memory MEMORY = Memory.instance();

    private final long[] counts;
    private final Probe probe;
    /** The counts that were taken, by stripe. The last element is for skipped hits. */
    private final long[] taken = new long[Stripes.COUNT + 1];

    ProbeCounter(long[] counts, Probe probe) {
        this.counts = counts;
        this.probe = probe;
        taken[Stripes.COUNT] = probe.skipped(); // until now the weights of firings included these
    }

    /** Returns the counts. With {@code take}, later sums do not include them. */
    long sum(boolean take) {
        long sum = 0;
        for (int stripe = 0; stripe < taken.length; stripe++) {
            long offset = Memory.LONG_BASE + 8L * stripe;
            long before;
            long now;
            do {
                before = MEMORY.getLongVolatile(taken, offset); // read this first, because the counts never decrease
                now = stripe < Stripes.COUNT ? Probe.tallied(counts, stripe) : leftOut(before);
            } while (take && !MEMORY.compareAndSetLong(taken, offset, before, now));
            sum += now - before;
        }
        return sum;
    }

    private long leftOut(long before) {
        return probe.countsSkipped() ? Math.max(before, probe.skipped()) : before;
    }
}
