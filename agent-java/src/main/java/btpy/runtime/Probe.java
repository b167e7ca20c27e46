package btpy.runtime;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * One probe of a session: decides which of its hits fire, and counts its firings and records.
 *
 * <p>The counts of each firing have two numbers in each stripe: one for the owner of the stripe ({@link Stripes}), and
 * one for the threads that share it.
 */
final class Probe {
    /** Indices of counts: reasons why a record was dropped, and outcomes of hits. */
    static final int FULL = 0;
    static final int LARGE = 1;
    static final int MAP_FULL = 2;
    static final int FIRED = 3;
    private static final int LIMITED = 4;
    private static final int TALLIED = 5;
    private static final int TESTED = 6;
    static final int HELD_BACK = 7;
    /** The distance from the index FIRED or TALLIED to the index of the number that the owner of the stripe counted. */
    static final int OWN = 8;

    // The argument of a handler for a run: weight:22 (bits 41–62) · whether it is timed:1 · clock when it began:40
    // (modulo 18 minutes)
    /** The value if a limit or the budget refuses the run. */
    static final long REFUSED = Long.MIN_VALUE;
    private static final int WEIGHT_SHIFT = 41;
    private static final long TIMED_RUN = 1L << 40;
    private static final long CLOCK_MASK = TIMED_RUN - 1;
    static final int MOST_WEIGHT = (1 << 22) - 1;

    /** The state of a probe and its reason, as COUNTERS reports it. */
    static final int ON = 0;
    static final int OFF = 1;
    static final int HITS_USED_UP = 2;
    static final int TIME_IS_UP = 3;
    static final int DISABLED_ITSELF = 4;
    static final int FAILED_TOO_OFTEN = 5;
    static final int OVER_BUDGET = 6;

    /** The number of records that a probe may make in a second after the budget has restrained its records. */
    private static final int FEW_RECORDS = 200;

    private static final Memory MEMORY = Memory.instance();
    private static final long ADAPTIVE_SAMPLER = MEMORY.fieldOffset(Probe.class, "adaptive");
    private static final long PROVISIONAL_SAMPLER = MEMORY.fieldOffset(Probe.class, "provisional");
    /**
     * The numbers of one stripe, with padding that separates the cache lines of stripes. The same amount precedes the
     * first stripe.
     */
    static final int STRIDE = 24;
    private static final int MAP = 0;
    private static final int TIMED = 1;
    private static final long MAP_OFFSET = Memory.LONG_BASE + 8L * MAP;
    private static final long TIMED_OFFSET = Memory.LONG_BASE + 8L * TIMED;

    /**
     * The number of firings that are timed in a second if there are many; then the smallest and the largest number of
     * firings of which one is timed.
     */
    private static final int TIMED_A_SECOND = 500;
    private static final int MOST_TIMED = 4;
    private static final int LEAST_TIMED = 1 << 14;
    /** If more than this number were timed since the last look, fewer are timed afterwards. */
    private static final int OFTEN = 64;
    /**
     * The largest number of firings in a run that is timed as a whole. A run is at most as long as the number of
     * firings of which one is timed.
     */
    private static final int LONGEST_RUN = 64;
    /** The cost of timing a firing, in readings of the clock. */
    private static final int TIMING = 3;
    /** The number of false predicates that are counted. */
    private static final int MOST_UNTRUE = 1000;
    /** The smallest number of durations whose mean is used as the current cost of firings. */
    private static final int ENOUGH = 8;
    /**
     * The time of a decision that a hit does not fire, in ns: by a {@link Sampler}, and by an {@link AdaptiveSampler}
     * on the thread that owns the stripe.
     */
    private static final int SAMPLED_OUT_NANOS = 6;
    private static final int THINNED_OUT_NANOS = 8;
    /** The time of a decision by an {@link AdaptiveSampler}, in ns, if it comes before all other checks. */
    private static final int ADDING_THINNED_OUT_NANOS = 4;
    /** The time of a hit of a disabled probe, without the work of woven code before the check. */
    static final int DISABLED_NANOS = 4;
    /**
     * Hits are skipped only if a firing costs at least this many times as much as a skipped hit. Otherwise skipping
     * gains nothing.
     */
    private static final double WORTH = 1.5;
    /** The assumed cost of a firing before any is measured, in ns. */
    private static final int UNKNOWN_NANOS = 2000;
    /** The number of timed firings with an empty allowance after which the sampling factor doubles. */
    private static final int UNPAID = 8;
    /** Skipping more hits gains nothing if the firings cost only this small a part of the cost of skipped hits. */
    private static final int SMALL_PART = 8;

