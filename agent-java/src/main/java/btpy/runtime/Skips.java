package btpy.runtime;

/**
 * The hits of one probe that sampling or the budget skipped since the map was last flushed or cleared, for a map to
 * which the probe writes.
 */
final class Skips {
    final Probe probe;
    private long skippedBefore;
    private long restedBefore;

    Skips(Probe probe) {
        this.probe = probe;
    }

    /** Excludes the hits skipped so far from later reports. */
    void take() {
        skippedBefore = probe.uncounted();
        restedBefore = probe.restedNanos();
    }

    /**
     * Writes the number of skipped hits, the largest number of hits for which a firing stood, the hits that no weight
     * represents, and the ns in which the probe was resting.
     *
     * @param take whether later reports exclude them
     */
    static void write(Skips[] all, boolean take, Output out) {
        long skippedHits = 0;
        long factor = 1;
        long pendingHits = 0;
        long restedNanos = 0;
        for (Skips probeSkips : all) {
            long uncounted = probeSkips.probe.uncounted();
            if (uncounted > probeSkips.skippedBefore) {
                skippedHits += uncounted - probeSkips.skippedBefore;
                factor = Math.max(factor, probeSkips.probe.largestFactor());
                pendingHits += probeSkips.probe.pending();
            }
            restedNanos = Math.max(restedNanos, probeSkips.probe.restedNanos() - probeSkips.restedBefore);
            if (take) {
                probeSkips.take();
            }
        }
        out.u8(skippedHits);
        out.u4((int) Math.min(Integer.MAX_VALUE, factor));
        out.u8(pendingHits);
        out.u8(restedNanos);
    }
}
