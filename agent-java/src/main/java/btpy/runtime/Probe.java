package btpy.runtime;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * One probe of a session: whether it may fire, which of its hits fire, and the counts of its records.
 *
 * <p>What is counted at each firing has two numbers in each stripe: that of its owner ({@link Stripes}), and that of the threads that
 * share it.
 */
final class Probe {
    /** Why a record was dropped, and what became of hits. */
    static final int FULL = 0;
    static final int LARGE = 1;
    static final int MAP_FULL = 2;
    static final int FIRED = 3;
    private static final int LIMITED = 4;
    private static final int TALLIED = 5;
    private static final int TESTED = 6;
    static final int HELD_BACK = 7;
    /** Added to FIRED and TALLIED: what the owner of the stripe counted. */
    static final int OWN = 8;

    // What a handler is told of a run: weight:22 (bits 41–62) · whether it is timed:1 · clock when it began:40 (modulo 18 minutes)
    /** Instead: it is not to be, because of a limit or the budget. */
    static final long REFUSED = Long.MIN_VALUE;
    private static final int WEIGHT_SHIFT = 41;
    private static final long TIMED_RUN = 1L << 40;
    private static final long CLOCK_MASK = TIMED_RUN - 1;
    static final int MOST_WEIGHT = (1 << 22) - 1;

    /** Why a probe is as it is, as COUNTERS says. */
    static final int ON = 0;
    static final int OFF = 1;
    static final int HITS_USED_UP = 2;
    static final int TIME_IS_UP = 3;
    static final int DISABLED_ITSELF = 4;
    static final int FAILED_TOO_OFTEN = 5;
    static final int OVER_BUDGET = 6;

    /** Records a second of a probe that prints less. */
    private static final int FEW_RECORDS = 200;

    private static final Memory MEMORY = Memory.instance();
    private static final long ADAPTIVE_SAMPLER = MEMORY.fieldOffset(Probe.class, "adaptive");
    private static final long PROVISIONAL_SAMPLER = MEMORY.fieldOffset(Probe.class, "provisional");
    /** Numbers of one stripe, with what keeps its neighbour's cache lines apart; as many stand before the first stripe. */
    static final int STRIDE = 24;
    private static final int MAP = 0;
    private static final int TIMED = 1;
    private static final long MAP_OFFSET = Memory.LONG_BASE + 8L * MAP;
    private static final long TIMED_OFFSET = Memory.LONG_BASE + 8L * TIMED;

    /** Firings a second that are timed when there are many, and of how many one is at least and at most. */
    private static final int TIMED_A_SECOND = 500;
    private static final int MOST_TIMED = 4;
    private static final int LEAST_TIMED = 1 << 14;
    /** When more than these were timed since the last look, fewer are from then on. */
    private static final int OFTEN = 64;
    /** Firings of a run that is timed as a whole; not more than those of which one is timed. */
    private static final int LONGEST_RUN = 64;
    /** What timing a firing takes itself, in readings of the clock. */
    private static final int TIMING = 3;
    /** So many predicates that were false are counted. */
    private static final int MOST_UNTRUE = 1000;
    /** A mean of fewer durations than these is not taken for what firings cost now. */
    private static final int ENOUGH = 8;
    /** What it takes to find that a hit is not to fire, in ns: by a {@link Sampler}, and by an {@link AdaptiveSampler} as the owner of a stripe. */
    private static final int SAMPLED_OUT_NANOS = 6;
    private static final int THINNED_OUT_NANOS = 8;
    /** Where hits are left out before anything else is asked. */
    private static final int ADDING_THINNED_OUT_NANOS = 4;
    /** Of a hit of a disabled probe, beside what woven code does before it asks. */
    static final int DISABLED_NANOS = 4;
    /** Hits are left out where a firing takes so many times what a hit takes that is left out; else that gains nothing. */
    private static final double WORTH = 1.5;
    /** What a firing is taken for while nothing is known of it, in ns. */
    private static final int UNKNOWN_NANOS = 2000;
    /** After so many timed firings that find nothing left of the allowance, half as many hits fire. */
    private static final int UNPAID = 8;
    /** Leaving out more hits gains nothing where the firings take so small a part of what the hits take that are left out. */
    private static final int SMALL_PART = 8;

