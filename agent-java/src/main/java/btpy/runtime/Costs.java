package btpy.runtime;

/**
 * What firings of one probe cost: a few of them are timed on the threads that they run on, with two readings of the clock.
 *
 * <p>Durations go into buckets (an eighth wide), less what the clock takes itself, more what the way into the handler takes, which
 * cannot be timed from inside. Of firings that take less than the clock tells apart a run is timed, which counts as one duration of
 * each of them. A duration weighs as much as the firings of which it was the one that was timed: when a probe becomes hot, few of the
 * many that are fast then are timed, beside many of the few before that were slow. A duration in which the thread lost the processor, or the JVM stopped, says nothing of the probe: what is more than
 * four times the 99th percentile counts as that.
 */
final class Costs {
    /** Of the call of the handler and its entering, which come before the first reading of the clock. */
    static final int WAY_IN_NANOS = 4;
    /** What is kept has so many binary places below the ns. */
    static final int FRACTION = 4;

    private static final Memory MEMORY = Memory.instance();
    private static final int PRECISION = 3;
    private static final int FEW = 200;
    private static final int CALIBRATIONS = 30_000;

    /** ns between two readings of the clock in a row; 0: not known yet. */
    private static long clock;

    /** What is timed is below 2^40 ns, and little is added to it. */
    private static final int BUCKETS = 42 + FRACTION - PRECISION << PRECISION;

    /** After the buckets, which have the weights of their durations: how many durations there are, and the sum of the squared weights. */
    private static final int DURATIONS = BUCKETS;
    private static final int SQUARES = BUCKETS + 1;

    private final long[] buckets = new long[BUCKETS + 2];
    private final long[] seen = new long[BUCKETS + 2];

    /** Figures of some of the durations. */
    static final class Figures {
        final long count;
        final double mean;
        final long p99;
        /** Of the mean, one standard deviation. */
        final double error;

        private Figures(long count, double mean, long p99, double error) {
            this.count = count;
            this.mean = mean;
            this.p99 = p99;
            this.error = error;
        }
    }

    /** ns that a reading of the clock takes. */
    static long clock() {
        return clock;
    }

    static final Figures NONE = new Figures(0, 0, 0, 0);

    /** Event thread, before anything is timed: how long the clock takes when it is compiled. */
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
     * @param weight of how many firings it was the one that was timed
     * @return what the firing took, with {@link #FRACTION}
     */
    long add(long took, int readings, long weight) {
        return put((took > clock ? took - clock << FRACTION : 0) + (WAY_IN_NANOS + readings * clock << FRACTION), weight);
    }

    /** The duration of a run of firings, each of which also took the way in, in ns. @return what one took */
    long addRun(long took, int firings, int wayIn, int readings, long weight) {
        return put((took > clock ? took - clock << FRACTION : 0) / firings + (wayIn + readings * clock << FRACTION), weight);
    }

    private long put(long cost, long weight) {
        MEMORY.getAndAddLong(buckets, Memory.LONG_BASE + 8L * DURATIONS, 1);
        MEMORY.getAndAddLong(buckets, Memory.LONG_BASE + 8L * SQUARES, weight * weight);
        MEMORY.getAndAddLong(buckets, Memory.LONG_BASE + 8L * MapShape.bucketOf(cost, PRECISION), weight);
        return cost;
    }

    /** Event thread. Of all durations. */
    Figures all() {
        return figures(buckets);
    }

    /** What {@link #recent} needs while it counts: one for all probes of a session. */
    static long[] scratch() {
        return new long[BUCKETS + 2];
    }

    /** Event thread. Of the durations since the last call. */
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
        if (count <= 0 || weights == 0) { // or one that is being added
            return NONE;
        }
        double alike = (double) weights * weights / Math.max(1, counts[SQUARES]); // so many that weigh alike would say as much
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

    /** The value of which {@code rank} are not above. */
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
