package btpy.runtime;

/**
 * Chooses the hits of a probe that fire. The weight of a chosen hit is the number of hits for which it stands,
 * including itself.
 *
 * <p>Hits are counted in blocks. One hit of each block is chosen, and its weight is the length of the block. Threads
 * are distributed over stripes with a countdown each, so a hit costs one atomic addition with little contention. With
 * RATE each hit of a block has the same probability to be chosen, so any sum of weights is an unbiased estimate, even
 * in the middle of a block. With EVERY and MAX_RATE the last hit of a block is chosen, so no weight stands for the hits
 * of unfinished blocks ({@link #pending}).
 */
public final class Sampler {
    /** The bit in the result of {@link #enter} that means that a method below has decided. */
    static final int INHERITED = 1 << 30;

    static final int EVERY = 1;
    static final int RATE = 2;
    static final int MAX_RATE = 3;

    private static final Memory MEMORY = Memory.instance();
    private static final long DECISIONS = MEMORY.fieldOffset(Session.class, "decisions");
    private static final int STRIPE_BITS = 4;
    // The indices of the numbers of a stripe.
    /** The hits until one is chosen; 0 or less while the thread that was chosen opens the next block. */
    private static final int COUNTDOWN = 0;
    /** The total number of hits when COUNTDOWN will be 0. */
    private static final int END = 1;
    /** The number of hits in the block after the chosen hit. */
    private static final int REST = 2;
    private static final int BLOCK = 3;
    /** The weight of hits that were not admitted because the limit of the second was used up. */
    private static final int CARRIED = 4;
    private static final int CHOSEN = 5;
    /** The total number of hits when a thread last began to open a block. */
    private static final int BEGAN = 6;
    private static final int STRIDE = 8;
    /** The number of retries of a reader while a block is being opened. */
    private static final int READS = 1000;
    private static final int LARGEST_BLOCK = 1 << 28;
    private static final int MOST_THINNING = 1 << 10;
    private static final int CALM_SECONDS = 5;

    private final int mode;
    /** The length of a block for EVERY, its mean for RATE, the chosen hits a second for MAX_RATE. */
    private final double parameter;
    private final boolean adaptive;
    private final long seed = Keys.mix64(System.nanoTime());
    private final long[] stripes = new long[STRIDE << STRIPE_BITS];
    /** Element 0: the remaining hits of this second (MAX_RATE). */
    private final long[] remainingHits = new long[1];
    /**
     * Written by the event thread: the length of a block for MAX_RATE, and a factor on the length while records are
     * lost.
     */
    private int gap = 1;
    private int thinning = 1;
    /** The factor on the length that the budget requests. */
    private volatile int restraint = 1;
    private int calm;
    private long lostBefore;
    private long hitsBefore;

    /** @throws IllegalArgumentException if a number is out of range */
    Sampler(int mode, double parameter, boolean adaptive) {
        if (mode < EVERY || mode > MAX_RATE || !(parameter >= 1) || parameter > LARGEST_BLOCK) {
            throw new IllegalArgumentException("sampling " + mode + " by " + parameter);
        }
        this.mode = mode;
        this.parameter = parameter;
        this.adaptive = adaptive;
        remainingHits[0] = (long) parameter;
        for (int at = 0; at < stripes.length; at += STRIDE) {
            long block = length(at);
            long position = position(at, block);
            stripes[at + COUNTDOWN] = stripes[at + END] = position;
            stripes[at + REST] = block - position;
            stripes[at + BLOCK] = block;
        }
    }

    /** Called before {@link Session#enter}. Returns the number of hits that this hit represents; 0: no firing. */
    public static int choose(int site, int probeId) {
        Session session = Session.enter(site, probeId);
        Probe probe = session == null ? null : session.probe(probeId);
        return probe == null || probe.sampler == null ? 0 : probe.sampler.choose();
    }