    final int id;
    private final Budget budget;
    volatile boolean enabled;
    int state = OFF;
    /** The sampler of the user; null if every hit fires. Probes that share one decision share the sampler. */
    Sampler sampler;
    /** The hits that earlier samplers skipped. */
    private long sampledOutBefore;
    /** The lowest id of the probes that share one decision. */
    int group;
    /**
     * The records that the event thread passed on, and the records whose writer never finished. Only the event thread
     * writes these numbers.
     */
    long deliveredRecords;
    long stalledRecords;
    /**
     * The number of sent records for which no client was connected, and the number that went to earlier clients.
     */
    long forgottenRecords;
    long handedOverRecords;
    /** The level; below 0 if there is none. */
    int level = -1;

    /**
     * The limits: all firings, firings a second, ns until the probe is disabled, and failures until it is disabled; 0:
     * no limit.
     */
    private long mostFirings;
    private long mostPerSecond;
    private long lifetime;
    private long mostFailures;
    private long enabledNanos;
    /**
     * The admitted firings, the remaining firings of this second, the failures since it was enabled, and the records of
     * this second.
     */
    private final long[] limitCounts = new long[4];
    /**
     * Element 0 is the map that takes its count from {@link #TALLIED}. Element 1 decides which firings are timed: a
     * firing is timed if its number in its stripe has all bits of this element. So the first firing, which loads
     * classes, is never timed. The stripes follow.
     */
    private final long[] counts = new long[STRIDE + STRIDE * Stripes.COUNT];
    /** Null until the probe is first enabled. */
    private volatile Costs costs;
    /** Only for the event thread: the total cost of firings in ns, and the counts at the last update. */
    private double cpuNanos;
    private double mean;
    /** Only for the event thread: the runs of the handler that were accounted for, and their cost. */
    private long runs;
    private double runNanos;
    private int readings;
    private int wayIn;
    /**
     * Chooses the hits that fire while the budget lets only some fire; null if all fire. A probe with a sampler of the
     * user has no adaptive sampler.
     */
    private volatile AdaptiveSampler adaptive;
    /**
     * The sampler that a firing thread may install ({@link #pay}) before the event thread decides; null if none is
     * prepared.
     */
    private volatile AdaptiveSampler provisional;
    /** The two samplers before {@link #adaptive}, the newer first, because threads may still count hits there. */
    private volatile AdaptiveSampler[] retiredSamplers = {};
    /** The largest factor of an adaptive sampler so far. */
    private int mostThinning = 1;
    /**
     * Timed firings that found the allowance empty since the factor was raised. The number is not exact, because
     * concurrent increments may be lost.
     */
    private int unpaid;
    /**
     * The total time for which the budget has disabled the probe, in ns, and the start of the current rest; 0 if it is
     * not resting.
     */
    private long restedNanos;
    private long restingSince;
    /**
     * The recent cost of a firing, in the unit of {@link Costs}. Concurrent updates of this field and of the next two
     * may be lost, so the numbers are approximate.
     */
    private long price = UNKNOWN_NANOS << Costs.FRACTION;
    /**
     * Since the last look of the event thread: the ns that firings took from the allowance, and the number of timed
     * firings.
     */
    private long paid;
    private int timings;
    private volatile boolean printsLess;
    /** Only for the event thread: whether the probe has restrained itself, and had printed records before. */
    boolean mayPrintLess;
    private volatile boolean overBudget;
    /** Whether the probe fires on threads of the agent, where firings cost the application nothing. */
    boolean ofAgent;
    private long accountedNanos = System.nanoTime();
    private long accountedPasses;
    private long accountedOut;
    private long accountedRecords;
    private final Load load = new Load();
    /** The map to which firings only add, and the map into which they only count without a key; −1: none is known. */
    private volatile int addMap = -1;
    private volatile int tallyMap = -1;
    private SumFastPath sumFastPath;
    private boolean linked;
    /** The skipped hits before linking, which the weights of other hits represent. */
    private long skippedWhenLinked;
    private int falsePredicates;
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

