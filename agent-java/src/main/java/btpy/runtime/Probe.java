package btpy.runtime;

/** What a session knows of one probe: whether it may fire, which hits do, and what became of its records. */
final class Probe {
    /** Why a record was dropped, and what became of hits. */
    static final int FULL = 0;
    static final int LARGE = 1;
    static final int MAP_FULL = 2;
    private static final int FIRED = 3;
    private static final int LIMITED = 4;
    private static final int TALLIED = 5;
    private static final int TESTED = 6;

    /** What {@link #fire} gives when a limit does not let the firing be. */
    static final long REFUSED = -1;

    /** Why a probe is as it is, as COUNTERS says. */
    static final int ON = 0;
    static final int OFF = 1;
    static final int HITS_USED_UP = 2;
    static final int TIME_IS_UP = 3;
    static final int DISABLED_ITSELF = 4;
    static final int FAILED_TOO_OFTEN = 5;

    private static final Memory MEMORY = Memory.instance();
    /** A stripe for each processor, and two at least, so that threads that run at once rarely meet. */
    static final int STRIPE_BITS = stripeBits(Runtime.getRuntime().availableProcessors());
    /** Numbers of one stripe, with what keeps its neighbour's cache lines apart; as many stand before the first stripe. */
    private static final int STRIDE = 16;
    private static final int MAP = 0;
    private static final int TIMED = 1;

    /** Firings a second that are timed when there are many, and of how many one is at least and at most. */
    private static final int TIMED_A_SECOND = 500;
    private static final int MOST_TIMED = 4;
    private static final int LEAST_TIMED = 1 << 14;
    /** A mean of fewer durations than these is not taken for what firings cost now. */
    private static final int ENOUGH = 8;
    /** What it takes to find that a hit is not of the sample, in ns. */
    private static final int SAMPLED_OUT_NANOS = 3;

    final int id;
    volatile boolean enabled;
    int state = OFF;
    /** Null: every hit fires. Probes that decide together have the same one. */
    Sampler sampler;
    /** Hits that samplers before this one left out. */
    private long sampledOutBefore;
    /** Of the first probe of those that decide together. */
    int group;
    /** Records that the drain thread handed over, and records whose writer never finished; only that thread writes them. */
    long delivered;
    long stalled;
    /** Of those handed over: what no client was there to take, and how many went to clients before the present one. */
    long forgotten;
    long handedOver;
    /** Below 0: none. */
    int level = -1;

    /** Firings in all, firings a second, ns until it is disabled, and failures until then; 0: no limit. */
    private long mostFirings;
    private long mostPerSecond;
    private long lifetime;
    private long mostFailures;
    private long enabledNanos;
    /** Firings that were admitted, how many may still be in this second, and failures since it was enabled. */
    private final long[] used = new long[3];
    /**
     * The map that takes its count from {@link #TALLIED}; which firings are timed: those whose number in their stripe has all of these
     * bits, so never the first, which loads classes. Then the stripes.
     */
    private final long[] counts = new long[STRIDE + (STRIDE << STRIPE_BITS)];
    /** Null until the probe is enabled for the first time. */
    private volatile Costs costs;
    /** Event thread: what firings took in all, in ns, and what was counted when that was added up last. */
    private double cpuNanos;
    private double mean;
    private long accountedNanos = System.nanoTime();
    private long accountedPasses;
    private long accountedOut;
    /** Into which map a firing that does nothing else counts; −1: none that is known. */
    private volatile int tallying = -1;
    private boolean linked;

    Probe(int id) {
        this.id = id;
        this.group = id;
        counts[MAP] = -1;
        counts[TIMED] = MOST_TIMED - 1;
    }

    private static int stripeBits(int processors) {
        return processors <= 2 ? 1 : Math.min(6, 32 - Integer.numberOfLeadingZeros(processors - 1));
    }

