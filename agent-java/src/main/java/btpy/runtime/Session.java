package btpy.runtime;

import java.util.Arrays;
import java.util.Map;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * The state of one attached client in this JVM, except woven classes and handlers: probes, sites, maps, buffers.
 *
 * <p>Woven code and handlers find the session by the upper eight bits of a site id, and refer to it only while they
 * run. {@link #close} removes it from the table, after which nothing refers to it.
 *
 * <p>Handlers call the methods up to {@link #rand} on application threads. These methods never throw (unless
 * docs/runtime.md says so), block, lock or wait. Methods that may run outside a guarded handler call no traceable code, so of the JDK they
 * call only native methods. Only the agent calls the methods below.
 */
public final class Session {
    /** Ids of probes are below this number. */
    public static final int MAX_PROBES = 4096;

    private static final int MAX_MAPS = 4096;
    private static final int SLOTS = 128;
    private static final Memory MEMORY = Memory.instance();
    private static final long NEXT_ID = MEMORY.fieldOffset(Session.class, "nextId");
    private static final long RANDOM = MEMORY.fieldOffset(Session.class, "random");

    /** The sessions by slot. The length is 256 so that every site id is in range, even a wrong one. Slot 0 is not used. */
    private static final Session[] SESSIONS = new Session[256];
    private static int lastSlot;

    /** By slot, {@link #tallies} and {@link #sumFastPaths} of its session, so that every firing finds them in few steps. */
    private static final long[][][] TALLIES = new long[SESSIONS.length][][];
    private static final SumFastPath[][] SUM_FAST_PATHS = new SumFastPath[SESSIONS.length][];
    private static final long[][] NO_TALLIES = {};
    private static final SumFastPath[] NO_SUM_FAST_PATHS = {};

    static {
        Arrays.fill(TALLIES, NO_TALLIES);
        Arrays.fill(SUM_FAST_PATHS, NO_SUM_FAST_PATHS);
    }

    final Limits limits;
    final EventBuffer events;
    final StackTable stacks = new StackTable();
    final ErrorTable errors = new ErrorTable();
    final ContextWarnings contexts = new ContextWarnings();
    /** Null until a probe needs it: decisions by thread, depths, self times, variables of threads and objects, flows, or open spans. */
    volatile ThreadTable decisions;
    volatile ThreadTable depths;
    volatile ThreadTable selfTimes;
    volatile ThreadRows<ThreadValues> threadRows;
    volatile ObjectStates objectStates;
    volatile Flows flows;
    volatile Spans spans;
    private final int slot;
    private final int pid;
    private final long startedNanos = System.nanoTime();
    /** The wall clock minus {@code System.nanoTime}, in ns. */
    private final long wallOffset = System.currentTimeMillis() * 1_000_000L - startedNanos;

    /** The last probe that the agent's own thread fired. */
    private int agentProbe = -1;
    private long nextId = 1;
    private long random = startedNanos;

    private volatile Probe[] probes = new Probe[0];
    /** By probe, the counts that a handler increases without a call. */
    public volatile Interruptions[] interruptions = new Interruptions[0];
    /** By probe, the counts into which its firings are tallied; null if each is counted separately. */
    private volatile long[][] tallies = new long[0][];
    /** By probe, the fast path of firings that only add to a map. */
    private volatile SumFastPath[] sumFastPaths = new SumFastPath[0];
    private volatile Site[] sites = new Site[0];
    private volatile Aggregation[] maps = new Aggregation[0];
    final ThreadNames names = new ThreadNames();
    /** Requests that did not fit into the buffers. */
    final Object[] lateRequests = new Object[16];
    private final Drain drain = new Drain(this);
    private final Rates rates = new Rates();
    /** Null until a script uses it, because it loads java.lang.management. */
    private LockWaits lockWaits;
    final Budget budget = new Budget();
    private final long[] costs = Costs.scratch();
    private long second;

    private Session(Limits limits, int slot, int pid) {
        this.limits = limits;
        this.slot = slot;
        this.pid = pid;
        this.events = new EventBuffer(limits.bufferBytes);
    }

    /** Returns null if the session has ended. */
    static Session of(int site) {
        return SESSIONS[site >>> 24];
    }

    public static Session enter(int site, int probe) {
        Session session = SESSIONS[site >>> 24];
        if (session == null || !session.isEnabled(probe) || Thread.currentThread() instanceof AgentThread) {
            return null;
        }
        return Calls.anyRunning() && Guard.isInside() ? null : session;
    }

    public static Session enterAgent(int site, int probe) {
        Session session = SESSIONS[site >>> 24];
        if (session == null || !session.isEnabled(probe) || !(Thread.currentThread() instanceof AgentThread)) {
            return null;
        }
        session.agentProbe = probe;
        session.probe(probe).ofAgent = true;
        return session;
    }

    public boolean isEnabled(int id) {
        Probe[] probes = this.probes;
        if (id < 0 || id >= probes.length) {
            return false;
        }
        Probe probe = probes[id];
        return probe != null && probe.enabled;
    }

    Probe probe(int id) {
        Probe[] probes = this.probes;
        return id >= 0 && id < probes.length ? probes[id] : null;
    }

    /**
     * Counts a firing.
     *
     * @return below 0 if a limit of the probe, or the budget, refuses the firing; otherwise its weight and whether it
     * is timed ({@link Probe})
     */
    public long fired(int id) {
        Probe probe = probe(id);
        return probe == null ? Probe.REFUSED : probe.fire();
    }

    /**
     * Called before a predicate that takes time; {@link #passed} follows.
     * @return as {@link #fired}, because the run is timed even if it does not fire
     */
    public long tested(int id) {
        Probe probe = probe(id);
        return probe == null ? Probe.REFUSED : probe.test();
    }

    /** Counts the firing of a run that was tested. @return false if a limit of the probe refuses it */
    public boolean passed(int id) {
        Probe probe = probe(id);
        return probe != null && probe.pass();
    }

    /** Counts a predicate that was false. */
    public void untrue(int id) {
        Probe probe = probe(id);
        if (probe != null) {
            probe.countFalse();
        }
    }

    /**
     * Ends a timed run.
     *
     * @param run the result of {@link #fired} or {@link #tested}
     * @param readings the readings of the clock, or equally expensive work, of woven code before the call of the
     * handler
     */
    public void took(int id, long run, int readings) {
        Probe probe = probe(id);
        if (probe != null) {
            probe.endRun(run, readings);
        }
    }

    /** Performs a firing that only counts into a map without keys: enters, counts the firing, and counts in the map. */
    @ForceInline
    public static void tally(int site, int probe, int map) {
        tally(site, probe, map, Stripes.owned());
    }

    /** {@code stripe}: a stripe that the thread owns, or the stripe of the JIT warm-up; below 0: none. */
    @ForceInline
    static void tally(int site, int probe, int map, int stripe) {
        long[][] tallies = TALLIES[site >>> 24];
        long[] counts = probe >= 0 && probe < tallies.length ? tallies[probe] : null;
        if (counts == null || !Probe.tallyOwn(counts, map, stripe)) {
            tallyOtherwise(site, probe, map);
        }
    }

    /**
     * Sets the counts of the JIT warm-up. No session has slot 0, so the JIT warm-up runs the fast paths with probe 0 of
     * that slot. If {@code counts} is null, the warm-up ends.
     */
    static void warmUp(long[] counts) {
        TALLIES[0] = counts == null ? NO_TALLIES : new long[][] {counts};
    }

    @DontInline
    private static void tallyOtherwise(int site, int probe, int map) {
        Session session = enterUnlessLeftOut(site, probe);
        if (session != null) {
            session.tallyAfter(0, probe, map);
        }
    }

    /** Like {@link #tally(int, int, int)}, for a handler that has called {@link #enter}. */
    public void tally(int probe, int map) {
        tallyAfter(Costs.WAY_IN_NANOS, probe, map);
    }

    private void tallyAfter(int wayIn, int probeId, int map) {
        long[] counts = tallies(probeId);
        Probe probe = probe(probeId);
        if (counts != null && Probe.tallies(counts, map) && probe.isUnthinned()) {
            if (Probe.tally(counts)) {
                try {
                    probe.timeTally(map, wayIn);
                } catch (Throwable failure) {
                    // the firing is counted; one firing fewer is timed
                }
            }
        } else {
            tallyAlone(probe, map);
        }
    }

    private long[] tallies(int probe) {
        long[][] tallies = this.tallies;
        return probe >= 0 && probe < tallies.length ? tallies[probe] : null;
    }

    private void tallyAlone(Probe probe, int map) {
        Aggregation target = map(map);
        if (probe != null && target != null) {
            long run = probe.fire();
            if (run == Probe.REFUSED) {
                return;
            }
            try {
                target.count(target.slot(), probe.countsSkipped() ? 1 : Probe.weight(run));
            } catch (Throwable failure) {
                try {
                    failed(probe.id, 0, failure, run);
                } catch (Throwable stackOverflow) { // no call, because the stack may be at its end
                    Interruptions interruptions = probe.interruptions;
                    synchronized (interruptions) {
                        interruptions.errors++;
                    }
                }
                return;
            }
            try {
                probe.onlyCounts(map);
                if (Probe.isTimed(run)) {
                    probe.endRun(run, 0);
                }
            } catch (Throwable failure) {
                // the firing is counted; one firing fewer is timed
            }
        }
    }

    /**
     * Performs a firing that only adds a number to a map without keys.
     *
     * @param readings as in {@link #took}
     */
    @ForceInline
    public static void add(int site, int probe, int map, long sample, int readings) {
        Throwable failure = null;
        int uncounted = 1;
        try {
            SumFastPath sumFastPath = sumFastPath(site, probe);
            if (sumFastPath == null || !sumFastPath.add(map, sample)) {
                failure = addOtherwise(site, probe, map, null, sample, readings);
                uncounted = 0;
            }
        } catch (Throwable interruption) {
            failure = interruption;
        }
        if (failure != null) {
            try {
                addingFailed(site, probe, failure, 1 - uncounted);
            } catch (Throwable stackOverflow) {
                Session session = SESSIONS[site >>> 24]; // null if the session has ended meanwhile
                Interruptions[] all = session == null ? null : session.interruptions;
                Interruptions interruptions = all == null || probe >= all.length ? null : all[probe];
                if (interruptions != null) {
                    synchronized (interruptions) {
                        interruptions.errors++;
                        interruptions.firings += uncounted;
                    }
                }
            }
        }
    }

    /** Like the method above, for a map with one key. A map of counts ignores the sample. */
    @ForceInline
    public static void add(int site, int probe, int map, Object key, long sample, int readings) {
        Throwable failure = null;
        int uncounted = 1;
        try {
            SumFastPath sumFastPath = sumFastPath(site, probe);
            if (sumFastPath == null || !sumFastPath.add(map, key, sample)) {
                failure = addOtherwise(site, probe, map, key, sample, readings);
                uncounted = 0;
            }
        } catch (Throwable interruption) {
            failure = interruption;
        }
        if (failure != null) {
            try {
                addingFailed(site, probe, failure, 1 - uncounted);
            } catch (Throwable stackOverflow) {
                Session session = SESSIONS[site >>> 24]; // null if the session has ended meanwhile
                Interruptions[] all = session == null ? null : session.interruptions;
                Interruptions interruptions = all == null || probe >= all.length ? null : all[probe];
                if (interruptions != null) {
                    synchronized (interruptions) {
                        interruptions.errors++;
                        interruptions.firings += uncounted;
                    }
                }
            }
        }
    }

    /** Calls {@link #enter} unless the budget skips the hit. So most skipped hits need no further check. */
    private static Session enterUnlessLeftOut(int site, int probeId) {
        Session session = SESSIONS[site >>> 24];
        Probe probe = session == null ? null : session.probe(probeId);
        return leavesOut(probe, Stripes.owned()) ? null : enter(site, probeId);
    }

    /**
     * Whether the hit is skipped. {@code stripe} is the stripe that the thread owns; below 0: none. A thread that owns
     * a stripe is neither the agent's nor inside a call.
     */
    @ForceInline
    static boolean leavesOut(Probe probe, int stripe) {
        return probe == null || !probe.enabled || stripe >= 0 && probe.leavesOut(stripe);
    }

    private static SumFastPath sumFastPath(int site, int probe) {
        SumFastPath[] sumFastPaths = SUM_FAST_PATHS[site >>> 24];
        return probe >= 0 && probe < sumFastPaths.length ? sumFastPaths[probe] : null;
    }

    /** @return the failure after the firing was counted; null if there was none */
    private static Throwable addOtherwise(int site, int probeId, int map, Object key, long sample, int readings) {
        Session session = enterUnlessLeftOut(site, probeId);
        Probe probe = session == null ? null : session.probe(probeId);
        long run = probe == null ? Probe.REFUSED : probe.fire();
        if (run != Probe.REFUSED) {
            try {
                session.add(probe, map, key, sample, run, readings);
            } catch (Throwable failure) {
                return failure;
            }
        }
        return null;
    }

    /** A separate method, so that a probe whose hits rarely fire adds only the check to woven code. */
    @DontInline
    private void add(Probe probe, int map, Object key, long sample, long run, int readings) {
        map(map).add(key, probe.id, sample, Probe.weight(run));
        try {
            probe.onlyAdds(map);
            if (Probe.isTimed(run)) {
                SumFastPath fastPath = sumFastPaths[probe.id];
                if (fastPath == null || !fastPath.time(probe, key, sample, readings)) {
                    probe.endRun(run, readings);
                }
            }
        } catch (Throwable failure) {
            // the sample was added; one firing fewer is timed
        }
    }

    /** {@code run} is 0 if the firing has not been counted yet. */
    @DontInline
    private static void addingFailed(int site, int probe, Throwable failure, long run) {
        Session session = SESSIONS[site >>> 24];
        if (session != null && session.isEnabled(probe)) {
            session.failed(probe, 0, failure, run);
        }
    }

    /**
     * Called by agent threads. Sets up or removes the fast paths, depending on whether the probe is enabled and has
     * limits.
     */
    private synchronized void settle(Probe probe) {
        tallies[probe.id] = probe.tallies(this);
        sumFastPaths[probe.id] = probe.sumFastPath(this);
    }

    /** Disables the probe until the client enables it. */
    public void disable(int id) {
        Probe probe = probe(id);
        if (probe != null) {
            probe.disable(Probe.DISABLED_ITSELF);
            tallies[id] = null;
            sumFastPaths[id] = null;
        }
    }

    public void failed(int probeId, int at, Throwable t) {
        failed(probeId, at, t, 1);
    }

    /**
     * Counts an error. If the stack has no space for this call, the handler counts the error in {@link #interruptions}.
     *
     * @param run the result of {@link #fired}; 0 if that call was interrupted, so that the firing is counted here
     */
    public void failed(int probeId, int at, Throwable t, long run) {
        Probe[] probes = this.probes;
        Probe probe = probeId >= 0 && probeId < probes.length ? probes[probeId] : null;
        if (probe != null && run == 0) {
            Interruptions interruptions = probe.interruptions;
            synchronized (interruptions) {
                errors.count(probeId, at, ErrorTable.kindOf(t), t);
                // There is no call between the two counts, so no error can prevent only the second.
                interruptions.firings++;
            }
        } else {
            errors.count(probeId, at, ErrorTable.kindOf(t), t);
        }
        if (probe != null) {
            try { // an error of this call must not leave this method, because it would be counted, too
                probe.fail();
            } catch (Throwable stackOverflow) {
                // one failure fewer counts for the limit
            }
        }
    }

    /** Tells the client the current rate of thread sampling. */
    public void sampledAtAnotherRate(int probe, int at, String why) {
        errors.count(probe, at, ProbeError.KIND_FEWER_SAMPLES, ProbeError.fewerSamples(why));
    }

    /** Counts an error of the probe in whose guarded handler this thread is; of probe −1 if there is none. */
    void note(int kind, int at) {
        int otherwise = Thread.currentThread() instanceof AgentThread ? agentProbe : -1;
        errors.count(Guard.probe(otherwise), at, kind, null);
    }

    /**
     * Counts a sample whose map was full, for the probe in whose guarded handler this thread is, or else for {@code
     * otherwise}.
     */
    void noteMapFull(int otherwise) {
        Probe probe = probe(Guard.probe(otherwise));
        if (probe != null) {
            probe.lose(Probe.MAP_FULL);
        }
    }

    Site site(int site) {
        Site[] sites = this.sites;
        int n = site & 0xFFFFFF;
        return n < sites.length ? sites[n] : Site.UNKNOWN;
    }

    public Aggregation map(int id) {
        Aggregation[] maps = this.maps;
        return id >= 0 && id < maps.length ? maps[id] : null;
    }

    /** The growth of the map per second since the probe's last call, or since the start. Called by agent threads. */
    public double rate(int map, int probe) {
        Aggregation target = map(map);
        return target == null ? 0 : rates.of(map, probe, target.total(), startedNanos, System.nanoTime());
    }

    /** The largest number of frames of a stack that are captured. */
    public int mostFrames() {
        return limits.frames;
    }

    /** The part of one core that probes may take; 0: unbounded. */
    public double share() {
        return budget.share();
    }

    public int pid() {
        return pid;
    }

    public long startedNanos() {
        return startedNanos;
    }

    public long wallClock() {
        return System.nanoTime() + wallOffset;
    }

    /** Returns a number, from 1, that no other call of this session gets. */
    public long newId() {
        return MEMORY.getAndAddLong(this, NEXT_ID, 1);
    }

    /** Returns a number from 0 to below {@code n} of the sequence SplitMix64, which is not suitable for secrets. */
    public long rand(long n) {
        if (n <= 0) {
            throw ProbeError.DIV_ZERO;
        }
        long z = MEMORY.getAndAddLong(this, RANDOM, 0x9E3779B97F4A7C15L);
        z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
        z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
        return ((z ^ z >>> 31) >>> 1) % n;
    }

    /** The threads that currently wait for a lock, as {@link LockWaits}. Called by agent threads. */
    public Object[] lockWaits(String skipped) {
        if (lockWaits == null) {
            lockWaits = new LockWaits();
        }
        return lockWaits.take(this, skipped);
    }

    // The agent calls the methods below.

    /** @return null if there are 127 sessions */
    public static synchronized Session open(Limits limits, int pid) {
        for (int i = 0; i < SLOTS - 1; i++) {
            int slot = 1 + (lastSlot + i) % (SLOTS - 1);
            if (SESSIONS[slot] == null) {
                // The slot that was used last is reused last, so that old sites that are still on a stack find no
                // session.
                lastSlot = slot;
                Session session = new Session(limits, slot, pid);
                Guard.advanceEra(System.nanoTime()); // the era of handlers that run before the first drain
                SESSIONS[slot] = session;
                return session;
            }
        }
        return null;
    }

    /** The slot, 1 to 127. */
    public int slot() {
        return slot;
    }

    /** Stops the probes. The session and its data exist until nothing refers to them. */
    public void close() {
        synchronized (Session.class) {
            if (SESSIONS[slot] == this) {
                SESSIONS[slot] = null;
                TALLIES[slot] = NO_TALLIES;
                SUM_FAST_PATHS[slot] = NO_SUM_FAST_PATHS;
            }
            boolean any = false;
            for (Session session : SESSIONS) {
                any |= session != null;
            }
            if (!any) {
                Layouts.clear();
                TypeAnswers.clear();
                Calls.clear();
                Contexts.clear();
                Stripes.disownAll();
            }
        }
    }

    /**
     * Adds a map. An existing id keeps its map.
     *
     * @param kind as in MapDecl of the wire protocol, which also defines the parameters
     * @throws IllegalArgumentException if a number is out of range
     */
    public synchronized void addMap(int id, int kind, int keys, int precision, int capacity, long[] parameters) {
        if (id < 0 || id >= MAX_MAPS) {
            throw new IllegalArgumentException("map id " + id);
        }
        Aggregation[] newMaps = Arrays.copyOf(maps, Math.max(maps.length, id + 1));
        if (newMaps[id] == null) {
            newMaps[id] = new Aggregation(this, id, kind, keys, precision, capacity, parameters);
        }
        maps = newMaps;
    }

    /**
     * Adds a disabled probe. An existing id keeps its probe.
     *
     * @throws IllegalArgumentException if the id is not in 0 … {@link #MAX_PROBES} − 1
     */
    public synchronized void addProbe(int id) {
        if (id < 0 || id >= MAX_PROBES) {
            throw new IllegalArgumentException("probe id " + id);
        }
        Probe[] newProbes = Arrays.copyOf(probes, Math.max(probes.length, id + 1));
        if (newProbes[id] == null) {
            newProbes[id] = new Probe(id, budget);
        }
        long[][] newTallies = Arrays.copyOf(tallies, newProbes.length);
        SumFastPath[] newFastPaths = Arrays.copyOf(sumFastPaths, newProbes.length);
        tallies = newTallies;
        sumFastPaths = newFastPaths;
        Interruptions[] newInterruptions = new Interruptions[newProbes.length];
        for (Probe probe : newProbes) {
            if (probe != null) {
                newInterruptions[probe.id] = probe.interruptions;
            }
        }
        interruptions = newInterruptions;
        probes = newProbes;
        for (Probe probe : newProbes) {
            if (probe != null && !probe.enabled) { // the probe may just have disabled itself
                newTallies[probe.id] = null;
                newFastPaths[probe.id] = null;
            }
        }
        synchronized (Session.class) {
            if (SESSIONS[slot] == this) {
                TALLIES[slot] = newTallies;
                SUM_FAST_PATHS[slot] = newFastPaths;
            }
        }
    }

    /**
     * Sets which hits of the probe fire. Called before the probe is enabled.
     *
     * @param mode a mode of {@link Sampler}; 0: all hits
     * @param group the id of the probe whose decisions and parameters this probe shares: a lower id, or its own id
     * @throws IllegalArgumentException if there is no such probe, or if a number is out of range
     */
    public synchronized void sampling(int id, int mode, double parameter, boolean adaptive, int group) {
        Probe probe = probe(id);
        Probe groupLeader = probe(group);
        if (probe == null || groupLeader == null) {
            throw new IllegalArgumentException("probe ids " + id + " and " + group);
        }
        probe.group = group;
        if (mode != 0) {
            probe.sampler = groupLeader == probe ? new Sampler(mode, parameter, adaptive) : groupLeader.sampler;
        }
    }

    /**
     * Registers the maps to which firings of a probe write.
     *
     * @param host the probe that decides which hits fire: itself, or the one whose handler contains it
     */
    public synchronized void addTargets(int host, int[] maps) {
        Probe probe = probe(host);
        for (int id : maps) {
            Aggregation map = map(id);
            if (map != null && probe != null) {
                map.addSource(probe);
            }
        }
    }

    /** Lets the map evict a key for a new one when it is full. */
    public void evict(int id) {
        Aggregation map = map(id);
        if (map != null) {
            map.evict();
        }
    }

    /**
     * Sets the limits: all firings, firings a second, ns until the probe is disabled, and failures until it is
     * disabled; 0: no limit.
     */
    public void limit(int id, long firings, long perSecond, long nanos, long failures) {
        Probe probe = probe(id);
        if (probe != null) {
            probe.limit(firings, perSecond, nanos, failures);
            settle(probe);
        }
    }

    /** Sets all limits but the limit of failures, and counts from 0 again. @return false if there is no such probe */
    public boolean limit(int id, long firings, long perSecond, long nanos) {
        Probe probe = probe(id);
        if (probe != null) {
            probe.limit(firings, perSecond, nanos);
            settle(probe);
        }
        return probe != null;
    }

    /**
     * Changes which hits fire, for a probe that samples and for the probes that decide with it.
     *
     * @throws IllegalArgumentException if the probe does not sample or decides with another probe, or if a number is
     * out of range
     */
    public synchronized void resample(int id, int mode, double parameter, boolean adaptive) {
        Probe probe = probe(id);
        if (probe == null || probe.sampler == null || probe.group != id) {
            throw new IllegalArgumentException("probe " + id + " does not sample by itself");
        }
        Sampler sampler = new Sampler(mode, parameter, adaptive);
        for (Probe member : probes) {
            if (member != null && member.group == id) {
                member.sample(sampler);
            }
        }
    }

    /** @return false if there is no such probe */
    public boolean setEnabled(int id, boolean on) {
        Probe probe = probe(id);
        if (probe != null) {
            probe.enable(on);
            settle(probe);
        }
        return probe != null;
    }

    /** Enables the probes with a level from 1 to this level, and disables those with a higher level. */
    public void setLevel(int level) {
        for (Probe probe : probes) {
            if (probe != null && probe.level > 0) {
                setEnabled(probe.id, probe.level <= level);
            }
        }
    }

    /** Sets the level of a probe. With a level below 0, {@link #setLevel} does not change the probe. */
    public void level(int id, int level) {
        Probe probe = probe(id);
        if (probe != null) {
            probe.level = level;
        }
    }

    /** The number of probes, and the number of enabled probes. */
    public int[] probeCounts() {
        int all = 0;
        int enabledCount = 0;
        for (Probe probe : probes) {
            if (probe != null) {
                all++;
                enabledCount += probe.enabled ? 1 : 0;
            }
        }
        return new int[] {all, enabledCount};
    }

    /** Called by the event thread. Counts a record that was taken from the buffers and that no client took in time. */
    public void countForgotten(int id) {
        Probe probe = probe(id);
        if (probe != null) {
            probe.forgottenRecords++;
        }
    }

    /**
     * Called by the event thread when a client leaves. Counts the records that were sent to this and earlier clients: all records taken
     * from the buffers, except forgotten ones and, by probe, records that are still kept.
     */
    public void handOver(long[] keptRecords) {
        for (Probe probe : probes) {
            if (probe != null) {
                probe.handedOverRecords = probe.deliveredRecords - probe.forgottenRecords - keptRecords[probe.id];
            }
        }
    }

    /** Returns the payload {@code list<(u4 probe, u8 records that clients before this one were sent)>}. */
    public byte[] handedOver() {
        Output out = new Output();
        int countAt = out.skip4();
        int rows = 0;
        for (Probe probe : probes) {
            if (probe != null) {
                out.u4(probe.id);
                out.u8(probe.handedOverRecords);
                rows++;
            }
        }
        out.set4(countAt, rows);
        return out.toBytes();
    }

    /** Returns the names of threads that the client was told, by thread id. */
    public Map<Long, String> threadNames() {
        return names.known();
    }

    /** Returns a record with the name of a thread. */
    public byte[] threadName(long thread, String name) {
        return Records.threadName(this, thread, name);
    }

    /**
     * Called for a new client, which knows no stacks and threads, so that they are shipped again. No thread may drain at the same time.
     */
    public void forgetShipped() {
        stacks.forgetShipped();
        names.forget();
    }

    /** Called by the event thread at least every 100 ms. Applies limits by time and counts by the second. */
    public void tick(long now) {
        JitWarmup.advance();
        long second = (now - startedNanos) / 1_000_000_000L;
        boolean newSecond = second != this.second;
        this.second = second;
        if (newSecond) {
            Stripes.disown();
        }
        boolean accounts = budget.isDue(now);
        if (accounts) {
            Costs.calibrate();
        }
        for (Probe probe : probes) {
            if (probe != null) {
                probe.tick(now, newSecond);
                if (probe.hasNewFastPath()) { // the slow path takes ten times as long
                    settle(probe);
                }
                if (accounts) {
                    budget.add(probe, probe.account(now, costs), now);
                }
            }
        }
        if (accounts) {
            budget.check(now);
            for (Probe probe : probes) {
                if (probe != null) {
                    settle(probe);
                }
            }
        }
    }

    /** Sets the part of one core that probes may take, in millionths; 0: unbounded. */
    public void budget(int millionths) {
        budget.set(millionths);
    }

    /**
     * Called by the event thread.
     * @return the payload of RESTRAINED with the earliest step of the budget; null if there is none
     */
    public byte[] takeRestraint() {
        return budget.take();
    }

    /** Counts an error of a probe to which an event could not be reported. */
    public void countMissed(int probe) {
        errors.count(probe, 0, ProbeError.KIND_RING_FULL, null);
    }

    /**
     * Adds a site, before its class runs.
     *
     * @param id with the slot in its upper eight bits
     * @throws IllegalArgumentException if the id belongs to another session
     */
    public synchronized void addSite(
            int id, String className, String method, String descriptor, int line, String targetClass, String targetMember,
            String loader) {
        if (id >>> 24 != slot) {
            throw new IllegalArgumentException("site id " + id);
        }
        int n = id & 0xFFFFFF;
        Site[] oldSites = sites;
        if (n >= oldSites.length) {
            Site[] newSites = Arrays.copyOf(oldSites, Math.max(64, Math.max(n + 1, oldSites.length + (oldSites.length >> 1))));
            Arrays.fill(newSites, oldSites.length, newSites.length, Site.UNKNOWN);
            oldSites = newSites;
        }
        oldSites[n] = new Site(className, method, descriptor, line, targetClass, targetMember, loader);
        sites = oldSites;
    }

    /**
     * Called by the event thread. Moves complete records into {@code target}, as EVENTS ships them, until it is full,
     * there are none, or a request comes next, which {@link #takeRequest} then returns.
     *
     * @param target {@link #maxRecord} bytes are enough for any record
     * @return the number of bytes; below 0: minus the size of the next record, which does not fit
     */
    public int drain(byte[] target) {
        return drain(target, System.nanoTime());
    }

    /** {@code now} is the time by which unfinished records and handlers are given up. */
    int drain(byte[] target, long now) {
        Guard.advanceEra(now);
        stacks.sweep(now);
        if (threadRows != null) {
            threadRows.sweep(now);
        }
        if (objectStates != null) {
            objectStates.sweep(now);
        }
        if (flows != null) {
            flows.stacks.sweep(now);
        }
        return drain.fill(target, now);
    }

    /** The size of the largest record in bytes. */
    public int maxRecord() {
        return events.maxRecord();
    }

    /**
     * Called by the event thread.
     * @return the request that stopped {@link #drain}, or one that did not fit into the buffers, or null
     */
    public Request takeRequest() {
        return drain.take();
    }

    /**
     * Called by the event thread.
     * @return the payload of STACKS with stacks that the results of {@link #drain} and {@link #mapContent} use and that
     * were not shipped before. The agent must send it before those results. It contains at most as many as fit into one message. Null if
     * there are none.
     */
    public byte[] takeStacks() {
        return stacks.take();
    }

    /** Called by the event thread. @return the payload of ERRORS with the failures since the last call, or null */
    public byte[] takeErrors() {
        for (Probe probe : probes) {
            long interruptions = probe == null ? 0 : probe.interruptions.takeErrors();
            if (interruptions > 0) {
                errors.count(probe.id, 0, ProbeError.KIND_DEPTH, null, interruptions);
            }
        }
        return errors.take();
    }

    /** Called by the event thread. @return the payload of COUNTERS with the totals of every probe */
    public byte[] counters() {
        Output out = new Output();
        int countAt = out.skip4();
        int rows = 0;
        for (Probe probe : probes) {
            if (probe != null) {
                probe.write(out);
                rows++;
            }
        }
        long unknown = events.stalledUnknown();
        if (unknown != 0) {
            out.u4(-1);
            out.u8(unknown);
            out.u8(0);
            out.u8(0);
            out.u8(unknown);
            for (int i = 0; i < 12; i++) {
                out.u8(0);
            }
            out.u4(0);
            out.u1(Probe.ON);
            rows++;
        }
        out.set4(countAt, rows);
        return out.toBytes();
    }

    /**
     * Called by agent threads. Other threads may continue to write.
     *
     * @param flush takes the values of the map
     * @param room the number of bytes after which no further key is written
     * @return MapContent of the wire protocol, or null if there is no such map
     */
    public byte[] mapContent(int id, boolean flush, int room) {
        Aggregation map = map(id);
        return map == null ? null : map.content(flush, room);
    }
}