    /** Whether firings that only count into the map may be tallied here. */
    static boolean tallies(long[] counts, int map) {
        return MEMORY.getLong(counts, MAP_OFFSET) == map;
    }

    /**
     * Does the work of {@link #tally} on a thread that owns its stripe, in as few steps as possible.
     *
     * @param stripe the stripe of this thread; below 0 if it owns none
     * @return false if nothing was done: the thread owns no stripe, the probe tallies into another map, or the firing
     *     must be timed
     */
    @ForceInline
    static boolean tallyOwn(long[] counts, int map, int stripe) {
        return stripe >= 0 && tallies(counts, map) && addUntimed(counts, TALLIED, stripe, 1);
    }

    /**
     * Repeats the work of {@link #tallyOwn}.
     *
     * @param stripe a stripe that this thread owns, or the stripe of the JIT warm-up
     * @param increment 0: nothing is counted; not a constant, or the JVM would remove the store
     * @return an unused number, so that the JVM cannot remove any work
     */
    @DontInline
    private static int tallyOften(long[] counts, int map, int stripe, int times, int increment) {
        int count = 0;
        for (int i = 0; i < times; i++) {
            count += Stripes.owned(); // no branch here that threads of the JIT warm-up never take
            count += tallies(counts, map) && addUntimed(counts, TALLIED, stripe, increment) ? 1 : 0;
        }
        return count;
    }

    /**
     * Counts a firing and its count in a map by one addition, because the map reads {@link #tallied}.
     *
     * @return whether the firing must be timed
     */
    static boolean tally(long[] counts) {
        long oldCount = addOften(counts, TALLIED, 1);
        return (oldCount & counts[TIMED]) == counts[TIMED];
    }

    /**
     * Called after {@link #tally}. The firing ended before it was known that it must be timed, so its work is repeated
     * without counting.
     *
     * @param wayIn the ns before this call
     */
    void timeTally(int map, int wayIn) {
        int stripe = Stripes.owned();
        if (stripe < 0) {
            long run = beginTimedRun();
            addOften(counts, TALLIED, 0);
            endRun(run, 0);
        } else {
            pay();
            int firings = runLength();
            long began = System.nanoTime();
            tallyOften(counts, map, stripe, firings, 0);
            endRuns(System.nanoTime() - began, firings, wayIn, 0);
        }
    }

    /** The number of tallies in the stripe since the start. */
    static long tallied(long[] counts, int stripe) {
        return MEMORY.getLongVolatile(counts, offset(stripe, TALLIED))
                + MEMORY.getLongVolatile(counts, offset(stripe, TALLIED + OWN));
    }

    /** Counts FIRED or TALLIED. @return the previous count at the same place */
    private static long addOften(long[] counts, int number, int delta) {
        int stripe = Stripes.owned();
        if (stripe < 0 && (stripe = Stripes.claim()) < 0) {
            return MEMORY.getAndAddLong(counts, offset(Stripes.here(), number), delta);
        }
        long offset = offset(stripe, number + OWN);
        long oldCount = MEMORY.getLong(counts, offset);
        MEMORY.putLongRelease(counts, offset, oldCount + delta);
        return oldCount;
    }

