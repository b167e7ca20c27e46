package btpy.runtime;

/** What a probe counts for a map without touching it ({@link Probe#tally}), and what of it was taken, by stripe. */
final class Tally {
    private static final Memory MEMORY = Memory.instance();

    private final long[] counts;
    private final long[] taken = new long[Stripes.COUNT];

    Tally(long[] counts) {
        this.counts = counts;
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
                now = Probe.tallied(counts, stripe);
            } while (take && !MEMORY.compareAndSetLong(taken, offset, before, now));
            sum += now - before;
        }
        return sum;
    }
}