    private static long offset(int stripe, int number) {
        return Memory.LONG_BASE + 8L * (STRIDE + STRIDE * stripe + number);
    }

    // ------------------------------------------------------------------------------------------------ tallies

    /** Whether firings that only count into the map may be given to {@link #tally(long[])}. */
    static boolean tallies(long[] counts, int map) {
        return counts[MAP] == map;
    }

    /**
     * A firing and its count in a map, as one addition: the map takes what is in {@link #tallied}. With 0 instead of 1 nothing has
     * happened.
     *
     * @return whether it is to be timed
     */
    static boolean tally(long[] counts, int one) {
        long before = MEMORY.getAndAddLong(counts, offset(Threads.hash(Threads.id(), STRIPE_BITS), TALLIED), one);
        return one != 0 && (before & counts[TIMED]) == counts[TIMED];
    }

    /** What was tallied in the stripe since the start. */
    static long tallied(long[] counts, int stripe) {
        return MEMORY.getLongVolatile(counts, offset(stripe, TALLIED));
    }

    /** A firing found that it does nothing but count into this map. */
    void onlyCounts(int map) {
        tallying = map;
    }

    /**
     * Agent threads only. The first time that it is possible the map is told to count what is tallied.
     *
     * @return where firings may be tallied now; null: each must be counted on its own
     */
    long[] tallies(Session session) {
        if (!linked && tallying >= 0) {
            counts[MAP] = tallying;
            linked = session.map(tallying).countTallies(counts);
            tallying = linked ? tallying : -1;
        }
        return linked && enabled && mostFirings == 0 && mostPerSecond == 0 ? counts : null;
    }

    // ------------------------------------------------------------------------------------------------ firings

    void limit(long mostFirings, long mostPerSecond, long lifetime, long mostFailures) {
        this.mostFirings = mostFirings;
        this.mostPerSecond = mostPerSecond;
        this.lifetime = lifetime;
        this.mostFailures = mostFailures;
        used[1] = mostPerSecond;
    }

    /** Counts from now on; the failures stay as they are. */
    void limit(long mostFirings, long mostPerSecond, long lifetime) {
        enabledNanos = System.nanoTime();
        MEMORY.putLongVolatile(used, Memory.LONG_BASE, 0);
        limit(mostFirings, mostPerSecond, lifetime, mostFailures);
    }

    /** Another way of choosing hits; what the one before left out is still counted. */
    void sample(Sampler other) {
        sampledOutBefore = sampledOut();
        sampler = other;
    }

    void enable(boolean on) {
        if (on && costs == null) {
            costs = new Costs();
        }
        enabledNanos = System.nanoTime();
        MEMORY.putLongVolatile(used, Memory.LONG_BASE + 16, 0);
        state = on ? ON : enabled ? OFF : state;
        enabled = on;
    }

    void disable(int why) {
        if (enabled) {
            enabled = false;
            state = why;
        }
    }

    /** Counts a firing. @return {@link #REFUSED}, 0, or the time of now where it is to be timed */
    long fire() {
        return admits() ? begun(add(FIRED, 1)) : REFUSED;
    }

    /** Counts a hit whose predicate takes time. Not exactly: where threads meet, some are not counted. */
    long test() {
        long offset = offset(Threads.hash(Threads.id(), STRIPE_BITS), TESTED);
        long before = MEMORY.getLong(counts, offset);
        MEMORY.putLong(counts, offset, before + 1);
        return begun(before);
    }

    private long begun(long number) {
        return (number & counts[TIMED]) == counts[TIMED] ? now() : 0;
    }

    /** Of the clock, above 0. */
    static long now() {
        return System.nanoTime() & Long.MAX_VALUE | 1;
    }

    /** A firing that is timed ends. */
    void took(long begun, int readings) {
        Costs costs = this.costs;
        long nanos = now() - begun;
        if (costs != null && nanos >= 0) {
            costs.add(nanos, readings);
        }
    }

