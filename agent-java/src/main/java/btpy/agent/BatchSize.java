package btpy.agent;

/**
 * Chooses the number of classes to retransform at once, so that the application is not stopped for longer than the
 * pause budget.
 *
 * <p>A stop has a fixed cost, which grows with the compiled code and the number of loaded classes, and a small cost for
 * each class. A busy machine makes a stop longer, but never shorter. So the short stops show the cost of stopping. The
 * two parts of the cost come from a line through two of the last stops, with few stops below it (quantile regression,
 * Koenker and Bassett 1978). This line must fit clearly better than the line with the assumed cost of a class, because
 * some line always fits a little better by chance. The assumed cost is the result after the last stop, moved a little
 * towards the usual value. So the size changes again if nothing more can be learned at the current size.
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
    private static final double DECAY = 0.9;

    /** The part of the stops that is below the line. */
    private static final double PART_BELOW = 0.15;

    /** The cost of a class on an idle machine of 2026, and the smallest cost. */
    private static final double SHARE_NANOS = 50_000;
    private static final double LEAST_SHARE_NANOS = 10_000;

    /**
     * The margin by which another line must be better than the line with the assumed cost. The misfit of the other line
     * also includes the difference between the two costs of a class, times this number of classes. The number is larger
     * while few stops are known.
     */
    private static final double MARGIN = 0.8;
    private static final double MISFIT_CLASSES = 2;
    private static final double MISFIT_CLASSES_FIRST = 6;
    private static final int FEW_STOPS = 4;
    private static final double SHIFT_TO_USUAL = 0.05;

    /**
     * While few stops are known, batches do not grow after a stop that exceeds the budget and is this many times as
     * long as the shortest.
     */
    private static final double LONG_STOP_FACTOR = 1.5;

    private final double budgetNanos;
    private final int[] counts = new int[WINDOW];
    private final double[] stops = new double[WINDOW];
    private int stopCount;
    private int next = FIRST;
    private double assumedShare = SHARE_NANOS;
    private double fixedNanos;
    private double shareNanos;

    BatchSize(int budgetMillis) {
        budgetNanos = Math.max(1, budgetMillis) * 1e6;
    }

    int next() {
        return next;
    }

    /** Adds a stop: the number of classes and the time for which the application was stopped. */
    void add(int count, long stopNanos) {
        counts[stopCount % WINDOW] = count;
        stops[stopCount % WINDOW] = stopNanos;
        stopCount++;
        fit();
        assumedShare = shareNanos + (SHARE_NANOS - shareNanos) * SHIFT_TO_USUAL;
        double affordable =
                Math.max(budgetNanos - fixedNanos, Math.max(budgetNanos, medianFixedNanos()) / 2) / shareNanos;
        double limit = Math.min(LARGEST, (double) next * (isDoubtful(stopNanos) ? 1 : GROWTH));
        next = (int) Math.max(1, Math.max((double) next / SHRINKING, Math.min(affordable, limit)));
    }

    private boolean isDoubtful(long stopNanos) {
        double shortest = stopNanos;
        for (int i = 0; i < storedStops(); i++) {
            shortest = Math.min(shortest, stops[i]);
        }
        return stopCount < FEW_STOPS && stopNanos > Math.max(budgetNanos, LONG_STOP_FACTOR * shortest);
    }

    private int storedStops() {
        return Math.min(stopCount, WINDOW);
    }

    private void fit() {
        double smallestMisfit = Double.MAX_VALUE;
        for (int i = 0; i < storedStops(); i++) {
            smallestMisfit = lineThrough(i, assumedShare, smallestMisfit);
        }
        smallestMisfit *= MARGIN;
        for (int i = 0; i < storedStops(); i++) {
            for (int j = 0; j < i; j++) {
                if (counts[i] == counts[j]) {
                    continue;
                }
                double slope = Math.max(LEAST_SHARE_NANOS, (stops[j] - stops[i]) / (counts[j] - counts[i]));
                smallestMisfit = lineThrough(i, slope, smallestMisfit);
            }
        }
    }

    /**
     * Chooses the line with this slope through a stop if its misfit is below {@code smallestMisfit}.
     *
     * @return the smallest misfit so far
     */
    private double lineThrough(int stop, double slope, double smallestMisfit) {
        double start = Math.max(0, stops[stop] - slope * counts[stop]);
        double misfit = misfit(start, slope);
        if (misfit >= smallestMisfit) {
            return smallestMisfit;
        }
        fixedNanos = start;
        shareNanos = slope;
        return misfit;
    }

    private double misfit(double start, double slope) {
        double sum = (stopCount < FEW_STOPS ? MISFIT_CLASSES_FIRST : MISFIT_CLASSES) * Math.abs(slope - assumedShare);
        double weight = 1;
        for (int age = 1; age <= storedStops(); age++) {
            int at = (stopCount - age) % WINDOW;
            double excess = stops[at] - start - slope * counts[at];
            sum += weight * (excess > 0 ? PART_BELOW * excess : (PART_BELOW - 1) * excess);
            weight *= DECAY;
        }
        return sum;
    }

    /** The median of the fixed part of the stops, without the cost of the classes. */
    private double medianFixedNanos() {
        double[] fixedParts = new double[storedStops()];
        for (int i = 0; i < fixedParts.length; i++) {
            double fixedPart = Math.max(0, stops[i] - shareNanos * counts[i]);
            int at = i;
            for (; at > 0 && fixedParts[at - 1] > fixedPart; at--) {
                fixedParts[at] = fixedParts[at - 1];
            }
            fixedParts[at] = fixedPart;
        }
        return fixedParts[fixedParts.length / 2];
    }
}
