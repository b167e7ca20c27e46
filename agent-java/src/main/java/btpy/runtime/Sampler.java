package btpy.runtime;

/**
 * Chooses which hits of a probe fire. A chosen hit carries a weight: how many hits it stands for, itself included.
 *
 * <p>Hits are counted down from a gap; the hit that ends it is chosen, its weight is the gap, and the next gap is drawn. Threads
 * are spread over stripes with a countdown each, so a hit costs one atomic addition that is rarely contended. The weights of all
 * chosen hits add up to all hits but those of the unfinished gaps. Gaps do not depend on what the hits carry, so any sum of weights
 * is an unbiased estimate.
 */
public final class Sampler {
    /** Bit of {@link #enter}: the decision is that of a method below. */
    public static final int INHERITED = 1 << 30;

    static final int EVERY = 1;
    static final int RATE = 2;
    static final int MAX_RATE = 3;

    private static final Memory MEMORY = Memory.instance();
    private static final long DECISIONS = MEMORY.fieldOffset(Session.class, "decisions");
    private static final int STRIPE_BITS = 4;
    /** Of a stripe: hits left of the gap, the gap, hits of finished gaps, weight that found the second used up, chosen hits. */
    private static final int STRIDE = 8;
    private static final int LARGEST_GAP = 1 << 28;
    private static final int MOST_THINNING = 1 << 10;
    private static final int CALM_SECONDS = 5;

    private final int mode;
    /** Gap of EVERY, mean gap of RATE, chosen hits a second of MAX_RATE. */
    private final double parameter;
    private final boolean adaptive;
    private final long[] stripes = new long[STRIDE << STRIPE_BITS];
    /** Element 0: how many may still be chosen in this second (MAX_RATE). */
    private final long[] left = new long[1];
    /** Event thread writes: gap of MAX_RATE; factor on the gap while records are lost. */
    private int gap = 1;
    private int thinning = 1;
    /** Factor on the gap that the budget asks for. */
    private volatile int restraint = 1;
    private int calm;
    private long lostBefore;
    private long hitsBefore;

    /** @throws IllegalArgumentException when a number is out of range */
    Sampler(int mode, double parameter, boolean adaptive) {
        if (mode < EVERY || mode > MAX_RATE || !(parameter >= 1) || parameter > LARGEST_GAP) {
            throw new IllegalArgumentException("sampling " + mode + " by " + parameter);
        }
        this.mode = mode;
        this.parameter = parameter;
        this.adaptive = adaptive;
        left[0] = (long) parameter;
        for (int at = 0; at < stripes.length; at += STRIDE) {
            stripes[at] = stripes[at + 1] = draw(at);
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

    /** From the next gaps on they are so many times as long. */
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

    /** One thread at a time for a stripe: the next gap opens with the last statement that writes. */
    private int chosen(int at) {
        long ended = stripes[at + 1];
        long weight = ended + stripes[at + 3];
        boolean fires = mode != MAX_RATE || MEMORY.getAndAddLong(left, Memory.LONG_BASE, -1) > 0;
        stripes[at + 2] += ended;
        stripes[at + 3] = fires ? 0 : weight;
        stripes[at + 4] += fires ? 1 : 0;
        int next = draw(at);
        stripes[at + 1] = next;
        MEMORY.getAndAddLong(stripes, Memory.LONG_BASE + 8L * at, next);
        return fires ? (int) (weight < LARGEST_GAP ? weight : LARGEST_GAP) : 0;
    }

    private int draw(int at) {
        double drawn = mode == EVERY ? parameter : mode == MAX_RATE ? gap : 1;
        if (mode == RATE) { // uniform in 1 … 2 parameter − 1
            long bits = Keys.mix64(stripes[at + 2] + (long) at * 0x9E3779B97F4A7C15L) >>> 11;
            drawn += (long) (bits * 0x1p-53 * (2 * parameter - 1));
        }
        drawn *= (double) thinning * restraint;
        return drawn < LARGEST_GAP ? (int) drawn : LARGEST_GAP;
    }

    /** Hits so far; exact when no thread is in a handler. */
    long hits() {
        long hits = 0;
        for (int at = 0; at < stripes.length; at += STRIDE) {
            hits += stripes[at + 2] + stripes[at + 1] - MEMORY.getLongVolatile(stripes, Memory.LONG_BASE + 8L * at);
        }
        return hits;
    }

    long chosen() {
        long chosen = 0;
        for (int at = 0; at < stripes.length; at += STRIDE) {
            chosen += stripes[at + 4];
        }
        return chosen;
    }

    /** Event thread, once a second. {@code lost}: records of the probe that found the buffers full, since the start. */
    void second(long lost) {
        if (mode == MAX_RATE) {
            long hits = hits();
            gap = (int) Math.max(1, Math.min(LARGEST_GAP, (hits - hitsBefore) / (long) parameter));
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