    final int id;
    private final Budget budget;
    volatile boolean enabled;
    int state = OFF;
    /** Null: every hit fires. Probes that share one decision have the same one. */
    Sampler sampler;
    /** Hits that samplers before this one left out. */
    private long sampledOutBefore;
    /** Of the first probe of those that share one decision. */
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
    /** Firings that were admitted, how many may still be in this second, failures since it was enabled, records of this second. */
    private final long[] used = new long[4];
    /**
     * The map that takes its count from {@link #TALLIED}; which firings are timed: those whose number in their stripe has all of these
     * bits, so never the first, which loads classes. Then the stripes.
     */
    private final long[] counts = new long[STRIDE + STRIDE * Stripes.COUNT];
    /** Null until the probe is enabled for the first time. */
    private volatile Costs costs;
    /** Event thread: what firings took in all, in ns, and what was counted when that was added up last. */
    private double cpuNanos;
    private double mean;
    /** Event thread: runs of the handler that were accounted for, and what they took. */
    private long runs;
    private double runNanos;
    private int readings;
    private int wayIn;
    /** Chooses the hits that fire while the budget lets only some fire; null: all fire. A probe with a sampler of the user has none. */
    private volatile AdaptiveSampler adaptive;
    /** The sampler that a firing thread may put in ({@link #pay}) before the event thread decides; null: none is prepared. */
    private volatile AdaptiveSampler provisional;
    /** The two before it, the younger first: threads may still be about to count hits there. */
    private volatile AdaptiveSampler[] retired = {};
    /** The largest factor of an adaptive sampler so far. */
    private int mostThinning = 1;
    /** Timed firings that found the allowance empty since the factor was raised. Not exact: concurrent increments may be lost. */
    private int unpaid;
    /** How long the budget had the probe disabled, in ns, and since when it has it now; 0: it has not. */
    private long restedNanos;
    private long restingSince;
    /** What a firing takes of late, as {@link Costs} has it. About, as the next two are: threads that meet lose some. */
    private long price = UNKNOWN_NANOS << Costs.FRACTION;
    /** Since the event thread looked last: ns that firings paid, and how many were timed. */
    private long paid;
    private int timings;
    private volatile boolean printsLess;
    /** Event thread: it has restrained itself, and made records until then. */
    boolean mayPrintLess;
    private volatile boolean overBudget;
    /** Fires on threads of the agent, which take nothing from the application. */
    boolean ofAgent;
    private long accountedNanos = System.nanoTime();
    private long accountedPasses;
    private long accountedOut;
    private long accountedRecords;
    private final Load load = new Load();
    /** Into which map firings that do nothing else add, or only count without a key; −1: none that is known. */
    private volatile int adding = -1;
    private volatile int tallying = -1;
    private SumFastPath sumFastPath;
    private boolean linked;
    /** Until then weights stood for these. */
    private long skippedWhenLinked;
    private int untrue;
    final Interruptions interruptions = new Interruptions();

    Probe(int id, Budget budget) {
        this.id = id;
        this.budget = budget;
        this.group = id;
        counts[MAP] = -1;
        counts[TIMED] = MOST_TIMED - 1;
    }

    private static long offset(int stripe, int number) {
        return Memory.LONG_BASE + 8L * (STRIDE + STRIDE * stripe + number);
    }

    // ------------------------------------------------------------------------------------------------ tallies

    /** Whether firings that only count into the map may be tallied here. */
    static boolean tallies(long[] counts, int map) {
        return MEMORY.getLong(counts, MAP_OFFSET) == map;
    }

    /**
     * {@link #tally} of a thread that owns its stripe, in as few steps as can be.
     *
     * @param stripe below 0: it owns none
     * @return false when nothing was done: another thread, another map, or the firing is to be timed
     */
    @ForceInline
    static boolean tallyOwn(long[] counts, int map, int stripe) {
        return stripe >= 0 && tallies(counts, map) && addUntimed(counts, TALLIED, stripe, 1);
    }

