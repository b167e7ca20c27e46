package btpy.runtime;

/** What a session knows of one probe: whether it may fire, which hits do, and what became of its records. */
final class Probe {
    /** Why a record was dropped, and what became of hits. */
    static final int FULL = 0;
    static final int LARGE = 1;
    static final int MAP_FULL = 2;
    private static final int FIRED = 3;
    private static final int LIMITED = 4;

    /** Why a probe is as it is, as COUNTERS says. */
    static final int ON = 0;
    static final int OFF = 1;
    static final int HITS_USED_UP = 2;
    static final int TIME_IS_UP = 3;
    static final int DISABLED_ITSELF = 4;
    static final int FAILED_TOO_OFTEN = 5;

    private static final Memory MEMORY = Memory.instance();
    private static final int STRIPE_BITS = 3;

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
    private final long[] counts = new long[8 << STRIPE_BITS];

    Probe(int id) {
        this.id = id;
        this.group = id;
    }

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
        int stripe = Threads.hash(Threads.id(), STRIPE_BITS);
        MEMORY.getAndAddLong(counts, Memory.LONG_BASE + 8L * (8 * stripe + cause), 1);
    }

    private long count(int cause) {
        long sum = 0;
        for (int stripe = 0; stripe < 1 << STRIPE_BITS; stripe++) {
            sum += MEMORY.getLongVolatile(counts, Memory.LONG_BASE + 8L * (8 * stripe + cause));
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
        out.u8(count(FIRED));
        out.u8(sampler == null ? 0 : sampler.hits() - sampler.chosen());
        out.u8(count(LIMITED));
        out.u1(state);
    }
}
