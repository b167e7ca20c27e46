package btpy.runtime;

/**
 * The counter of a probe that a map reads: firings that only count add to the counts of their probe, and do not touch the map
 * ({@link Probe#tally}). It remembers how much the map has taken. It also counts the hits that the budget skips, one by one, because the
 * map would have counted each of them: so the map stays exact.
 */
final class ProbeCounter {
    private static final Memory MEMORY = Memory.instance();

    private final long[] counts;
    private final Probe probe;
    /** How much was taken, by stripe; the last element is for skipped hits. */
    private final long[] taken = new long[Stripes.COUNT + 1];

    ProbeCounter(long[] counts, Probe probe) {
        this.counts = counts;
        this.probe = probe;
        taken[Stripes.COUNT] = probe.skipped(); // weights of firings stood for these until now
    }

    /** With {@code take} the counts are in this sum and in no later one. */
    long sum(boolean take) {
        long sum = 0;
        for (int stripe = 0; stripe < taken.length; stripe++) {
            long offset = Memory.LONG_BASE + 8L * stripe;
            long before;
            long now;
            do {
                before = MEMORY.getLongVolatile(taken, offset); // read first: the counts never decrease
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