    /**
     * Does so often what {@link #tallyOwn} does.
     *
     * @param stripe a stripe that this thread owns, or that of the JIT warm-up
     * @param one 0: nothing is counted; not a constant, or the JVM would see that there is nothing to be stored
     * @return of use to nobody; so that nothing can be left out
     */
    @DontInline
    private static int tallyOften(long[] counts, int map, int stripe, int times, int one) {
        int done = 0;
        for (int i = 0; i < times; i++) {
            done += Stripes.owned(); // no branch here that threads of the JIT warm-up never take
            done += tallies(counts, map) && addUntimed(counts, TALLIED, stripe, one) ? 1 : 0;
        }
        return done;
    }

    /**
     * Counts a firing and its count in a map by one addition: the map reads {@link #tallied}.
     *
     * @return whether it is to be timed
     */
    static boolean tally(long[] counts) {
        long before = addOften(counts, TALLIED, 1);
        return (before & counts[TIMED]) == counts[TIMED];
    }

    /**
     * After {@link #tally}: it is over when it is known that it should be timed, so what it did is done again, and nothing counted.
     *
     * @param wayIn ns that it took to come here
     */
    void timeTally(int map, int wayIn) {
        int stripe = Stripes.owned();
        if (stripe < 0) {
            long run = timed();
            addOften(counts, TALLIED, 0);
            took(run, 0);
        } else {
            pay();
            int firings = runLength();
            long began = System.nanoTime();
            tallyOften(counts, map, stripe, firings, 0);
            tookRun(System.nanoTime() - began, firings, wayIn, 0);
        }
    }

    /** What was tallied in the stripe since the start. */
    static long tallied(long[] counts, int stripe) {
        return MEMORY.getLongVolatile(counts, offset(stripe, TALLIED))
                + MEMORY.getLongVolatile(counts, offset(stripe, TALLIED + OWN));
    }

    /** Counts FIRED or TALLIED. @return a number of those that were counted in the same place before */
    private static long addOften(long[] counts, int number, int delta) {
        int stripe = Stripes.owned();
        if (stripe < 0 && (stripe = Stripes.claim()) < 0) {
            return MEMORY.getAndAddLong(counts, offset(Stripes.here(), number), delta);
        }
        long offset = offset(stripe, number + OWN);
        long before = MEMORY.getLong(counts, offset);
        MEMORY.putLongRelease(counts, offset, before + delta);
        return before;
    }

    /**
     * Tallies four firings as if this thread owned a stripe, of which one is timed, and times runs. So the first timed firings of the
     * application measure compiled code.
     */
    void warmUpTallies() {
        Session.warmUp(counts);
        for (int i = 0; i < MOST_TIMED; i++) { // short runs: HotSpot compiles methods that are called often before loops that run long
            counts[STRIDE + TALLIED + OWN] = i;
            Session.tally(0, 0, -1, 0);
            tallyOften(counts, -1, 0, LONGEST_RUN / MOST_TIMED, 0);
        }
        Session.warmUp(null);
        timeTally(-1, 0);
    }

    /**
     * Counts a firing of a thread that owns the stripe, unless it is to be timed.
     *
     * @param one 0: it is not counted
     * @return false when nothing was done
     */
    @ForceInline
    static boolean firesUntimed(long[] counts, int stripe, int one) {
        return addUntimed(counts, FIRED, stripe, one);
    }

    /**
     * Counts FIRED or TALLIED on the thread that owns the stripe.
     *
     * @return false when nothing was done: it is to be timed
     */
    @ForceInline
    private static boolean addUntimed(long[] counts, int number, int stripe, int one) {
        long offset = offset(stripe, number + OWN);
        long before = MEMORY.getLong(counts, offset);
        long timed = MEMORY.getLong(counts, TIMED_OFFSET);
        if ((before & timed) == timed) {
            return false;
        }
        MEMORY.putLongRelease(counts, offset, before + one);
        return true;
    }

    /** A firing found that it does nothing but count into this map, which has no keys. */
    void onlyCounts(int map) {
        tallying = map;
    }

    /** A firing found that it does nothing but add to this map. */
    void onlyAdds(int map) {
        adding = map;
    }

    /** Agent threads only. Whether firings have shown that they can take a fast path, and none is set up yet. */
    boolean hasNewFastPath() {
        return tallying >= 0 && !linked || adding >= 0 && sumFastPath == null;
    }

