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

    final int id;
    volatile boolean enabled;
    int state = OFF;
    /** Null: every hit fires. Probes that decide together have the same one. */
    Sampler sampler;
    /** Of the first probe of those that decide together. */
    int group;
    /** Records that the drain thread handed over, and records whose writer never finished; only that thread writes them. */
    long delivered;
    long stalled;

    /** Firings in all, firings a second, ns until it is disabled, and failures until then; 0: no limit. */
    private long mostFirings;
    private long mostPerSecond;
    private long lifetime;
    private long mostFailures;
    private long enabledNanos;
    /** Firings that were admitted, how many may still be in this second, and failures since it was enabled. */
    private final long[] used = new long[3];
    /** The map that takes its count from {@link #TALLIED}, then the stripes. */
    private final long[] counts = new long[STRIDE + (STRIDE << STRIPE_BITS)];
    /** Into which map a firing that does nothing else counts; −1: none that is known. */
    private volatile int tallying = -1;
    private boolean linked;

    Probe(int id) {
        this.id = id;
        this.group = id;
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

    /** A firing and its count in a map, as one addition: the map takes what is in {@link #tallied}. */
    static void tally(long[] counts) {
        MEMORY.getAndAddLong(counts, offset(Threads.hash(Threads.id(), STRIPE_BITS), TALLIED), 1);
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

    void enable(boolean on) {
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

    /** Counts a firing. @return false when a limit does not let it be */
    boolean fire() {
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
        lose(FIRED);
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

    void lose(int cause) {
        MEMORY.getAndAddLong(counts, offset(Threads.hash(Threads.id(), STRIPE_BITS), cause), 1);
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
        out.u8(count(MAP_FULL));
        out.u8(count(FIRED) + count(TALLIED));
        out.u8(sampler == null ? 0 : sampler.hits() - sampler.chosen());
        out.u8(count(LIMITED));
        out.u1(state);
    }
}
