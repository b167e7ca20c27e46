package btpy.agent;

/**
 * How many classes to retransform at once so that the application is not stopped for longer than the pause budget.
 *
 * <p>What a stop costs is a fixed part, which grows with the compiled code and the number of loaded classes, and a small share
 * for each class. Both are estimated from the stops that were measured: a line fitted to them, where older ones count less,
 * and all of them little while they are long, because then they scatter: the machine has other work.
 *
 * <p>The next batch is as large as the budget allows. Where the fixed part alone takes most of it, smaller batches would mean
 * more stops that are hardly shorter: half of the budget, or half of the fixed part, is left to the classes in any case.
 */
final class BatchSize {
    private static final int FIRST = 16;
    private static final int LARGEST = 1024;

    /** The most that a batch is larger than the one before: a few short stops do not make a reliable line. */
    private static final int GROWTH = 4;

    /** What is left of the weight of a measured stop when another one was measured. */
    private static final double FADING = 0.8;

    /** The share of a class on a machine of 2026 that is not busy, and the least. */
    private static final double SHARE_NANOS = 50_000;
    private static final double LEAST_SHARE_NANOS = 10_000;

    /** By how much the share may be mistaken. Stops after batches of one size say nothing about it: then it stays. */
    private static final double SHARE_DEVIATION = 500_000;

    /** By how much of its length a stop may differ from the line. */
    private static final double SCATTER = 0.3;

    private final double budgetNanos;
    private int next = FIRST;

    /** Weighted sums over the stops: of the weights, classes, their squares, nanoseconds, and products of the two. */
    private double weight;
    private double classes;
    private double classesSquared;
    private double nanos;
    private double products;
    private double perClass = SHARE_NANOS;

    BatchSize(int budgetMillis) {
        budgetNanos = Math.max(1, budgetMillis) * 1e6;
    }

    int next() {
        return next;
    }

    /** A batch of so many classes has stopped the application for so long. */
    void measured(int count, long stopNanos) {
        weight = weight * FADING + 1;
        classes = classes * FADING + count;
        classesSquared = classesSquared * FADING + (double) count * count;
        nanos = nanos * FADING + stopNanos;
        products = products * FADING + (double) count * stopNanos;
        double spread = classesSquared - classes * classes / weight;
        double together = products - classes * nanos / weight;
        double doubt = SCATTER * nanos / weight / SHARE_DEVIATION;
        double known = doubt * doubt;
        perClass = Math.max(LEAST_SHARE_NANOS, (together + known * perClass) / (spread + known));
        double fixed = Math.max(0, (nanos - perClass * classes) / weight);
        double wanted = Math.max(budgetNanos - fixed, Math.max(budgetNanos, fixed) / 2) / perClass;
        next = (int) Math.max(1, Math.min(wanted, Math.min(LARGEST, (double) next * GROWTH)));
    }
}
