package btpy.runtime;

/**
 * The measured cost of the firings of one probe. A few firings are timed on the threads on which they run, with two
 * readings of the clock.
 *
 * <p>Durations are counted in buckets, which are an eighth wide. The time of a reading of the clock is subtracted. The
 * time of entering the handler, which cannot be timed from inside, is added. If a firing takes less than the resolution
 * of the clock, a run of repetitions is timed, and their mean counts as one duration. A duration has the weight of all
 * firings since the last timed firing. Otherwise slow firings would count too much in a probe that becomes hot: while
 * it fires rarely and slowly, a large part of its firings is timed; later, only a small part. A duration in which the
 * scheduler or the JVM stopped the thread says nothing about the probe. So durations above four times the 99th
 * percentile count as that value.
 */
final class Costs {
    /** The time of calling and entering the handler, before the first reading of the clock. */
    static final int WAY_IN_NANOS = 4;
    /** Costs are in ns, with this number of binary places after the point. */
    static final int FRACTION = 4;

    private static final Memory MEMORY = Memory.instance();
    private static final int PRECISION = 3;
    /** The stored bits of the mantissa of a double. */
    private static final int MANTISSA = 52;
    private static final int FEW_DURATIONS = 200;
    private static final int CALIBRATIONS = 30_000;

    /** The ns between two consecutive readings of the clock; 0 until it is measured. */
    private static long clock;

    /** A duration is below 2^40 ns, and the additions to it are small. */
    private static final int BUCKETS = 42 + FRACTION - PRECISION << PRECISION;

    /**
     * The indices after the buckets, which contain the weights of durations: the number of durations, and the sum of
     * squared weights.
     */
    private static final int DURATIONS = BUCKETS;
    private static final int SQUARES = BUCKETS + 1;

    private final long[] buckets = new long[BUCKETS + 2];
    private final long[] lastBuckets = new long[BUCKETS + 2];

    /** Statistics of a set of durations. */
    static final class Figures {
        final long count;
        final double mean;
        final long p99;
        /** One standard deviation of the mean. */
        final double error;

        private Figures(long count, double mean, long p99, double error) {
            this.count = count;
            this.mean = mean;
            this.p99 = p99;
            this.error = error;
        }
    }

    /** The time of one reading of the clock in ns. */
    static long clock() {
        return clock;
    }

    static final Figures NONE = new Figures(0, 0, 0, 0);

    /** The event thread calls this before any firing is timed. It measures the clock when the clock's code is compiled. */
    static void calibrate() {
        if (clock == 0) {
            long shortest = Long.MAX_VALUE;
            for (int i = 0; i < CALIBRATIONS; i++) {
                long duration = -System.nanoTime() + System.nanoTime();
                shortest = duration < shortest ? duration : shortest;
            }
            clock = Math.max(1, shortest);
        }
    }

    /**
     * Adds a duration in ns.
     *
     * @param readings the number of readings of the clock before it began
     * @param weight the number of firings that this timed one represents
     * @return the cost of the firing, with {@link #FRACTION}
     */
    long add(long duration, int readings, long weight) {
        return put((duration > clock ? duration - clock << FRACTION : 0)
                + (WAY_IN_NANOS + readings * clock << FRACTION), weight);
    }

    /**
     * Adds the duration of a run of firings. Each of them costs {@code wayIn} ns more, for entering the handler.
     * @return the cost of one firing
     */
    long addRun(long duration, int firings, int wayIn, int readings, long weight) {
        return put((duration > clock ? duration - clock << FRACTION : 0) / firings
                + (wayIn + readings * clock << FRACTION), weight);
    }

    private long put(long cost, long weight) {
        MEMORY.getAndAddLong(buckets, Memory.LONG_BASE + 8L * DURATIONS, 1);
        MEMORY.getAndAddLong(buckets, Memory.LONG_BASE + 8L * SQUARES, weight * weight);
        MEMORY.getAndAddLong(buckets, Memory.LONG_BASE + 8L * bucketOf(cost), weight);
        return cost;
    }

    /** Called by the event thread. Returns the statistics of all durations. */
    Figures all() {
        return figures(buckets);
    }

    /** Allocates an array in which {@link #recent} counts. All probes of a session share one array. */
    static long[] scratch() {
        return new long[BUCKETS + 2];
    }

    /** Called by the event thread. Returns the statistics of the durations since the last call. */
    Figures recent(long[] recent) {
        for (int i = 0; i < buckets.length; i++) {
            long count = MEMORY.getLongVolatile(buckets, Memory.LONG_BASE + 8L * i);
            recent[i] = count - lastBuckets[i];
            lastBuckets[i] = count;
        }
        return figures(recent);
    }

    private static Figures figures(long[] counts) {
        long count = counts[DURATIONS];
        long weights = 0;
        for (int i = 0; i < BUCKETS; i++) {
            weights += counts[i];
        }
        if (count <= 0 || weights == 0) { // there is no duration, or the first is just being added
            return NONE;
        }
        // the number of durations of equal weight that would give a mean of the same precision
        double effectiveCount = (double) weights * weights / Math.max(1, counts[SQUARES]);
        long p99 = quantile(counts, weights - weights / 100);
        long maxCost = effectiveCount < FEW_DURATIONS ? 16 * Math.max(1, quantile(counts, (weights + 1) / 2)) : 4 * p99;
        double sum = 0;
        double squares = 0;
        for (int i = 0; i < BUCKETS; i++) {
            double value = Math.min(middle(i), maxCost);
            sum += counts[i] * value;
            squares += counts[i] * value * value;
        }
        double mean = sum / weights;
        double variance = Math.max(0, squares / weights - mean * mean);
        double unit = 1 << FRACTION;
        return new Figures(count, mean / unit, Math.round(Math.min(p99, maxCost) / unit),
                Math.sqrt(variance / effectiveCount) / unit);
    }

    /** The largest value whose rank is at most {@code rank}. */
    private static long quantile(long[] counts, long rank) {
        long count = 0;
        for (int i = 0; i < BUCKETS; i++) {
            count += counts[i];
            if (count >= rank) {
                return (long) middle(i);
            }
        }
        return 0;
    }

    /**
     * The bucket of a cost: the exponent and the upper bits of the mantissa of the cost as a double, minus the same
     * number for the first bucket ({@code Long.numberOfLeadingZeros} is Java code and may be traced).
     */
    private static int bucketOf(long cost) {
        if (cost < 1L << PRECISION) {
            return (int) cost;
        }
        return (int) (Double.doubleToRawLongBits((double) cost) >>> MANTISSA - PRECISION) - (1022 + PRECISION << PRECISION);
    }

    private static double middle(int bucket) {
        int exponent = bucket >> PRECISION;
        if (exponent == 0) {
            return bucket;
        }
        long width = 1L << exponent - 1;
        return ((bucket & (1 << PRECISION) - 1) + (1 << PRECISION)) * (double) width + (width - 1) / 2.0;
    }
}
