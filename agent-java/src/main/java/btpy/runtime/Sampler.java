package btpy.runtime;

/**
 * Chooses which hits of a probe fire. A chosen hit carries a weight: how many hits it stands for, itself included.
 *
 * <p>Hits are counted in blocks, and one hit of each block is chosen, whose weight is the length of the block. Threads are spread over
 * stripes with a countdown each, so a hit costs one atomic addition that is rarely contended. With RATE each hit of a block is the
 * chosen one with the same probability, so any sum of weights is an unbiased estimate, also while a block is not finished. With EVERY and
 * MAX_RATE the last hit of a block is chosen: no weight stands for the hits of blocks that are not finished ({@link #pending}).
 */
public final class Sampler {
    /** Bit of {@link #enter}: the decision is that of a method below. */
    static final int INHERITED = 1 << 30;

    static final int EVERY = 1;
    static final int RATE = 2;
    static final int MAX_RATE = 3;

    private static final Memory MEMORY = Memory.instance();
    private static final long DECISIONS = MEMORY.fieldOffset(Session.class, "decisions");
    private static final int STRIPE_BITS = 4;
    // Numbers of a stripe.
    /** Hits until one is chosen; 0 or less while the thread that was chosen opens the next block. */
    private static final int LEFT = 0;
    /** How many hits there will have been when LEFT is 0. */
    private static final int END = 1;
    /** Hits of the block after the one that is chosen. */
    private static final int REST = 2;
    private static final int BLOCK = 3;
    /** Weight of hits that found the second used up. */
    private static final int CARRIED = 4;
    private static final int CHOSEN = 5;
    /** How many hits there had been when the opening of a block began last. */
    private static final int BEGAN = 6;
    private static final int STRIDE = 8;
    /** How often a reader looks again while a block is being opened. */
    private static final int READS = 1000;
    private static final int LARGEST_BLOCK = 1 << 28;
    private static final int MOST_THINNING = 1 << 10;
    private static final int CALM_SECONDS = 5;

    private final int mode;
    /** Length of a block of EVERY, its mean of RATE, chosen hits a second of MAX_RATE. */
    private final double parameter;
    private final boolean adaptive;
    private final long seed = Keys.mix64(System.nanoTime());
    private final long[] stripes = new long[STRIDE << STRIPE_BITS];
    /** Element 0: how many may still be chosen in this second (MAX_RATE). */
    private final long[] left = new long[1];
    /** Event thread writes: length of a block of MAX_RATE; factor on the length while records are lost. */
    private int gap = 1;
    private int thinning = 1;
    /** Factor on the length that the budget asks for. */
    private volatile int restraint = 1;
    private int calm;
    private long lostBefore;
    private long hitsBefore;

    /** @throws IllegalArgumentException when a number is out of range */
    Sampler(int mode, double parameter, boolean adaptive) {
        if (mode < EVERY || mode > MAX_RATE || !(parameter >= 1) || parameter > LARGEST_BLOCK) {
            throw new IllegalArgumentException("sampling " + mode + " by " + parameter);
        }
        this.mode = mode;
        this.parameter = parameter;
        this.adaptive = adaptive;
        left[0] = (long) parameter;
        for (int at = 0; at < stripes.length; at += STRIDE) {
            long block = length(at);
            long position = position(at, block);
            stripes[at + LEFT] = stripes[at + END] = position;
            stripes[at + REST] = block - position;
            stripes[at + BLOCK] = block;
        }
    }

    /** Before {@link Session#enter}: how many hits this one stands for; 0: it does not fire. */
    public static int choose(int site, int probe) {
        Session session = Session.enter(site, probe);
        Probe found = session == null ? null : session.probe(probe);
        return found == null || found.sampler == null ? 0 : found.sampler.choose();
    }

    /**
     * Decides for this thread when the method is entered, unless a method below on the stack has decided.
     *
     * @return the weight as {@link #choose} gives it, with {@link #INHERITED}; −1: nothing was decided
     */
    public static int enter(int site, int probe) {
        Session session = Session.enter(site, probe);
        Probe found = session == null ? null : session.probe(probe);
        if (found == null || found.sampler == null) {
            return -1;
        }
        ThreadTable decisions = session.decisions == null ? ThreadTable.made(session, DECISIONS, 8) : session.decisions;
        long key = Threads.id() * Session.MAX_PROBES + found.group;
        int entry = decisions.find(key);
        if (entry >= 0) {
            return (int) decisions.value(entry) | INHERITED;
        }
        entry = decisions.claim(key);
        if (entry < 0) {
            session.errors.count(probe, 0, ProbeError.KIND_DEPTH, null);
            return -1;
        }
        int weight = found.sampler.choose();
        decisions.setValue(entry, weight);
        return weight;
    }

    /** The method that decided is left. */
    public static void leave(int site, int probe, int value) {
        Session session = Session.of(site);
        Probe found = session == null || value < 0 || (value & INHERITED) != 0 ? null : session.probe(probe);
        if (found != null) {
            int entry = session.decisions.find(Threads.id() * Session.MAX_PROBES + found.group);
            if (entry >= 0) {
                session.decisions.release(entry);
            }
        }
    }

