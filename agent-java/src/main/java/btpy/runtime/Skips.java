package btpy.runtime;

/**
 * Hits of one probe that sampling or the budget did not look at, as a map that the probe writes to tells of them: since the map was flushed
 * or cleared last.
 */
final class Skips {
    final Probe probe;
    private long skippedBefore;
    private long restedBefore;

    Skips(Probe probe) {
        this.probe = probe;
    }

    /** Hits that were skipped so far are not reported again. */
    void take() {
        skippedBefore = probe.uncounted();
        restedBefore = probe.rested();
    }

    /**
     * Hits that were skipped, how many hits one that fired stood for at most, hits that no weight stands for, ns for which nothing was
     * looked at.
     *
     * @param take they are told of no more
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