    /**
     * Decides for this thread when the method is entered, unless a method below on the stack has decided.
     *
     * @return the weight as in {@link #choose}, with {@link #INHERITED}; −1 if nothing was decided
     */
    public static int enter(int site, int probeId) {
        Session session = Session.enter(site, probeId);
        Probe probe = session == null ? null : session.probe(probeId);
        if (probe == null || probe.sampler == null) {
            return -1;
        }
        ThreadTable decisions = session.decisions == null ? ThreadTable.getOrCreate(session, DECISIONS, 8)
                : session.decisions;
        long key = Threads.id() * Session.MAX_PROBES + probe.group;
        int entry = decisions.find(key);
        if (entry >= 0) {
            return (int) decisions.values[entry] | INHERITED;
        }
        entry = decisions.claim(key);
        if (entry < 0) {
            session.errors.count(probeId, 0, ProbeError.KIND_DEPTH, null);
            return -1;
        }
        int weight = probe.sampler.choose();
        decisions.values[entry] = weight;
        return weight;
    }

    /** Called when the deciding method is left. */
    public static void leave(int site, int probeId, int value) {
        Session session = Session.of(site);
        Probe probe = session == null || value < 0 || (value & INHERITED) != 0 ? null : session.probe(probeId);
        if (probe != null) {
            int entry = session.decisions.find(Threads.id() * Session.MAX_PROBES + probe.group);
            if (entry >= 0) {
                session.decisions.release(entry);
            }
        }
    }

    /** Makes future blocks longer by the factor. */
    void restrain(int factor) {
        restraint = factor;
    }

    int restraint() {
        return restraint;
    }

    /** @return the weight of this hit; 0 if it does not fire */
    int choose() {
        int at = Threads.hash(Threads.id(), STRIPE_BITS) * STRIDE;
        return MEMORY.getAndAddLong(stripes, Memory.LONG_BASE + 8L * at, -1) == 1 ? chosen(at) : 0;
    }

    /**
     * Opens the next block. Only one thread at a time does so for each stripe, because the addition to COUNTDOWN comes
     * last. By then, hits of other threads may have passed the end of that block. In this case no hit of that block can
     * be chosen, so this hit also represents those hits.
     */
    private int chosen(int at) {
        long weight = stripes[at + BLOCK] + stripes[at + CARRIED];
        boolean fires = mode != MAX_RATE || MEMORY.getAndAddLong(remainingHits, Memory.LONG_BASE, -1) > 0;
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

    /** The length of the next block. */
    private long length(int at) {
        double length = mode == MAX_RATE ? gap : parameter;
        length *= (double) thinning * restraint;
        if (mode == RATE) { // the fraction is the probability of rounding up
            length += fraction(at, 1);
        }
        return length < LARGEST_BLOCK ? (long) length : LARGEST_BLOCK;
    }

    /** The position of the chosen hit in a block. */
    private long position(int at, long block) {
        return mode == RATE ? 1 + (long) (fraction(at, 2) * block) : block;
    }

    /** Returns a random number in 0 … 1. */
    private double fraction(int at, int which) {
        long bits = Keys.mix64(seed + 3 * stripes[at + END] + which + (long) at * 0x9E3779B97F4A7C15L) >>> 11;
        return bits * 0x1p-53;
    }

    private static long offset(int at) {
        return Memory.LONG_BASE + 8L * at;
    }

    /**
     * The hits so far. The number may miss some of the last hits while threads are in handlers, but never counts too
     * many.
     */
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
            long remaining = MEMORY.getLongVolatile(stripes, offset(at));
            if (remaining > 0 && MEMORY.getLongVolatile(stripes, offset(at + END)) == end) {
                return end - remaining;
            }
        }
        return MEMORY.getLongVolatile(stripes, offset(at + BEGAN)); // the scheduler has stopped the thread that opens the block
    }

    /** The hits so far that no weight represents. */
    long pending() {
        long pending = 0;
        for (int at = 0; mode != RATE && at < stripes.length; at += STRIDE) {
            long remaining = MEMORY.getLongVolatile(stripes, offset(at));
            long block = stripes[at + BLOCK];
            pending += stripes[at + CARRIED] + Math.max(0, Math.min(block, block - remaining));
        }
        return pending;
    }

    /** The length of new blocks. */
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

    /**
     * Called by the event thread once a second. {@code lost} is the number of records of the probe since the start that
     * did not fit into the buffers.
     */
    void endSecond(long lost) {
        if (mode == MAX_RATE) {
            long hits = hits();
            gap = (int) Math.max(1, Math.min(LARGEST_BLOCK, (hits - hitsBefore) / (long) parameter));
            hitsBefore = hits;
            MEMORY.putLongVolatile(remainingHits, Memory.LONG_BASE, (long) parameter);
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
