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
        restedBefore = probe.rested();
    }

    /**
     * Writes the number of skipped hits, the largest number of hits for which a firing stood, the hits that no weight
     * represents, and the ns in which the probe was resting.
     *
     * @param take whether later reports exclude them
     */
    static void write(Skips[] all, boolean take, Output out) {
        long skipped = 0;
        long factor = 1;
        long pending = 0;
        long rested = 0;
        for (Skips of : all) {
            long now = of.probe.uncounted();
            if (now > of.skippedBefore) {
                skipped += now - of.skippedBefore;
                factor = Math.max(factor, of.probe.largestFactor());
                pending += of.probe.pending();
            }
            rested = Math.max(rested, of.probe.rested() - of.restedBefore);
            if (take) {
                of.take();
            }
        }
        out.u8(skipped);
        out.u4((int) Math.min(Integer.MAX_VALUE, factor));
        out.u8(pending);
        out.u8(rested);
    }
}