    /**
     * Tallies four firings as if this thread owned a stripe, times one of them, and times runs. So the first timed
     * firings of the application measure compiled code.
     */
    void warmUpTallies() {
        Session.warmUp(counts);
        for (int i = 0; i < MOST_TIMED; i++) { // short runs: HotSpot compiles frequently called methods before long loops
            counts[STRIDE + TALLIED + OWN] = i;
            Session.tally(0, 0, -1, 0);
            tallyOften(counts, -1, 0, LONGEST_RUN / MOST_TIMED, 0);
        }
        Session.warmUp(null);
        timeTally(-1, 0);
    }

    /**
     * Counts a firing of a thread that owns the stripe, unless it must be timed.
     *
     * @param increment 0: it is not counted
     * @return false if nothing was done
     */
    @ForceInline
    static boolean firesUntimed(long[] counts, int stripe, int increment) {
        return addUntimed(counts, FIRED, stripe, increment);
    }

    /**
     * Counts FIRED or TALLIED on the thread that owns the stripe.
     *
     * @return false if nothing was done because the firing must be timed
     */
    @ForceInline
    private static boolean addUntimed(long[] counts, int number, int stripe, int increment) {
        long offset = offset(stripe, number + OWN);
        long oldCount = MEMORY.getLong(counts, offset);
        long timedMask = MEMORY.getLong(counts, TIMED_OFFSET);
        if ((oldCount & timedMask) == timedMask) {
            return false;
        }
        MEMORY.putLongRelease(counts, offset, oldCount + increment);
        return true;
    }

    /** Called by a firing that only counts into this map, which has no keys. */
    void onlyCounts(int map) {
        tallyMap = map;
    }

    /** Called by a firing that only adds to this map. */
    void onlyAdds(int map) {
        addMap = map;
    }

    /** Called by agent threads. Whether firings have shown that they can take a fast path that is not set up yet. */
    boolean hasNewFastPath() {
        return tallyMap >= 0 && !linked || addMap >= 0 && sumFastPath == null;
    }

    /**
     * Called by agent threads.
     * @return the current fast path of firings; null if there is none, or if each firing must be checked
     */
    SumFastPath sumFastPath(Session session) {
        if (sumFastPath == null && addMap >= 0) {
            sumFastPath = session.map(addMap).sumFastPath(counts);
            addMap = -1;
        }
        return isFree() ? sumFastPath : null;
    }

    /** Whether every hit fires. */
    private boolean isFree() {
        return enabled && adaptive == null && mostFirings == 0 && mostPerSecond == 0;
    }

    /**
     * Called by agent threads. The first successful call tells the map to count the tallies.
     *
     * @return the counts into which firings may now be tallied; null if each must be counted separately
     */
    long[] tallies(Session session) {
        if (!linked && tallyMap >= 0) {
            counts[MAP] = tallyMap;
            skippedWhenLinked = skipped();
            linked = session.map(tallyMap).countFrom(counts, this);
            tallyMap = linked ? tallyMap : -1;
        }
        return linked && isFree() ? counts : null;
    }

    void limit(long mostFirings, long mostPerSecond, long lifetime, long mostFailures) {
        this.mostFirings = mostFirings;
        this.mostPerSecond = mostPerSecond;
        this.lifetime = lifetime;
        this.mostFailures = mostFailures;
        limitCounts[1] = mostPerSecond;
    }

    /** Sets new limits, and counts firings from 0 again. The count of failures is not changed. */
    void limit(long mostFirings, long mostPerSecond, long lifetime) {
        enabledNanos = System.nanoTime();
        MEMORY.putLongVolatile(limitCounts, Memory.LONG_BASE, 0);
        limit(mostFirings, mostPerSecond, lifetime, mostFailures);
    }