    /** From the next blocks on they are so many times as long. */
    void restrain(int factor) {
        restraint = factor;
    }

    int restraint() {
        return restraint;
    }

    /** @return the weight of this hit, 0: it does not fire */
    int choose() {
        int at = Threads.hash(Threads.id(), STRIPE_BITS) * STRIDE;
        return MEMORY.getAndAddLong(stripes, Memory.LONG_BASE + 8L * at, -1) == 1 ? chosen(at) : 0;
    }

    /**
     * One thread at a time for a stripe: the next block opens with the addition to LEFT, which comes last. Hits of other threads may have
     * passed the end of that block by then. No hit of it can be chosen any more, so this one stands for it as well.
     */
    private int chosen(int at) {
        long weight = stripes[at + BLOCK] + stripes[at + CARRIED];
        boolean fires = mode != MAX_RATE || MEMORY.getAndAddLong(left, Memory.LONG_BASE, -1) > 0;
        stripes[at + CHOSEN] += fires ? 1 : 0;
        stripes[at + CARRIED] = fires ? 0 : weight;
        MEMORY.putLongRelease(stripes, offset(at + BEGAN), stripes[at + END]);
        while (true) {
            long block = length(at);
            long position = position(at, block);
            long next = stripes[at + REST] + position;
            stripes[at + REST] = block - position;
            stripes[at + BLOCK] = block;
            MEMORY.putLongRelease(stripes, offset(at + END), stripes[at + END] + next);
            if (MEMORY.getAndAddLong(stripes, offset(at), next) + next > 0) {
                return !fires ? 0 : (int) (weight < LARGEST_BLOCK ? weight : LARGEST_BLOCK);
            }
            weight += block;
            stripes[at + CARRIED] = fires ? 0 : weight;
        }
    }

    /** Of the next block. */
    private long length(int at) {
        double length = mode == MAX_RATE ? gap : parameter;
        length *= (double) thinning * restraint;
        if (mode == RATE) { // rounded up as often as its fraction says
            length += fraction(at, 1);
        }
        return length < LARGEST_BLOCK ? (long) length : LARGEST_BLOCK;
    }

    /** Of the hit of a block that is chosen. */
    private long position(int at, long block) {
        return mode == RATE ? 1 + (long) (fraction(at, 2) * block) : block;
    }

    /** Random, in 0 … 1. */
    private double fraction(int at, int which) {
        long bits = Keys.mix64(seed + 3 * stripes[at + END] + which + (long) at * 0x9E3779B97F4A7C15L) >>> 11;
        return bits * 0x1p-53;
    }

    private static long offset(int at) {
        return Memory.LONG_BASE + 8L * at;
    }

    /** Hits so far. While threads are in handlers it may miss some of the last ones, and never counts too many. */
    long hits() {
        long hits = 0;
        for (int at = 0; at < stripes.length; at += STRIDE) {
            hits += hits(at);
        }
        return hits;
    }

    private long hits(int at) {
        for (int i = 0; i < READS; i++) {
            long end = MEMORY.getLongVolatile(stripes, offset(at + END));
            long left = MEMORY.getLongVolatile(stripes, offset(at));
            if (left > 0 && MEMORY.getLongVolatile(stripes, offset(at + END)) == end) {
                return end - left;
            }
        }
        return MEMORY.getLongVolatile(stripes, offset(at + BEGAN)); // the thread that opens the block has lost the processor
    }

    /** Hits so far that no weight stands for. */
    long pending() {
        long pending = 0;
        for (int at = 0; mode != RATE && at < stripes.length; at += STRIDE) {
            long left = MEMORY.getLongVolatile(stripes, offset(at));
            long block = stripes[at + BLOCK];
            pending += stripes[at + CARRIED] + Math.max(0, Math.min(block, block - left));
        }
        return pending;
    }

    /** The length of the blocks that are opened now. */
    long factor() {
        double length = (mode == MAX_RATE ? gap : parameter) * thinning * restraint;
        return (long) Math.ceil(Math.min(length, LARGEST_BLOCK));
    }

    long chosen() {
        long chosen = 0;
        for (int at = 0; at < stripes.length; at += STRIDE) {
            chosen += stripes[at + CHOSEN];
        }
        return chosen;
    }

    /** Event thread, once a second. {@code lost}: records of the probe that found the buffers full, since the start. */
    void second(long lost) {
        if (mode == MAX_RATE) {
            long hits = hits();
            gap = (int) Math.max(1, Math.min(LARGEST_BLOCK, (hits - hitsBefore) / (long) parameter));
            hitsBefore = hits;
            MEMORY.putLongVolatile(left, Memory.LONG_BASE, (long) parameter);
        }
        if (!adaptive) {
            return;
        }
        calm = lost == lostBefore ? calm + 1 : 0;
        if (calm == 0) {
            thinning = thinning < MOST_THINNING ? 2 * thinning : MOST_THINNING;
        } else if (calm >= CALM_SECONDS && thinning > 1) {
            thinning /= 2;
            calm = 0;
        }
        lostBefore = lost;
    }
}
