package btpy.runtime;

/**
 * The measured cost of the firings of one probe. A few firings are timed on the threads that they run on, with two readings of the clock.
 *
 * <p>Durations go into buckets (an eighth wide). The time of a reading of the clock is subtracted, and the time of entering the handler is
 * added, which cannot be timed from inside. A firing that takes less than the resolution of the clock is timed in a run of repetitions,
 * which counts as one duration of each. A duration has the weight of all firings since the last timed one: a hot probe has few timed
 * firings among many fast ones, beside many timed firings among the few slow ones before. A duration during which the scheduler stopped
 * the thread, or the JVM stopped, says nothing of the probe: durations above four times the 99th percentile count as that value.
 */
final class Costs {
    /** The time of calling and entering the handler, which come before the first reading of the clock. */
    static final int WAY_IN_NANOS = 4;
    /** Costs have this many binary places below the ns. */
    static final int FRACTION = 4;

    private static final Memory MEMORY = Memory.instance();
    private static final int PRECISION = 3;
    private static final int FEW = 200;
    private static final int CALIBRATIONS = 30_000;

    /** ns between two readings of the clock in a row; 0: not known yet. */
    private static long clock;

    /** A duration is below 2^40 ns, and little is added to it. */
    private static final int BUCKETS = 42 + FRACTION - PRECISION << PRECISION;

    /** Behind the buckets, which hold the weights of their durations: the number of durations, and the sum of the squared weights. */
    private static final int DURATIONS = BUCKETS;
    private static final int SQUARES = BUCKETS + 1;

    private final long[] buckets = new long[BUCKETS + 2];
    private final long[] seen = new long[BUCKETS + 2];

    /** Figures of a set of durations. */
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
            long least = Long.MAX_VALUE;
            for (int i = 0; i < CALIBRATIONS; i++) {
                long took = -System.nanoTime() + System.nanoTime();
                least = took < least ? took : least;
            }
            clock = Math.max(1, least);
        }
    }

    /**
     * A duration by the clock, in ns, and how often the clock was read before it began.
     *
     * @param weight the number of firings of which one was timed
     * @return the cost of the firing, with {@link #FRACTION}
     */
    long add(long took, int readings, long weight) {
        return put((took > clock ? took - clock << FRACTION : 0) + (WAY_IN_NANOS + readings * clock << FRACTION), weight);
    }

    /** The duration of a run of firings; entering takes each of them {@code wayIn} ns more. @return the cost of one firing */
    long addRun(long took, int firings, int wayIn, int readings, long weight) {
        return put((took > clock ? took - clock << FRACTION : 0) / firings + (wayIn + readings * clock << FRACTION), weight);
    }

    private long put(long cost, long weight) {
        MEMORY.getAndAddLong(buckets, Memory.LONG_BASE + 8L * DURATIONS, 1);
        MEMORY.getAndAddLong(buckets, Memory.LONG_BASE + 8L * SQUARES, weight * weight);
        MEMORY.getAndAddLong(buckets, Memory.LONG_BASE + 8L * MapShape.bucketOf(cost, PRECISION), weight);
        return cost;
    }

    /** Event thread: figures of all durations. */
    Figures all() {
        return figures(buckets);
    }

    /** An array that {@link #recent} counts in; all probes of a session share one. */
    static long[] scratch() {
        return new long[BUCKETS + 2];
    }

    /** Event thread: figures of the durations since the last call. */
    Figures recent(long[] recent) {
        for (int i = 0; i < buckets.length; i++) {
            long now = MEMORY.getLongVolatile(buckets, Memory.LONG_BASE + 8L * i);
            recent[i] = now - seen[i];
            seen[i] = now;
        }
        return figures(recent);
    }

    private static Figures figures(long[] counts) {
        long count = counts[DURATIONS];
        long weights = 0;
        for (int i = 0; i < BUCKETS; i++) {
            weights += counts[i];
        }
        if (count <= 0 || weights == 0) { // or a duration that is being added
            return NONE;
        }
        double alike = (double) weights * weights / Math.max(1, counts[SQUARES]); // the number of equal weights with the same information
        long p99 = quantile(counts, weights - weights / 100);
        long most = alike < FEW ? 16 * Math.max(1, quantile(counts, (weights + 1) / 2)) : 4 * p99;
        double sum = 0;
        double squares = 0;
        for (int i = 0; i < BUCKETS; i++) {
            double value = Math.min(middle(i), most);
            sum += counts[i] * value;
            squares += counts[i] * value * value;
        }
        double mean = sum / weights;
        double variance = Math.max(0, squares / weights - mean * mean);
        double unit = 1 << FRACTION;
        return new Figures(count, mean / unit, Math.round(Math.min(p99, most) / unit), Math.sqrt(variance / alike) / unit);
    }

    /** The largest value whose rank is at most {@code rank}. */
    private static long quantile(long[] counts, long rank) {
        long seen = 0;
        for (int i = 0; i < BUCKETS; i++) {
            seen += counts[i];
            if (seen >= rank) {
                return (long) middle(i);
            }
        }
        return 0;
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