    /** Agent threads only. @return the fast path of firings now; null: there is none, or each firing must be checked */
    SumFastPath sumFastPath(Session session) {
        if (sumFastPath == null && adding >= 0) {
            sumFastPath = session.map(adding).sumFastPath(counts);
            adding = -1;
        }
        return isFree() ? sumFastPath : null;
    }

    /** Whether nothing decides which hits fire. */
    private boolean isFree() {
        return enabled && adaptive == null && mostFirings == 0 && mostPerSecond == 0;
    }

    /**
     * Agent threads only. The first time that it is possible the map is told to count what is tallied.
     *
     * @return where firings may be tallied now; null: each must be counted on its own
     */
    long[] tallies(Session session) {
        if (!linked && tallying >= 0) {
            counts[MAP] = tallying;
            skippedWhenLinked = sampledOut();
            linked = session.map(tallying).countFrom(counts, this);
            tallying = linked ? tallying : -1;
        }
        return linked && isFree() ? counts : null;
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
        other.restrain(sampler.restraint());
        sampler = other;
    }

    void enable(boolean on) {
        overBudget = false;
        if (restingSince != 0) {
            restedNanos += System.nanoTime() - restingSince;
            restingSince = 0;
        }
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

    /** Counts a firing. @return what the handler is told of it */
    long fire() {
        int weight = weight();
        return weight > 0 && admits() ? fire(weight) : REFUSED;
    }

    /** The count is the last call: a firing that is interrupted before this method returns is not counted, and its handler knows. */
    private long fire(int weight) {
        int stripe = Stripes.owned();
        if (stripe < 0 && (stripe = Stripes.claim()) < 0) {
            long offset = offset(Stripes.here(), FIRED);
            long run = run(MEMORY.getLong(counts, offset), weight);
            MEMORY.getAndAddLong(counts, offset, 1);
            return run;
        }
        long offset = offset(stripe, FIRED + OWN);
        long before = MEMORY.getLong(counts, offset);
        long run = run(before, weight);
        MEMORY.putLongRelease(counts, offset, before + 1);
        return run;
    }


    /** Counts a hit whose predicate takes time. Not exactly: where threads meet, some are not counted. */
    long test() {
        int weight = weight();
        if (weight == 0) {
            return REFUSED;
        }
        long offset = offset(Stripes.here(), TESTED);
        long before = MEMORY.getLong(counts, offset);
        MEMORY.putLong(counts, offset, before + 1);
        return run(before, weight);
    }

    /** Counts a firing whose predicate was tested. */
    boolean pass() {
        if (!admits()) {
            return false;
        }
        addOften(counts, FIRED, 1);
        return true;
    }

    /**
     * Counts a predicate that was false, as long as they are few: so that somebody who sees nothing can be told why, and the others pay
     * for no more than a look at a number that stays as it is. Not exactly: where threads meet, some are not counted.
     */
    void untrue() {
        if (untrue < MOST_UNTRUE) {
            untrue++;
        }
    }

    @ForceInline
    private int weight() {
        AdaptiveSampler adaptive = this.adaptive;
        return adaptive == null ? 1 : adaptive.choose();
    }

    /** Of an enabled probe. Counts a hit of the thread that owns the stripe if it is not to fire; else nothing is done. */
    @ForceInline
    boolean leavesOut(int stripe) {
        AdaptiveSampler adaptive = this.adaptive;
        return adaptive != null && adaptive.leavesOut(stripe);
    }

    private long run(long number, int weight) {
        long run = (long) weight << WEIGHT_SHIFT;
        return (number & counts[TIMED]) == counts[TIMED] ? run | timed() : run;
    }

    /** Of a run that is timed from now on. */
    long timed() {
        pay();
        return TIMED_RUN | System.nanoTime() & CLOCK_MASK;
    }

    /**
     * A firing that is timed pays for those since the one that was timed before. When nothing is left of the allowance and this probe has
     * used much of it, few of its hits fire from now on: nobody needs to look first, and a probe that is hot all of a sudden takes no
     * more than what it was allowed, however long the event thread waits for a processor. When many have been timed, fewer are.
     */
    private void pay() {
        long timed = counts[TIMED];
        long due = ((timed + 1) * price >> Costs.FRACTION) + TIMING * Costs.clock();
        paid += due;
        if (!budget.pays(due, paid)) {
            stop();
        }
        if (++timings > OFTEN && timed > 0 && timed < LEAST_TIMED - 1) {
            timings = 0;
            MEMORY.compareAndSetLong(counts, TIMED_OFFSET, timed, 4 * timed + 3); // unless it was stopped meanwhile
        }
    }

    /** The first time one hit in two fires from now on, then half as many each time; the event thread decides what is to be. */
    @DontInline
    private void stop() {
        double nanos = price / (double) (1 << Costs.FRACTION);
        AdaptiveSampler now = adaptive;
        if (now != null) {
            if (++unpaid >= UNPAID) {
                unpaid = 0;
                if (now.factor < mostUseful(nanos)) {
                    now.raise();
                    budget.hurry();
                }
            }
            return;
        }
        AdaptiveSampler prepared = provisional;
        if (!isWorthThinning(nanos)) {
            budget.hurry();
        } else if (prepared != null
                && MEMORY.compareAndSetReference(this, PROVISIONAL_SAMPLER, prepared, null) // so that no other thread can put it in later
                && MEMORY.compareAndSetReference(this, ADAPTIVE_SAMPLER, null, prepared)) {
            unpaid = 0;
            budget.hurry();
            counts[TIMED] = 0; // fast paths leave timed firings to the slow path
        }
    }

    static boolean isTimed(long run) {
        return run >= 0 && (run & TIMED_RUN) != 0;
    }

    static long weight(long run) {
        return run >>> WEIGHT_SHIFT;
    }

    /** A run that is timed ends. */
    void took(long run, int readings) {
        Costs costs = this.costs;
        if (costs != null) {
            this.readings = readings;
            learn(costs.add(System.nanoTime() - run & CLOCK_MASK, readings, counts[TIMED] + 1));
        }
    }

    /** How many firings are timed as a whole where one alone takes less than the clock tells. */
    int runLength() {
        long every = counts[TIMED] + 1;
        return every < LONGEST_RUN ? (int) every : LONGEST_RUN;
    }

    /** Learns the cost of a run of firings on the fast path; entering takes each of them {@code wayIn} ns more. */
    void tookRun(long nanos, int firings, int wayIn, int readings) {
        Costs costs = this.costs;
        if (costs != null) {
            this.wayIn = wayIn;
            this.readings = readings;
            learn(costs.addRun(nanos, firings, wayIn, readings, counts[TIMED] + 1));
        }
    }

    /** One of them moves the price by an eighth of the way, and never to more than three times what it was: it may have been disturbed. */
    private void learn(long cost) {
        long price = this.price;
        this.price = price + ((cost < 16 * price ? cost : 16 * price) - price >> 3) | 1; // never 0
    }

    /** Whether the budget lets it make a record; else that is counted. */
    boolean prints() {
        if (printsLess && MEMORY.getAndAddLong(used, Memory.LONG_BASE + 24, 1) >= FEW_RECORDS) {
            lose(HELD_BACK);
            return false;
        }
        return true;
    }

    private boolean admits() {
        if (mostPerSecond > 0 && MEMORY.getAndAddLong(used, Memory.LONG_BASE + 8, -1) <= 0) {
            lose(LIMITED);
            return false;
        }
        long most = mostFirings; // another limit may be set meanwhile
        if (most > 0) {
            long before = MEMORY.getAndAddLong(used, Memory.LONG_BASE, 1);
            if (before >= most) {
                lose(LIMITED);
                return false;
            }
            if (before + 1 == most) {
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
        if (newSecond && printsLess) {
            MEMORY.putLongVolatile(used, Memory.LONG_BASE + 24, 0);
        }
        if (newSecond && sampler != null && group == id) {
            sampler.second(count(FULL));
        }
    }

    /** What happened in one interval: hits, those that ran the handler, records, ns that they took. */
    static final class Load {
        long passes;
        long out;
        long records;
        double nanos;
    }

    /**
     * Event thread, some times a second, and soon after {@link #pay} found nothing left: what firings cost since the last time, and how
     * many of the next are timed.
     *
     * @param scratch of {@link Costs#scratch}
     */
    Load account(long now, long[] scratch) {
        Costs costs = this.costs;
        double seconds = (now - accountedNanos) / 1e9;
        long passes = passes();
        long out = sampledOut();
        long records = produced();
        load.passes = passes - accountedPasses;
        load.out = out - accountedOut;
        load.records = records - accountedRecords;
        load.nanos = 0;
        accountedPasses = passes;
        accountedOut = out;
        accountedRecords = records;
        accountedNanos = now;
        if (costs != null && load.passes + load.out > 0) {
            int every = (int) Math.min(LEAST_TIMED, Math.max(MOST_TIMED, load.passes / seconds / TIMED_A_SECOND));
            counts[TIMED] = Integer.highestOneBit(every) - 1;
            if (sampler == null && adaptive == null && provisional == null && (tallying < 0 || linked)) {
                provisional = new AdaptiveSampler(2, true);
            }
            mostThinning = Math.max(mostThinning, thinning());
            Costs.Figures recent = costs.recent(scratch);
            mean = recent.count >= ENOUGH ? recent.mean : costs.all().mean;
            runs += load.passes;
            runNanos += load.passes * mean;
            load.nanos = load.passes * mean + load.out * outNanos();
            cpuNanos += load.nanos;
        }
        paid = 0;
        timings = 0;
        return load;
    }

    /** What {@link #account} gave last. */
    Load load() {
        return load;
    }

    /** ns of a run, of late. */
    double mean() {
        return mean;
    }

    /** ns of a hit that is not of the sample. */
    double outNanos() {
        boolean onlyAdds = sumFastPath != null || linked;
        int nanos = sampler != null ? SAMPLED_OUT_NANOS : onlyAdds ? ADDING_THINNED_OUT_NANOS + wayIn : THINNED_OUT_NANOS;
        return nanos + readings * Costs.clock();
    }

    // ------------------------------------------------------------------------------------------------ the budget

    boolean printsLess() {
        return printsLess;
    }

    /** How many hits one that fires stands for, because of the budget. */
    int thinning() {
        AdaptiveSampler adaptive = this.adaptive;
        return sampler != null ? sampler.restraint() : adaptive == null ? 1 : adaptive.factor;
    }

    boolean isUnthinned() {
        return adaptive == null;
    }

    /** Whether it takes clearly less when fewer hits fire than do now. */
    boolean isWorthThinning() {
        return isWorthThinning(mean) && thinning() < mostUseful(mean);
    }

    private boolean isWorthThinning(double nanos) {
        return nanos > WORTH * outNanos() && !(linked && isLimited());
    }

    /** The largest factor that takes clearly less than half of it does. */
    private int mostUseful(double nanos) {
        double most = SMALL_PART * nanos / outNanos();
        int factor = 2;
        while (2 * factor <= most && factor < AdaptiveSampler.MOST) { // Math is Java code that may be traced
            factor *= 2;
        }
        return factor;
    }

    private boolean isLimited() {
        return mostFirings != 0 || mostPerSecond != 0;
    }

    /** Whether a thread that fired has restrained it, and the event thread has not decided yet what is to be. */
    boolean isStopped() {
        AdaptiveSampler adaptive = this.adaptive;
        return adaptive != null && adaptive.isRaised;
    }

    void printLess(boolean less) {
        MEMORY.putLongVolatile(used, Memory.LONG_BASE + 24, 0);
        printsLess = less;
    }

    /** Event thread. What hits of a smaller factor go on in open blocks is of no further interest: they are represented on average. */
    void thin(int factor) {
        mostThinning = Math.max(mostThinning, factor);
        if (sampler != null) {
            sampler.restrain(factor);
            return;
        }
        AdaptiveSampler now = adaptive;
        if (now != null && factor >= now.factor) {
            now.isRaised = false;
            now.factor = factor;
        } else if (now != null || factor > 1) {
            AdaptiveSampler next = factor == 1 ? null : new AdaptiveSampler(factor, false);
            while (!MEMORY.compareAndSetReference(this, ADAPTIVE_SAMPLER, now, next)) {
                now = adaptive;
            }
            retire(now);
        }
        counts[TIMED] = MOST_TIMED - 1; // what such a firing takes is to be known soon
    }

    private void retire(AdaptiveSampler adaptive) {
        AdaptiveSampler[] retired = this.retired;
        if (adaptive != null) {
            if (retired.length > 1) {
                sampledOutBefore += retired[1].leftOut();
            }
            this.retired = retired.length == 0 ? new AdaptiveSampler[] {adaptive} : new AdaptiveSampler[] {adaptive, retired[0]};
        }
    }

    /** {@code comesBack}: when there is room it may be tried again. */
    void disableForBudget(boolean comesBack) {
        disable(OVER_BUDGET);
        overBudget = comesBack;
        if (restingSince == 0) {
            restingSince = System.nanoTime();
        }
    }

    /** How long the budget has had the probe disabled, in ns. */
    long rested() {
        long since = restingSince;
        return restedNanos + (since == 0 ? 0 : System.nanoTime() - since);
    }

    // ------------------------------------------------------------------------------------------------ hits that were skipped

    /** Hits that sampling or the budget did not look at. */
    long skipped() {
        return sampledOut();
    }

    /** Those of them that are not counted as they are ({@link ProbeCounter}). */
    long uncounted() {
        return countsSkipped() ? skippedWhenLinked : sampledOut();
    }

    /** Hits that no weight stands for, though weights of other hits do for those beside them. */
    long pending() {
        Sampler sampler = this.sampler;
        return sampler == null ? 0 : sampler.pending();
    }

    /** How many hits one that fires stands for, at most. */
    long largestFactor() {
        Sampler sampler = this.sampler;
        return Math.max(mostThinning, Math.max(thinning(), sampler == null ? 1 : sampler.factor()));
    }

    /** Whether the map that takes what is tallied here takes the hits that were left out, too: then it is exact. */
    boolean countsSkipped() {
        return linked && !isLimited() && sampler == null;
    }

    /** ns of a hit of the disabled probe, for what woven code does before it asks. */
    double disabledNanos() {
        return readings * Costs.clock();
    }

    /** Whether it is the budget that has disabled it, and nobody else since. */
    boolean isOverBudget() {
        return overBudget && !enabled;
    }

    /** Runs of the handler that may be timed: with a predicate that takes time all of them, else the firings. */
    private long passes() {
        long tested = count(TESTED);
        return tested != 0 ? tested : firings();
    }

    private long sampledOut() {
        if (sampler != null) {
            return sampledOutBefore + sampler.hits() - sampler.chosen();
        }
        AdaptiveSampler adaptive = this.adaptive;
        long leftOut = sampledOutBefore + (adaptive == null ? 0 : adaptive.leftOut());
        for (AdaptiveSampler before : retired) {
            leftOut += before == adaptive ? 0 : before.leftOut();
        }
        return leftOut;
    }

    private long produced() {
        return delivered + stalled + count(FULL) + count(LARGE) + count(HELD_BACK);
    }

    private long firings() {
        return count(FIRED) + count(FIRED + OWN) + count(TALLIED) + count(TALLIED + OWN) + interruptions.firings();
    }

    void lose(int cause) {
        MEMORY.getAndAddLong(counts, offset(Stripes.here(), cause), 1);
    }

    private long count(int cause) {
        long sum = 0;
        for (int stripe = 0; stripe < Stripes.COUNT; stripe++) {
            sum += MEMORY.getLongVolatile(counts, offset(stripe, cause));
        }
        return sum;
    }

    /** A row of COUNTERS. */
    void write(Output out) {
        out.u4(id);
        out.u8(produced());
        out.u8(count(FULL));
        out.u8(count(LARGE));
        out.u8(stalled);
        out.u8(forgotten);
        out.u8(count(HELD_BACK));
        out.u8(count(MAP_FULL));
        out.u8(firings());
        out.u8(sampledOut());
        out.u8(count(LIMITED));
        out.u4(untrue);
        Costs.Figures figures = costs == null ? Costs.NONE : costs.all();
        out.u8(figures.count);
        // Not the mean of those that were timed: of the first ones, which are slow, more are timed than of the others.
        out.u8((long) (1000 * (runs > 0 && mean > 0 ? runNanos / runs : figures.mean)));
        out.u8((long) (1000 * figures.error));
        out.u8(figures.p99);
        out.u8((long) cpuNanos);
        out.u8(rested());
        out.u1(state);
    }
}