    /** Replaces the sampler. The hits that the previous sampler skipped remain counted. */
    void sample(Sampler newSampler) {
        sampledOutBefore = skipped();
        newSampler.restrain(sampler.restraint());
        sampler = newSampler;
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
        MEMORY.putLongVolatile(limitCounts, Memory.LONG_BASE + 16, 0);
        state = on ? ON : enabled ? OFF : state;
        enabled = on;
    }

    void disable(int why) {
        if (enabled) {
            enabled = false;
            state = why;
        }
    }

    /** Counts a firing. @return the argument of the handler */
    long fire() {
        int weight = weight();
        return weight > 0 && admits() ? fire(weight) : REFUSED;
    }

    /**
     * Counts a firing. The counting is the last call. So if a firing is interrupted before this method returns, it is
     * not counted, and its handler knows this.
     */
    private long fire(int weight) {
        int stripe = Stripes.owned();
        if (stripe < 0 && (stripe = Stripes.claim()) < 0) {
            long offset = offset(Stripes.here(), FIRED);
            long run = run(MEMORY.getLong(counts, offset), weight);
            MEMORY.getAndAddLong(counts, offset, 1);
            return run;
        }
        long offset = offset(stripe, FIRED + OWN);
        long oldCount = MEMORY.getLong(counts, offset);
        long run = run(oldCount, weight);
        MEMORY.putLongRelease(counts, offset, oldCount + 1);
        return run;
    }

