package btpy.agent;

/**
 * Chooses the number of classes to retransform at once, so that the application is not stopped for longer than the
 * pause budget.
 *
 * <p>A stop has a fixed cost, which grows with the compiled code and the number of loaded classes, and a small cost for
 * each class. On a busy machine a stop may take any time longer, but never less. So the short stops show the cost of
 * stopping. Both parts come from a line through two of the last stops, with few stops below it (quantile regression, Koenker and Bassett
 * 1978). It must be clearly better than the line with the assumed cost of a class. If stops vary, some line always fits a little better by
 * chance. The assumed cost is the last result. Each time it is moved towards the usual value, so that the size changes again if nothing
 * more can be learned at the current size.
 *
 * <p>The next batch is as large as the budget allows. If the fixed cost alone uses most of the budget, smaller batches
 * would cause more stops that are hardly shorter. So the classes always get at least half of the budget, or half of the
 * usual fixed cost.
 */
final class BatchSize {
    private static final int FIRST = 16;
    private static final int LARGEST = 1024;

    /** The largest factor between a batch and the one before, because a line through few stops is not reliable. */
    private static final int GROWTH = 4;
    private static final int SHRINKING = 2;

    /** The number of stored stops, and the factor by which each new stop reduces the weight of older ones. */
    private static final int WINDOW = 16;
    private static final double FADING = 0.9;

    /** The part of the stops that is below the line. */
    private static final double BELOW = 0.15;

    /** The cost of a class on an idle machine of 2026, and the smallest cost. */
    private static final double SHARE_NANOS = 50_000;
    private static final double LEAST_SHARE_NANOS = 10_000;

    /**
     * The margin by which another line must be better than the line with the assumed cost. The misfit of the other line
     * starts at the misfit of this number of classes with different costs. The number is larger while few stops are
     * known.
     */
    private static final double BETTER = 0.8;
    private static final double DIFFERING_CLASSES = 2;
    private static final double DIFFERING_CLASSES_FIRST = 6;
    private static final int FEW = 4;
    private static final double TOWARDS_USUAL = 0.05;

    /**
     * While few stops are known, batches do not grow after a stop that exceeds the budget and is this many times as
     * long as the shortest.
     */
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

    /** Adds a stop: the number of classes and the time for which the application was stopped. */
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

    /** The median of the fixed part of the stops, without the cost of the classes. */
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