    private boolean admits() {
        if (mostPerSecond > 0 && MEMORY.getAndAddLong(used, Memory.LONG_BASE + 8, -1) <= 0) {
            lose(LIMITED);
            return false;
        }
        if (mostFirings > 0) {
            long before = MEMORY.getAndAddLong(used, Memory.LONG_BASE, 1);
            if (before >= mostFirings) {
                lose(LIMITED);
                return false;
            }
            if (before + 1 == mostFirings) {
                disable(HITS_USED_UP);
            }
        }
        return true;
    }

    /** A firing ended in an error. */
    void fail() {
        if (mostFailures > 0 && MEMORY.getAndAddLong(used, Memory.LONG_BASE + 16, 1) + 1 >= mostFailures) {
            disable(FAILED_TOO_OFTEN);
        }
    }

    /** Event thread, now and then. */
    void tick(long now, boolean newSecond) {
        if (lifetime > 0 && enabled && now - enabledNanos >= lifetime) {
            disable(TIME_IS_UP);
        }
        if (newSecond && mostPerSecond > 0) {
            MEMORY.putLongVolatile(used, Memory.LONG_BASE + 8, mostPerSecond);
        }
        if (newSecond && sampler != null && group == id) {
            sampler.second(count(FULL));
        }
    }

    /** Event thread, some times a second: what firings cost since the last time, and how many of the next are timed. */
    void account(long now) {
        Costs costs = this.costs;
        double seconds = (now - accountedNanos) / 1e9;
        long passes = passes();
        long out = sampledOut();
        if (costs == null || passes == accountedPasses && out == accountedOut) {
            accountedNanos = now;
            return;
        }
        double perSecond = (passes - accountedPasses) / seconds;
        int every = (int) Math.min(LEAST_TIMED, Math.max(MOST_TIMED, perSecond / TIMED_A_SECOND));
        counts[TIMED] = Integer.highestOneBit(every) - 1;
        Costs.Figures recent = costs.recent();
        mean = recent.count >= ENOUGH ? recent.mean : costs.all().mean;
        cpuNanos += (passes - accountedPasses) * mean + (out - accountedOut) * SAMPLED_OUT_NANOS;
        accountedPasses = passes;
        accountedOut = out;
        accountedNanos = now;
    }

    /** Runs of the handler that may be timed: with a predicate that takes time all of them, else the firings. */
    private long passes() {
        long tested = count(TESTED);
        return tested != 0 ? tested : count(FIRED) + count(TALLIED);
    }

    private long sampledOut() {
        return sampler == null ? 0 : sampledOutBefore + sampler.hits() - sampler.chosen();
    }

    void lose(int cause) {
        add(cause, 1);
    }

    private long add(int number, int delta) {
        return MEMORY.getAndAddLong(counts, offset(Threads.hash(Threads.id(), STRIPE_BITS), number), delta);
    }

    private long count(int cause) {
        long sum = 0;
        for (int stripe = 0; stripe < 1 << STRIPE_BITS; stripe++) {
            sum += MEMORY.getLongVolatile(counts, offset(stripe, cause));
        }
        return sum;
    }

    /** A row of COUNTERS. */
    void write(Output out) {
        long full = count(FULL);
        long large = count(LARGE);
        out.u4(id);
        out.u8(delivered + full + large + stalled);
        out.u8(full);
        out.u8(large);
        out.u8(stalled);
        out.u8(forgotten);
        out.u8(count(MAP_FULL));
        out.u8(count(FIRED) + count(TALLIED));
        out.u8(sampledOut());
        out.u8(count(LIMITED));
        Costs.Figures figures = costs == null ? Costs.NONE : costs.all();
        out.u8(figures.count);
        out.u8((long) (1000 * figures.mean));
        out.u8((long) (1000 * figures.error));
        out.u8(figures.p99);
        out.u8((long) cpuNanos);
        out.u1(state);
    }
}