    /** Counts a hit whose predicate takes time. The count is approximate, because concurrent updates may be lost. */
    long test() {
        int weight = weight();
        if (weight == 0) {
            return REFUSED;
        }
        long offset = offset(Stripes.here(), TESTED);
        long oldCount = MEMORY.getLong(counts, offset);
        MEMORY.putLong(counts, offset, oldCount + 1);
        return run(oldCount, weight);
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
     * Counts false predicates, up to a limit, so that a user who sees no firings can learn why. Further hits only read
     * a number that does not change. The count is approximate, because concurrent updates may be lost.
     */
    void countFalse() {
        if (falsePredicates < MOST_UNTRUE) {
            falsePredicates++;
        }
    }

    @ForceInline
    private int weight() {
        AdaptiveSampler adaptive = this.adaptive;
        return adaptive == null ? 1 : adaptive.choose();
    }

    /**
     * Counts a hit of an enabled probe, on the thread that owns the stripe, if the hit must not fire. Otherwise does
     * nothing.
     */
    @ForceInline
    boolean leavesOut(int stripe) {
        AdaptiveSampler adaptive = this.adaptive;
        return adaptive != null && adaptive.leavesOut(stripe);
    }

    private long run(long number, int weight) {
        long run = (long) weight << WEIGHT_SHIFT;
        return (number & counts[TIMED]) == counts[TIMED] ? run | beginTimedRun() : run;
    }

    /** Begins a timed run. Returns the argument with which the handler runs. */
    long beginTimedRun() {
        pay();
        return TIMED_RUN | System.nanoTime() & CLOCK_MASK;
    }

    /**
     * Subtracts the cost of the firings since the last timed firing from the allowance. If the allowance is empty and
     * this probe has used much of it, its hits are sampled at once, without waiting for the event thread. So a probe
     * that becomes hot suddenly stays within its allowance, even if the event thread waits long for a processor. If
     * many firings have been timed, fewer are timed.
     */
    private void pay() {
        long timedMask = counts[TIMED];
        long dueNanos = ((timedMask + 1) * price >> Costs.FRACTION) + TIMING * Costs.clock();
        paid += dueNanos;
        if (!budget.pays(dueNanos, paid)) {
            stop();
        }
        if (++timings > OFTEN && timedMask > 0 && timedMask < LEAST_TIMED - 1) {
            timings = 0;
            // no effect if the probe has restrained itself in the meantime
            MEMORY.compareAndSetLong(counts, TIMED_OFFSET, timedMask, 4 * timedMask + 3);
        }
    }

    /**
     * Makes half as many hits fire, at the first call and after every few further calls. The event thread then decides
     * how to continue.
     */
    @DontInline
    private void stop() {
        double nanos = price / (double) (1 << Costs.FRACTION);
        AdaptiveSampler currentSampler = adaptive;
        if (currentSampler != null) {
            if (++unpaid >= UNPAID) {
                unpaid = 0;
                if (currentSampler.factor < mostUseful(nanos)) {
                    currentSampler.raise();
                    budget.hurry();
                }
            }
            return;
        }
        AdaptiveSampler nextSampler = provisional;
        if (!isWorthThinning(nanos)) {
            budget.hurry();
        } else if (nextSampler != null
                // first taken out, so that no other thread can install it later
                && MEMORY.compareAndSetReference(this, PROVISIONAL_SAMPLER, nextSampler, null)
                && MEMORY.compareAndSetReference(this, ADAPTIVE_SAMPLER, null, nextSampler)) {
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

    /** Ends a timed run. */
    void endRun(long run, int readings) {
        Costs costs = this.costs;
        if (costs != null) {
            this.readings = readings;
            learn(costs.add(System.nanoTime() - run & CLOCK_MASK, readings, counts[TIMED] + 1));
        }
    }

    /** The number of firings that are timed as a whole if one takes less than the resolution of the clock. */
    int runLength() {
        long every = counts[TIMED] + 1;
        return every < LONGEST_RUN ? (int) every : LONGEST_RUN;
    }

    /**
     * Learns the cost of a run of firings on the fast path. Each of them costs {@code wayIn} ns more, for entering the
     * handler.
     */
    void endRuns(long nanos, int firings, int wayIn, int readings) {
        Costs costs = this.costs;
        if (costs != null) {
            this.wayIn = wayIn;
            this.readings = readings;
            learn(costs.addRun(nanos, firings, wayIn, readings, counts[TIMED] + 1));
        }
    }

    /**
     * Updates the price. A duration moves the price by an eighth of the difference, and at most to about three times
     * the old price, because the duration may have been disturbed.
     */
    private void learn(long cost) {
        long price = this.price;
        this.price = price + ((cost < 16 * price ? cost : 16 * price) - price >> 3) | 1; // never 0
    }

    /** Whether the budget lets the probe make a record. A refused record is counted. */
    boolean prints() {
        if (printsLess && MEMORY.getAndAddLong(limitCounts, Memory.LONG_BASE + 24, 1) >= FEW_RECORDS) {
            lose(HELD_BACK);
            return false;
        }
        return true;
    }

    private boolean admits() {
        if (mostPerSecond > 0 && MEMORY.getAndAddLong(limitCounts, Memory.LONG_BASE + 8, -1) <= 0) {
            lose(LIMITED);
            return false;
        }
        long limit = mostFirings; // another limit may be set in the meantime
        if (limit > 0) {
            long firings = MEMORY.getAndAddLong(limitCounts, Memory.LONG_BASE, 1);
            if (firings >= limit) {
                lose(LIMITED);
                return false;
            }
            if (firings + 1 == limit) {
                disable(HITS_USED_UP);
            }
        }
        return true;
    }

    /** Counts a firing that ended in an error. */
    void fail() {
        if (mostFailures > 0 && MEMORY.getAndAddLong(limitCounts, Memory.LONG_BASE + 16, 1) + 1 >= mostFailures) {
            disable(FAILED_TOO_OFTEN);
        }
    }

    /** Called by the event thread from time to time. */
    void tick(long now, boolean newSecond) {
        if (lifetime > 0 && enabled && now - enabledNanos >= lifetime) {
            disable(TIME_IS_UP);
        }
        if (newSecond && mostPerSecond > 0) {
            MEMORY.putLongVolatile(limitCounts, Memory.LONG_BASE + 8, mostPerSecond);
        }
        if (newSecond && printsLess) {
            MEMORY.putLongVolatile(limitCounts, Memory.LONG_BASE + 24, 0);
        }
        if (newSecond && sampler != null && group == id) {
            sampler.endSecond(count(FULL));
        }
    }

    /** The load of one interval: hits, hits that did not run the handler, records, and their cost in ns. */
    static final class Load {
        long passes;
        long out;
        long records;
        double nanos;
    }

    /**
     * Called by the event thread several times a second, and soon after {@link #pay} found an empty allowance. Computes
     * the cost of firings since the last call, and decides how many of the next firings are timed.
     *
     * @param scratch from {@link Costs#scratch}
     */
    Load account(long now, long[] scratch) {
        Costs costs = this.costs;
        double seconds = (now - accountedNanos) / 1e9;
        long passes = passes();
        long out = skipped();
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
            if (sampler == null && adaptive == null && provisional == null && (tallyMap < 0 || linked)) {
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

    /** The last result of {@link #account}. */
    Load load() {
        return load;
    }

    /** The recent cost of a run in ns. */
    double mean() {
        return mean;
    }

    /** The cost in ns of a hit that sampling skips. */
    double outNanos() {
        boolean onlyAdds = sumFastPath != null || linked;
        int nanos = sampler != null ? SAMPLED_OUT_NANOS : onlyAdds ? ADDING_THINNED_OUT_NANOS + wayIn : THINNED_OUT_NANOS;
        return nanos + readings * Costs.clock();
    }

    boolean printsLess() {
        return printsLess;
    }

    /** The number of hits for which a firing stands because of the budget. */
    int thinning() {
        AdaptiveSampler adaptive = this.adaptive;
        return sampler != null ? sampler.restraint() : adaptive == null ? 1 : adaptive.factor;
    }

    boolean isUnthinned() {
        return adaptive == null;
    }

    /** Whether the probe costs clearly less if fewer of its hits fire. */
    boolean isWorthThinning() {
        return isWorthThinning(mean) && thinning() < mostUseful(mean);
    }

    private boolean isWorthThinning(double nanos) {
        return nanos > WORTH * outNanos() && !(linked && isLimited());
    }

    /** The largest sampling factor that is useful: skipped hits then cost clearly less than half of a firing. */
    private int mostUseful(double nanos) {
        double limit = SMALL_PART * nanos / outNanos();
        int factor = 2;
        while (2 * factor <= limit && factor < AdaptiveSampler.MAX_FACTOR) { // Math is Java code that may be traced
            factor *= 2;
        }
        return factor;
    }

    private boolean isLimited() {
        return mostFirings != 0 || mostPerSecond != 0;
    }

    /** Whether a firing thread has restrained the probe, and the event thread has not decided yet how to continue. */
    boolean isStopped() {
        AdaptiveSampler adaptive = this.adaptive;
        return adaptive != null && adaptive.isRaised;
    }

    void printLess(boolean less) {
        MEMORY.putLongVolatile(limitCounts, Memory.LONG_BASE + 24, 0);
        printsLess = less;
    }

    /**
     * Called by the event thread. Sets the factor of sampling. If the factor becomes smaller, open blocks are
     * abandoned, but on average the weights still represent their hits.
     */
    void thin(int factor) {
        mostThinning = Math.max(mostThinning, factor);
        if (sampler != null) {
            sampler.restrain(factor);
            return;
        }
        AdaptiveSampler oldSampler = adaptive;
        if (oldSampler != null && factor >= oldSampler.factor) {
            oldSampler.isRaised = false;
            oldSampler.factor = factor;
        } else if (oldSampler != null || factor > 1) {
            AdaptiveSampler newSampler = factor == 1 ? null : new AdaptiveSampler(factor, false);
            while (!MEMORY.compareAndSetReference(this, ADAPTIVE_SAMPLER, oldSampler, newSampler)) {
                oldSampler = adaptive;
            }
            retire(oldSampler);
        }
        counts[TIMED] = MOST_TIMED - 1; // the cost of these firings is needed soon
    }

    private void retire(AdaptiveSampler adaptive) {
        AdaptiveSampler[] retiredSamplers = this.retiredSamplers;
        if (adaptive != null) {
            if (retiredSamplers.length > 1) {
                sampledOutBefore += retiredSamplers[1].skippedHits();
            }
            this.retiredSamplers = retiredSamplers.length == 0 ? new AdaptiveSampler[] {adaptive}
                    : new AdaptiveSampler[] {adaptive, retiredSamplers[0]};
        }
    }

    /** Disables the probe. With {@code comesBack}, the budget may enable the probe again when probes cost less. */
    void disableForBudget(boolean comesBack) {
        disable(OVER_BUDGET);
        overBudget = comesBack;
        if (restingSince == 0) {
            restingSince = System.nanoTime();
        }
    }

    /** The time for which the budget has disabled the probe, in ns. */
    long restedNanos() {
        long since = restingSince;
        return restedNanos + (since == 0 ? 0 : System.nanoTime() - since);
    }

    /** The skipped hits that {@link ProbeCounter} does not count. */
    long uncounted() {
        return countsSkipped() ? skippedWhenLinked : skipped();
    }

    /** The hits that no weight of the user's sampler represents yet. */
    long pending() {
        Sampler sampler = this.sampler;
        return sampler == null ? 0 : sampler.pending();
    }

    /** The largest number of hits for which a firing stands. */
    long largestFactor() {
        Sampler sampler = this.sampler;
        return Math.max(mostThinning, Math.max(thinning(), sampler == null ? 1 : sampler.factor()));
    }

    /** Whether the map that takes the tallies also takes the skipped hits, and so is exact. */
    boolean countsSkipped() {
        return linked && !isLimited() && sampler == null;
    }

    /** The time in ns that woven code uses for a hit before it checks whether the probe is disabled. */
    double disabledNanos() {
        return readings * Costs.clock();
    }

    /** Whether the budget has disabled the probe, and no other request has enabled it since. */
    boolean isOverBudget() {
        return overBudget && !enabled;
    }

    /**
     * The runs of the handler that may be timed: all tests if it has a predicate that takes time, otherwise the
     * firings.
     */
    private long passes() {
        long tested = count(TESTED);
        return tested != 0 ? tested : firings();
    }

    /** The hits that sampling or the budget skipped. */
    long skipped() {
        if (sampler != null) {
            return sampledOutBefore + sampler.hits() - sampler.chosen();
        }
        AdaptiveSampler adaptive = this.adaptive;
        long skippedHits = sampledOutBefore + (adaptive == null ? 0 : adaptive.skippedHits());
        for (AdaptiveSampler oldSampler : retiredSamplers) {
            skippedHits += oldSampler == adaptive ? 0 : oldSampler.skippedHits();
        }
        return skippedHits;
    }

    private long produced() {
        return deliveredRecords + stalledRecords + count(FULL) + count(LARGE) + count(HELD_BACK);
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

    /** Writes a row of COUNTERS. */
    void write(Output out) {
        out.u4(id);
        out.u8(produced());
        out.u8(count(FULL));
        out.u8(count(LARGE));
        out.u8(stalledRecords);
        out.u8(forgottenRecords);
        out.u8(count(HELD_BACK));
        out.u8(count(MAP_FULL));
        out.u8(firings());
        out.u8(skipped());
        out.u8(count(LIMITED));
        out.u4(falsePredicates);
        Costs.Figures figures = costs == null ? Costs.NONE : costs.all();
        out.u8(figures.count);
        // The mean of the timed firings would be wrong, because the slow first firings are timed more often than the
        // others.
        out.u8((long) (1000 * (runs > 0 && mean > 0 ? runNanos / runs : figures.mean)));
        out.u8((long) (1000 * figures.error));
        out.u8(figures.p99);
        out.u8((long) cpuNanos);
        out.u8(restedNanos());
        out.u1(state);
    }
}
