package btpy.runtime;

/**
 * Sums of the weights above 1 in an entry, from which the client computes the error of the value. An entry has them
 * only if it has samples with such weights.
 */
final class Weights {
    static final int COUNT = 5;

    private static final Memory MEMORY = Memory.instance();
    private static final long WEIGHTS = MEMORY.fieldOffset(Entry.class, "weights");
    /** The number of samples with a weight above 1. */
    private static final int SAMPLES = 0;
    /** The sum of their weights. */
    private static final int HITS = 1;
    // Three sums, stored as doubles: weight × (weight − 1), this product × the sample, this product × the square of the
    // sample.
    private static final int SPREAD = 2;
    private static final int FIRST_MOMENT = 3;
    private static final int SECOND_MOMENT = 4;

    private Weights() {}

    /**
     * Adds a sample with a weight above 1.
     *
     * @return whether this was the first such sample, for which memory was allocated
     */
    static boolean add(Entry entry, double sample, long weight) {
        long[] weights = entry.weights;
        boolean isFirst = weights == null;
        if (isFirst) {
            MEMORY.compareAndSetReference(entry, WEIGHTS, null, new long[COUNT]);
            weights = (long[]) MEMORY.getReferenceVolatile(entry, WEIGHTS);
        }
        double spread = (double) weight * (weight - 1);
        Cells.bump(weights, offset(SAMPLES), 1, false);
        Cells.bump(weights, offset(HITS), weight, false);
        Cells.add(weights, offset(SPREAD), spread);
        Cells.add(weights, offset(FIRST_MOMENT), spread * sample);
        Cells.add(weights, offset(SECOND_MOMENT), spread * sample * sample);
        return isFirst;
    }

    /** Adds the weights of the entry to the sums. With {@code take}, resets the weights of the entry. */
    static void merge(Entry entry, long[] sums, boolean take) {
        long[] weights = (long[]) MEMORY.getReferenceVolatile(entry, WEIGHTS);
        for (int i = 0; weights != null && i < COUNT; i++) {
            sums[i] = Cells.merge(i < SPREAD ? 'n' : 'D', sums[i], Cells.read(weights, i, 0, take));
        }
    }

    private static long offset(int index) {
        return Memory.LONG_BASE + 8L * index;
    }
}
