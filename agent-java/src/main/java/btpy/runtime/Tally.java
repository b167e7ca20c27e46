package btpy.runtime;

/**
 * What a probe counts for a map without touching it ({@link Probe#tally}), and what of it was taken, by stripe. Hits that the budget left
 * out are counted as they are, too: of a probe that does nothing but count, each of them is one that the map would have counted.
 */
final class Tally {
    private static final Memory MEMORY = Memory.instance();

    private final long[] counts;
    private final Probe probe;
    /** By stripe, then of the hits that were left out. */
    private final long[] taken = new long[Stripes.COUNT + 1];

    Tally(long[] counts, Probe probe) {
        this.counts = counts;
        this.probe = probe;
        taken[Stripes.COUNT] = probe.skipped(); // until now the hits that fired stood for these
    }

    /** {@code take}: it is in this sum and in none after it. */
    long sum(boolean take) {
        long sum = 0;
        for (int stripe = 0; stripe < taken.length; stripe++) {
            long offset = Memory.LONG_BASE + 8L * stripe;
            long before;
            long now;
            do {
                before = MEMORY.getLongVolatile(taken, offset); // first: what is counted is never less
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
