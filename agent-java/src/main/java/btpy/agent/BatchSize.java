package btpy.agent;

/**
 * How many classes to retransform at once so that the application is not stopped for longer than the pause budget.
 *
 * <p>What a stop costs is a fixed part, which grows with the compiled code and the number of loaded classes, and a small share
 * for each class. On a machine that has other work it may take longer than that, by any time, but not less: so the short stops tell
 * what stopping costs. Both parts are those of a line with few of the last stops below it (quantile regression, Koenker and Bassett
 * 1978), and that line goes through two of them. It has to be clearly better than one with the share that is assumed: where stops
 * scatter, some line always fits a little better, and says nothing. What is assumed is the share as it was found last; it is moved towards what is usual
 * each time, so that a size at which nothing is learned any more is left again.
 *
 * <p>The next batch is as large as the budget allows. Where the fixed part alone takes most of it, smaller batches would mean
 * more stops that are hardly shorter: half of the budget, or half of what most stops take apart from the classes, is left to these
 * in any case.
 */
final class BatchSize {
    private static final int FIRST = 16;
    private static final int LARGEST = 1024;

    /** By how much a batch may be larger or smaller than the one before: a few stops do not make a reliable line. */
    private static final int GROWTH = 4;
    private static final int SHRINKING = 2;

    /** Stops that are remembered, and what is left of the weight of one when another was measured. */
    private static final int WINDOW = 16;
    private static final double FADING = 0.9;

    /** The part of the stops that is below the line. */
    private static final double BELOW = 0.15;

    /** The share of a class on a machine of 2026 that is not busy, and the least. */
    private static final double SHARE_NANOS = 50_000;
    private static final double LEAST_SHARE_NANOS = 10_000;

    /**
     * How much better than the line with the assumed share another has to be. Its misfit begins with that of so many classes for which the
     * shares differ: more of them while few stops are known.
     */
    private static final double BETTER = 0.8;
    private static final double DIFFERING_CLASSES = 2;
    private static final double DIFFERING_CLASSES_FIRST = 6;
    private static final int FEW = 4;
    private static final double TOWARDS_USUAL = 0.05;

    /** While few stops are known, one that is over the budget and so many times as long as the shortest lets batches grow no further. */
    private static final double MUCH_LONGER = 1.5;

    private final double budgetNanos;
    private final int[] counts = new int[WINDOW];
    private final double[] stops = new double[WINDOW];
    private int measured;
    private int next = FIRST;
    private double assumed = SHARE_NANOS;
    private double fixed;
    private double share;

    BatchSize(int budgetMillis) {
        budgetNanos = Math.max(1, budgetMillis) * 1e6;
    }

    int next() {
        return next;
    }

    /** A batch of so many classes has stopped the application for so long. */
    void measured(int count, long stopNanos) {
        counts[measured % WINDOW] = count;
        stops[measured % WINDOW] = stopNanos;
        measured++;
        fit();
        assumed = share + (SHARE_NANOS - share) * TOWARDS_USUAL;
        double wanted = Math.max(budgetNanos - fixed, Math.max(budgetNanos, usualFixed()) / 2) / share;
        double most = Math.min(LARGEST, (double) next * (isDoubtful(stopNanos) ? 1 : GROWTH));
        next = (int) Math.max(1, Math.max((double) next / SHRINKING, Math.min(wanted, most)));
    }

    private boolean isDoubtful(long stopNanos) {
        double shortest = stopNanos;
        for (int i = 0; i < known(); i++) {
            shortest = Math.min(shortest, stops[i]);
        }
        return measured < FEW && stopNanos > Math.max(budgetNanos, MUCH_LONGER * shortest);
    }

    private int known() {
        return Math.min(measured, WINDOW);
    }

    private void fit() {
        double least = Double.MAX_VALUE;
        for (int i = 0; i < known(); i++) {
            least = lineThrough(i, assumed, least);
        }
        least *= BETTER;
        for (int i = 0; i < known(); i++) {
            for (int j = 0; j < i; j++) {
                if (counts[i] == counts[j]) {
                    continue;
                }
                double slope = Math.max(LEAST_SHARE_NANOS, (stops[j] - stops[i]) / (counts[j] - counts[i]));
                least = lineThrough(i, slope, least);
            }
        }
    }

    /** Takes the line of this slope through a stop if its misfit is below {@code least}. @return the least misfit then */
    private double lineThrough(int stop, double slope, double least) {
        double start = Math.max(0, stops[stop] - slope * counts[stop]);
        double misfit = misfit(start, slope);
        if (misfit >= least) {
            return least;
        }
        fixed = start;
        share = slope;
        return misfit;
    }

    private double misfit(double start, double slope) {
        double sum = (measured < FEW ? DIFFERING_CLASSES_FIRST : DIFFERING_CLASSES) * Math.abs(slope - assumed);
        double weight = 1;
        for (int age = 1; age <= known(); age++) {
            int at = (measured - age) % WINDOW;
            double above = stops[at] - start - slope * counts[at];
            sum += weight * (above > 0 ? BELOW * above : (BELOW - 1) * above);
            weight *= FADING;
        }
        return sum;
    }

    /** The median of the fixed part of the stops, without the share of the classes. */
    private double usualFixed() {
        double[] sorted = new double[known()];
        for (int i = 0; i < sorted.length; i++) {
            double rest = Math.max(0, stops[i] - share * counts[i]);
            int at = i;
            for (; at > 0 && sorted[at - 1] > rest; at--) {
                sorted[at] = sorted[at - 1];
            }
            sorted[at] = rest;
        }
        return sorted[sorted.length / 2];
    }
}
