package btpy.runtime;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * Everything one attached client has in this JVM, except woven classes and handlers: probes, sites, maps, buffers.
 *
 * <p>Woven code and handlers find the session by the upper eight bits of a site id, and hold it only while they run. {@link
 * #close} takes it out of the table, after which nothing refers to it.
 *
 * <p>Methods up to {@link #threadName} are called by handlers on application threads: they never throw (unless the page
 * docs/runtime.md says so), block, lock or wait. Those of them that may run outside a guarded handler call nothing that can be
 * traced: no method of the JDK that is not native. Methods below are the agent's.
 */
public final class Session {
    /** Ids of probes are below this. */
    public static final int MAX_PROBES = 4096;

    /** Bit of {@link #sampleEnter}: the decision is that of a method below. */
    public static final int INHERITED = 1 << 30;

    private static final int MAX_MAPS = 4096;
    private static final int SLOTS = 128;
    private static final Memory MEMORY = Memory.instance();
    private static final long NEXT_ID = MEMORY.fieldOffset(Session.class, "nextId");
    private static final long THREAD_ROWS = MEMORY.fieldOffset(Session.class, "threadRows");
    private static final long RANDOM = MEMORY.fieldOffset(Session.class, "random");
    private static final long DEPTHS = MEMORY.fieldOffset(Session.class, "depths");
    private static final long DECISIONS = MEMORY.fieldOffset(Session.class, "decisions");

    /** By slot; 256 long so that no site id, however wrong, is out of range. Slot 0 is not used. */
    private static final Session[] SESSIONS = new Session[256];
    private static int lastSlot;

    /** By slot, {@link #tallies} and {@link #additions} of its session: at every firing they are found in few steps. */
    private static final long[][][] TALLIES = new long[SESSIONS.length][][];
    private static final Addition[][] ADDITIONS = new Addition[SESSIONS.length][];
    private static final long[][] NO_TALLIES = {};
    private static final Addition[] NO_ADDITIONS = {};

    static {
        java.util.Arrays.fill(TALLIES, NO_TALLIES);
        java.util.Arrays.fill(ADDITIONS, NO_ADDITIONS);
    }

    /** Threads that are inside a guarded handler now: thread id to {@link #era} (upper half) and probe (lower half). */
    private static final ThreadTable INSIDE = new ThreadTable(8);

    /**
     * By what {@link #mark} gave. A handler whose call of {@link #leave} fails, because the stack has no room for another, stores
     * {@link #LEFT} here: that takes no call.
     */
    public static final long[] MARKS = INSIDE.values;

    public static final long LEFT = -1;

    private static final int INSIDE_ALREADY = -1;
    private static final int NO_ROOM = -2;

    /**
     * Counts seconds, about, while a session is drained. Where a thread was marked and its handler could not even say that it has left,
     * its entry is one of an era long past; a handler's work is bounded, so it is taken over.
     */
    private static int era;

    private static final int NAMES = 2048;
    private static final int NAME_BITS = 11;
    private static final int LATE_REQUESTS = 16;
    private static final Object[] NOTHING = {};
    /** Bytes that {@code put} takes for one value at most, whatever the limits. */
    private static final int MAX_VALUE = 32 << 10;

    final Limits limits;
    final EventBuffer events;
    final StackTable stacks = new StackTable();
    private final ErrorTable errors = new ErrorTable();
    /** Null until a probe asks for a depth, or decides by thread which hits fire. */
    private volatile ThreadTable depths;
    private volatile ThreadTable decisions;
    private final int slot;
    private final int pid;
    private final long startedNanos = System.nanoTime();
    /** Wall clock less {@code System.nanoTime}, in ns. */
    private final long wallOffset = System.currentTimeMillis() * 1_000_000L - startedNanos;

    /** The probe that the agent's own thread fired last. */
    private int agentProbe = -1;
    private long nextId = 1;
    private long random = startedNanos;

    /** Null until a script keeps something for a thread. */
    private volatile ThreadRows threadRows;

    private volatile Probe[] probes = new Probe[0];
    /** By probe: where its firings are tallied; null where each is counted on its own. */
    private volatile long[][] tallies = new long[0][];
    /** By probe: the short way of firings that only add to a map. */
    private volatile Addition[] additions = new Addition[0];
    private volatile Site[] sites = new Site[0];
    private volatile Aggregation[] maps = new Aggregation[0];
    /** By hash of the thread id: which thread's name was shipped last, and that name (threads are renamed). */
    private final long[] namedIds = new long[NAMES];
    private final String[] names = new String[NAMES];
    /** Requests that found the buffers full. */
    private final Object[] lateRequests = new Object[LATE_REQUESTS];
    private final Drain drain = new Drain(this);
    private final Rates rates = new Rates();
    private final Budget budget = new Budget();
    private final long[] costs = Costs.scratch();
    private long second;

    private Session(Limits limits, int slot, int pid) {
        this.limits = limits;
        this.slot = slot;
        this.pid = pid;
        this.events = new EventBuffer(limits.bufferBytes);
    }

    // ------------------------------------------------------------------------------------------------ entering

    public static Session enter(int site, int probe) {
        Session session = SESSIONS[site >>> 24];
        if (session == null || !session.isEnabled(probe) || Thread.currentThread() instanceof AgentThread) {
            return null;
        }
        return Calls.anyRunning() && INSIDE.find(Threads.id()) >= 0 ? null : session;
    }

    /**
     * After {@link #enter}: marks this thread as being inside a guarded handler, until {@link #leave(int)}.
     *
     * @return where it is marked; −1: it is inside one already, or there is no room
     */
    public int guard(int probe) {
        int entry = mark(probe);
        if (entry == NO_ROOM) {
            errors.count(probe, 0, ProbeError.KIND_DEPTH, null);
        }
        return entry;
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

    /**
     * From here on what this thread calls fires no guarded handler, and what it counts is the probe's (&minus;1: nobody's). To be
     * followed by {@link #leave(int)}, and where that has no room on the stack by a {@link #LEFT} in {@link #MARKS}.
     *
     * @return the entry of this thread; below 0: it is inside a handler already, or there are more threads inside than there is room for
     */
    public static int mark(int probe) {
        long thread = Threads.id();
        int entry = INSIDE.find(thread);
        if (entry >= 0) {
            if (!left(entry)) {
                return INSIDE_ALREADY;
            }
        } else {
            entry = INSIDE.claim(thread);
            if (entry < 0) {
                return NO_ROOM;
            }
        }
        MARKS[entry] = (long) era << 32 | probe & 0xFFFFFFFFL; // no call from here on: the stack may end in any, and nobody would leave
        return entry;
    }

    /** Whether the handler of this entry has ended, or must have: two eras are a second at least. */
    private static boolean left(int entry) {
        long value = INSIDE.value(entry);
        return value == LEFT || era - (int) (value >>> 32) >= 2;
    }

    /** {@code entry}: what {@link #mark} gave; below 0: it was not marked. */
    public static void leave(int entry) {
        if (entry >= 0) {
            INSIDE.release(entry);
        }
    }

    public boolean isEnabled(int probe) {
        Probe[] probes = this.probes;
        if (probe < 0 || probe >= probes.length) {
            return false;
        }
        Probe found = probes[probe];
        return found != null && found.enabled;
    }

    Probe probe(int id) {
        Probe[] probes = this.probes;
        return id >= 0 && id < probes.length ? probes[id] : null;
    }

    /**
     * Counts a firing.
     *
     * @return below 0: a limit of the probe, or the budget, does not let it be; else its weight and whether it is timed ({@link Probe})
     */
    public long fired(int probe) {
        Probe found = probe(probe);
        return found == null ? Probe.REFUSED : found.fire();
    }

    /** Before a predicate that takes time; {@link #passed} is to follow. @return as {@link #fired}, of the run whether it fires or not */
    public long tested(int probe) {
        Probe found = probe(probe);
        return found == null ? Probe.REFUSED : found.test();
    }

    /** Counts the firing of a run that was tested. @return false when a limit of the probe does not let it be */
    public boolean passed(int probe) {
        Probe found = probe(probe);
        return found != null && found.pass();
    }

    /** A predicate was false. */
    public void untrue(int probe) {
        Probe found = probe(probe);
        if (found != null) {
            found.untrue();
        }
    }

    /**
     * A run is over that is timed.
     *
     * @param run what {@link #fired} or {@link #tested} gave
     * @param readings of the clock, or what takes about as long, that woven code made for the handler before it called
     */
    public void took(int probe, long run, int readings) {
        Probe found = probe(probe);
        if (found != null) {
            found.took(run, readings);
        }
    }

    /** All of a firing that does nothing but count into a map without keys: enters, counts the firing, counts in the map. */
    @ForceInline
    public static void tally(int site, int probe, int map) {
        long[][] tallies = TALLIES[site >>> 24];
        long[] counts = probe >= 0 && probe < tallies.length ? tallies[probe] : null;
        if (counts == null || !Probe.tallyOwn(counts, map)) {
            tallyOtherwise(site, probe, map);
        }
    }

    @DontInline
    private static void tallyOtherwise(int site, int probe, int map) {
        Session session = enterUnlessLeftOut(site, probe);
        if (session != null) {
            session.tally(probe, map);
        }
    }

    /** The same for a handler that has entered. */
    public void tally(int probe, int map) {
        long[] counts = tallies(probe);
        Probe found = probe(probe);
        if (counts != null && Probe.tallies(counts, map) && found.isUnthinned()) {
            if (Probe.tally(counts, 1)) {
                timeTally(found, counts);
            }
        } else {
            tallyAlone(found, map);
        }
    }

    /** It is over when it is known that it should be timed: nothing is added in the same way. */
    private static void timeTally(Probe probe, long[] counts) {
        long run = probe.timed();
        Probe.tally(counts, 0);
        probe.took(run, 0);
    }

    private long[] tallies(int probe) {
        long[][] tallies = this.tallies;
        return probe >= 0 && probe < tallies.length ? tallies[probe] : null;
    }

    private void tallyAlone(Probe found, int map) {
        Aggregation counting = map(map);
        if (found != null && counting != null) {
            long run = found.fire();
            if (run != Probe.REFUSED) {
                found.onlyCounts(map);
                counting.count(counting.slot(), Probe.weight(run));
            }
            if (Probe.isTimed(run)) {
                found.took(run, 0);
            }
        }
    }

    // ------------------------------------------------------------------------------------------------ firings that only add

    /**
     * All of a firing that does nothing but add a number to a map without keys.
     *
     * @param readings as in {@link #took}
     */
    @ForceInline
    public static void add(int site, int probe, int map, long sample, int readings) {
        try {
            Addition addition = addition(site, probe);
            if (addition == null || !addition.add(map, sample)) {
                addOtherwise(site, probe, map, null, sample, readings);
            }
        } catch (Throwable failure) {
            addingFailed(site, probe, failure);
        }
    }

    /** The same of a map by one key; where it counts, whatever the sample is. */
    @ForceInline
    public static void add(int site, int probe, int map, Object key, long sample, int readings) {
        try {
            Addition addition = addition(site, probe);
            if (addition == null || !addition.add(map, key, sample)) {
                addOtherwise(site, probe, map, key, sample, readings);
            }
        } catch (Throwable failure) {
            addingFailed(site, probe, failure);
        }
    }

    /** {@link #enter} where each hit fires that does, so that most of those that the budget leaves out need no further look. */
    private static Session enterUnlessLeftOut(int site, int probe) {
        Session session = SESSIONS[site >>> 24];
        Probe found = session == null ? null : session.probe(probe);
        return leavesOut(found, Stripes.owned()) ? null : enter(site, probe);
    }

    /** {@code stripe}: that the thread owns, so it is neither the agent's nor inside a call; below 0: none. */
    @ForceInline
    static boolean leavesOut(Probe probe, int stripe) {
        return probe == null || stripe >= 0 && probe.leavesOut(stripe);
    }

    private static Addition addition(int site, int probe) {
        Addition[] additions = ADDITIONS[site >>> 24];
        return probe >= 0 && probe < additions.length ? additions[probe] : null;
    }

    private static void addOtherwise(int site, int probe, int map, Object key, long sample, int readings) {
        Session session = enterUnlessLeftOut(site, probe);
        Probe found = session == null ? null : session.probe(probe);
        long run = found == null ? Probe.REFUSED : found.fire();
        if (run != Probe.REFUSED) {
            session.add(found, map, key, sample, run, readings);
        }
    }

    /** Apart from the above, so that a probe of which few hits fire brings no more into woven code than finding that out. */
    @DontInline
    private void add(Probe probe, int map, Object key, long sample, long run, int readings) {
        map(map).add(key, probe.id, sample, Probe.weight(run));
        probe.onlyAdds(map);
        if (Probe.isTimed(run)) {
            probe.took(run, readings);
        }
    }

    @DontInline
    private static void addingFailed(int site, int probe, Throwable failure) {
        Session session = SESSIONS[site >>> 24];
        if (session != null) {
            session.failed(probe, 0, failure);
        }
    }

    /** Agent threads only: which way firings go follows from whether the probe is enabled and has limits. */
    private synchronized void settle(Probe probe) {
        tallies[probe.id] = probe.tallies(this);
        additions[probe.id] = probe.addition(this);
    }

    /** Disables the probe until the client enables it. */
    public void disable(int probe) {
        Probe found = probe(probe);
        if (found != null) {
            found.disable(Probe.DISABLED_ITSELF);
            tallies[probe] = null;
            additions[probe] = null;
        }
    }

    // ------------------------------------------------------------------------------------------------ sampling

    /** Before {@code enter}: how many hits this one stands for; 0: it does not fire. */
    public static int sample(int site, int probe) {
        Session session = enter(site, probe);
        Probe found = session == null ? null : session.probe(probe);
        return found == null || found.sampler == null ? 0 : found.sampler.choose();
    }

    /**
     * Decides for this thread when the method is entered, unless a method below on the stack has decided.
     *
     * @return the weight as {@link #sample} gives it, with {@link #INHERITED}; −1: nothing was decided
     */
    public static int sampleEnter(int site, int probe) {
        Session session = enter(site, probe);
        Probe found = session == null ? null : session.probe(probe);
        if (found == null || found.sampler == null) {
            return -1;
        }
        ThreadTable decisions = session.decisions == null ? session.made(DECISIONS, 8) : session.decisions;
        long key = Threads.id() * MAX_PROBES + found.group;
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

    /** One of the tables by thread, by where it is kept. */
    private ThreadTable made(long where, int bits) {
        MEMORY.compareAndSetReference(this, where, null, new ThreadTable(bits));
        return (ThreadTable) MEMORY.getReferenceVolatile(this, where);
    }

    /** The method that decided is left. */
    public static void sampleLeave(int site, int probe, int value) {
        Session session = SESSIONS[site >>> 24];
        Probe found = session == null || value < 0 || (value & INHERITED) != 0 ? null : session.probe(probe);
        if (found != null) {
            int entry = session.decisions.find(Threads.id() * MAX_PROBES + found.group);
            if (entry >= 0) {
                session.decisions.release(entry);
            }
        }
    }

    public void failed(int probe, int at, Throwable t) {
        errors.count(probe, at, ErrorTable.kindOf(t), t);
        Probe found = probe(probe);
        if (found != null) {
            found.fail();
        }
    }

    /** What this thread counts without a position, in the guarded handler that it is in, is this probe's from now on. */
    public void attribute(int probe) {
        int entry = INSIDE.find(Threads.id());
        if (entry >= 0) {
            INSIDE.setValue(entry, (long) era << 32 | probe);
        }
    }

    /** Counts an error of the probe whose guarded handler this thread is in; −1: not in one. */
    void note(int kind, int at) {
        int entry = INSIDE.find(Threads.id());
        int here = Thread.currentThread() instanceof AgentThread ? agentProbe : -1;
        errors.count(entry < 0 ? here : (int) INSIDE.value(entry), at, kind, null);
    }

    /** A sample found its map full: counted for the probe whose guarded handler this thread is in, else for that one. */
    void noteMapFull(int otherwise) {
        int entry = INSIDE.find(Threads.id());
        Probe found = probe(entry < 0 ? otherwise : (int) INSIDE.value(entry));
        if (found != null) {
            found.lose(Probe.MAP_FULL);
        }
    }

    // ------------------------------------------------------------------------------------------------ facts

    private Site site(int site) {
        Site[] sites = this.sites;
        int n = site & 0xFFFFFF;
        return n < sites.length ? sites[n] : null;
    }

    public String className(int site) {
        Site found = site(site);
        return found == null ? null : found.className;
    }

    public String methodName(int site) {
        Site found = site(site);
        return found == null ? null : found.method;
    }

    public String signature(int site) {
        Site found = site(site);
        return found == null ? null : found.descriptor;
    }

    public int line(int site) {
        Site found = site(site);
        return found == null ? 0 : found.line;
    }

    /** Of the operation at the site, as the code names it. */
    public String targetClass(int site) {
        Site found = site(site);
        return found == null ? null : found.targetClass;
    }

    /** Name of the method or field that the operation at the site names. */
    public String targetMember(int site) {
        Site found = site(site);
        return found == null ? null : found.targetMember;
    }

    /** Name of the loader of the class that has the site. */
    public String loader(int site) {
        Site found = site(site);
        return found == null ? null : found.loader;
    }

    public Aggregation map(int id) {
        Aggregation[] maps = this.maps;
        return id >= 0 && id < maps.length ? maps[id] : null;
    }

    /** By how much the map grew a second since the probe asked last, or since the start; agent threads only. */
    public double rate(int map, int probe) {
        Aggregation found = map(map);
        return found == null ? 0 : rates.of(map, probe, found.total(), startedNanos, System.nanoTime());
    }

    public long startedNanos() {
        return startedNanos;
    }

    public long wallClock() {
        return System.nanoTime() + wallOffset;
    }

    /** A number that no other call of this session gets, from 1. */
    public long newId() {
        return MEMORY.getAndAddLong(this, NEXT_ID, 1);
    }

    /** A number from 0 to below {@code n}, of the sequence SplitMix64; not for secrets. */
    public long rand(long n) {
        if (n <= 0) {
            throw ProbeError.DIV_ZERO;
        }
        long z = MEMORY.getAndAddLong(this, RANDOM, 0x9E3779B97F4A7C15L);
        z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
        z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
        return ((z ^ z >>> 31) >>> 1) % n;
    }

    public int pid() {
        return pid;
    }

    public static long tid() {
        return Threads.id();
    }

    public static boolean isVirtual() {
        return Threads.isVirtual();
    }

    public static String threadName() {
        return Threads.name();
    }

    // ------------------------------------------------------------------------------------------------ records

    public long begin(int template, int probe, int site, int bound) {
        if (budget.holdsBack()) {
            Probe found = probe(probe);
            if (found != null && !found.prints()) {
                return EventBuffer.DROPPED_FULL;
            }
        }
        long thread = Threads.id();
        long nanos = System.nanoTime();
        int named = Threads.hash(thread, NAME_BITS);
        String name = Threads.name();
        if (namedIds[named] != thread || names[named] != name) {
            if (ship(thread, name, nanos)) {
                namedIds[named] = thread;
                names[named] = name;
            }
        }
        // The end mark, and a bound that is wrong by all that an int can be.
        long cursor = bound < 0 ? EventBuffer.DROPPED_LARGE : events.claim(EventBuffer.HEADER + bound + 1, probe, 0, thread);
        if (cursor < 0) {
            Probe found = probe(probe);
            if (found != null) {
                found.lose(cursor == EventBuffer.DROPPED_LARGE ? Probe.LARGE : Probe.FULL);
            }
            return cursor;
        }
        return header(cursor, template, site, probe, nanos, thread);
    }

    private long header(long cursor, int template, int site, int probe, long nanos, long thread) {
        long[] words = events.words(cursor);
        if (words != null) {
            int at = EventBuffer.position(cursor);
            Values.put4(words, at + 4, template);
            Values.put4(words, at + 8, site);
            Values.put4(words, at + 12, probe);
            Values.put8(words, at + 16, nanos);
            Values.put8(words, at + 24, thread);
        }
        return cursor + EventBuffer.HEADER;
    }

    /** The name of this thread, as a record of its own. @return false when there was no room */
    private boolean ship(long thread, String name, long nanos) {
        if (name == null) {
            return true;
        }
        int bound = Values.string(name, limits.chars, null, 0, Integer.MAX_VALUE);
        long cursor = events.claim(EventBuffer.HEADER + bound + 1, EventBuffer.NO_PROBE, 0, thread);
        if (cursor < 0) {
            return false;
        }
        long begin = header(cursor, -1, 0, -1, nanos, thread);
        long[] words = events.words(begin);
        int at = EventBuffer.position(begin);
        if (words != null) {
            int next = Values.string(name, limits.chars, words, at, at + bound);
            commit(begin, begin + (next - at));
        }
        return true;
    }

    /** Cursor of a record whose values took more room than they said they would. */
    private static final long OVERRUN = EventBuffer.DROPPED_LARGE;

    /** Room for {@code bytes} at the cursor, apart from the end mark. */
    private static boolean fits(long cursor, int bytes) {
        return EventBuffer.position(cursor) + bytes < EventBuffer.end(cursor);
    }

    public long putInt(long cursor, int value) {
        if (cursor < 0 || !fits(cursor, 5)) {
            return OVERRUN;
        }
        long[] words = events.words(cursor);
        if (words != null) {
            int at = EventBuffer.position(cursor);
            Values.put1(words, at, Values.INT);
            Values.put4(words, at + 1, value);
        }
        return cursor + 5;
    }

    public long putLong(long cursor, long value) {
        return put8(cursor, Values.LONG, value);
    }

    public long putDouble(long cursor, double value) {
        // Not doubleToRawLongBits: native, and so not traceable, on every JDK; NaN bits are kept as they are.
        return put8(cursor, Values.DOUBLE, Double.doubleToRawLongBits(value));
    }

    private long put8(long cursor, int tag, long bits) {
        if (cursor < 0 || !fits(cursor, 9)) {
            return OVERRUN;
        }
        long[] words = events.words(cursor);
        if (words != null) {
            int at = EventBuffer.position(cursor);
            Values.put1(words, at, tag);
            Values.put8(words, at + 1, bits);
        }
        return cursor + 9;
    }

    public long putBoolean(long cursor, int value) {
        if (cursor < 0 || !fits(cursor, 1)) {
            return OVERRUN;
        }
        long[] words = events.words(cursor);
        if (words != null) {
            Values.put1(words, EventBuffer.position(cursor), value != 0 ? Values.TRUE : Values.FALSE);
        }
        return cursor + 1;
    }

    public long putChar(long cursor, int value) {
        if (cursor < 0 || !fits(cursor, 3)) {
            return OVERRUN;
        }
        long[] words = events.words(cursor);
        if (words != null) {
            int at = EventBuffer.position(cursor);
            Values.put1(words, at, Values.CHAR);
            Values.put2(words, at + 1, value);
        }
        return cursor + 3;
    }

    public long put(long cursor, Object value) {
        if (cursor < 0 || !fits(cursor, 1)) {
            return OVERRUN;
        }
        long[] words = events.words(cursor);
        if (words == null) {
            return cursor;
        }
        int at = EventBuffer.position(cursor);
        int end = EventBuffer.end(cursor) - 1;
        int next;
        try {
            next = Values.simple(this, value, words, at, end);
            if (next == Values.NOT_SIMPLE) {
                next = values(value, words, end).write(shown(value), at);
            }
        } catch (Throwable unreadable) {
            next = Values.NO_ROOM;
        }
        if (next < 0) {
            Values.put1(words, at, Values.UNREADABLE);
            next = at + 1;
        }
        return cursor + (next - at);
    }

    private Values values(Object value, long[] words, int end) {
        return new Values(this, words, end, value instanceof Shown ? ((Shown) value).depth : limits.depth);
    }

    private static Object shown(Object value) {
        return value instanceof Shown ? ((Shown) value).value : value;
    }

    /** The value with a depth of its own, for {@link #put}. */
    public Object show(Object value, int depth) {
        return value == null ? null : new Shown(value, depth < 0 ? 0 : depth > Limits.MAX_DEPTH ? Limits.MAX_DEPTH : depth);
    }

    public int bound(Object value) {
        try {
            int size = Values.simple(this, value, null, 0, Integer.MAX_VALUE);
            if (size != Values.NOT_SIMPLE) {
                return size;
            }
            int most = events.maxRecord() / 2 < MAX_VALUE ? events.maxRecord() / 2 : MAX_VALUE;
            size = values(value, null, most).write(shown(value), 0);
            return size < 0 ? 1 : size;
        } catch (Throwable unreadable) {
            return 1;
        }
    }

    public void commit(long begin, long end) {
        if (begin < 0) {
            return;
        }
        long[] words = events.words(begin);
        if (words == null) {
            return;
        }
        int start = EventBuffer.position(begin) - EventBuffer.HEADER;
        int at = EventBuffer.position(end);
        if (end < 0 || at < EventBuffer.position(begin) || at >= EventBuffer.end(begin)) {
            Probe found = probe(events.discard(begin - EventBuffer.HEADER));
            if (found != null) {
                found.lose(Probe.LARGE);
            }
            return;
        }
        Values.put1(words, at, Values.END);
        Values.put4(words, start, at + 1 - start + 7 & ~7);
        events.commit(begin - EventBuffer.HEADER);
    }

    /** A whole record. */
    void write(int template, int probe, int site, Object first, Object second) {
        long begin = begin(template, probe, site, bound(first) + bound(second));
        if (begin >= 0) {
            commit(begin, put(put(begin, first), second));
        }
    }

    /** {@code maps}: characters that are elements of {@link Request#maps}. */
    public void printMaps(int template, String maps) {
        request(Request.PRINT_MAP, template, -1, 0, 0, maps);
    }

    public void exit(int template, int probe, int site, int code) {
        request(Request.EXIT, template, probe, site, code, "");
    }

    /** Has the hooks of an event run on the event thread. */
    public void send(int probe, int site, int event) {
        request(Request.SEND, -1, probe, site, event, "");
    }

    private void request(int kind, int template, int probe, int site, int argument, String maps) {
        long thread = Threads.id();
        long nanos = System.nanoTime();
        int count = Strings.length(maps) + 1 & ~1;
        int size = EventBuffer.HEADER + 8 + 4 * count;
        long cursor = events.claim(size, EventBuffer.NO_PROBE, EventBuffer.REQUEST, thread);
        if (cursor < 0) {
            int[] shown = new int[count];
            for (int i = 0; i < count; i++) {
                shown[i] = i < Strings.length(maps) ? Strings.charAt(maps, i) : -1;
            }
            Request late = new Request(kind, template, probe, site, argument, shown, nanos);
            for (int i = 0; i < LATE_REQUESTS; i++) {
                long offset = Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * i;
                if (MEMORY.compareAndSetReference(lateRequests, offset, null, late)) {
                    return;
                }
            }
            Probe found = probe(probe);
            if (found != null) {
                found.lose(Probe.FULL);
            }
            return;
        }
        long begin = header(cursor, template, site, probe, nanos, thread);
        long[] words = events.words(begin);
        if (words != null) {
            int at = EventBuffer.position(begin);
            Values.put4(words, at - EventBuffer.HEADER, size);
            Values.put4(words, at, kind);
            Values.put4(words, at + 4, argument);
            for (int i = 0; i < count; i++) {
                Values.put4(words, at + 8 + 4 * i, i < Strings.length(maps) ? Strings.charAt(maps, i) : -1);
            }
            events.commit(cursor);
        }
    }

    // ------------------------------------------------------------------------------------------------ objects

    public Object stack(int most) {
        return stacks.current(new Throwable(), frames(most));
    }

    public Object stackOf(Object throwable, int most) {
        return throwable == null ? null : stacks.of((Throwable) throwable, frames(most));
    }

    /** As {@link #stack}, without frames of classes that one of the globs {@code skipped} (with commas between them) fits. */
    public Object stackWithout(int most, String skipped) {
        return stacks.intern(Frames.current(limits.frames).without(skipped, frames(most)));
    }

    public Object stackOfWithout(Object throwable, int most, String skipped) {
        return throwable == null
                ? null
                : stacks.intern(Frames.of((Throwable) throwable, limits.frames).without(skipped, frames(most)));
    }

    public String frame(int index) {
        return index < 0 || index >= limits.frames ? null : stacks.frame(new Throwable(), index);
    }

    public String frameOf(Object throwable, int index) {
        return throwable == null || index < 0 || index >= limits.frames
                ? null
                : Frames.of((Throwable) throwable, index + 1).toStack(0, 0).frame(index);
    }

    private int frames(int asked) {
        return asked < 0 ? 0 : asked < limits.frames ? asked : limits.frames;
    }

    /** @throws ProbeError when no class of the target has such a field */
    public Object field(Object target, String name) {
        if (target == null) {
            return null;
        }
        if (target.getClass().isArray() && Strings.equal(name, "length")) {
            return Long.valueOf(Values.length(target));
        }
        Layout layout = Layouts.of(target);
        int field = layout.find(name);
        if (field < 0) {
            throw ProbeError.noField(target.getClass().getName(), name);
        }
        return layout.read(target, field);
    }

    /** The field, or what the getter gives where the class has no such field and the getter is allowed. */
    public Object property(Object target, String name, String allowed) {
        return target == null || Layouts.of(target).find(name) >= 0 || !Calls.has(target, allowed)
                ? field(target, name)
                : Calls.call(target, allowed, NOTHING);
    }

    /** @throws ProbeError when no such method may be called on the target, or it threw */
    public Object call(Object target, String allowed, Object[] arguments) {
        return target == null ? null : Calls.call(target, allowed, arguments);
    }

    /** The value if it is an instance of the named type; else null, and counted at the position. */
    public Object cast(Object value, String type, int probe, int at) {
        if (value == null || Dynamic.named(value.getClass().getName(), type) || Dynamic.instanceOf(value, type)) {
            return value;
        }
        errors.count(probe, at, ProbeError.KIND_BAD_CAST, null);
        return null;
    }

    /**
     * @param at position to count an index out of range at
     * @throws ProbeError when the target is neither an array nor a collection whose inside is known
     */
    public Object element(Object target, long index, int at) {
        if (target == null) {
            return null;
        }
        if (!target.getClass().isArray()) {
            Layout layout = Layouts.of(target);
            if (layout.shape == null) {
                throw ProbeError.BAD_CAST;
            }
            if (layout.shape.isMap()) {
                return Elements.value(target, Long.valueOf(index));
            }
            Object found = Containers.element(target, index);
            if (found == Containers.ABSENT) {
                note(ProbeError.KIND_INDEX, at);
                return null;
            }
            return found;
        }
        if (index < 0 || index >= Values.length(target)) {
            note(ProbeError.KIND_INDEX, at);
            return null;
        }
        return Elements.element(target, (int) index);
    }

    /** As {@link #element} for arrays and lists and an integer; of a map the value of the key, null when there is none. */
    public Object entry(Object target, Object key, int at) {
        if (target == null) {
            return null;
        }
        if (target.getClass().isArray() || Layouts.of(target).shape != null && !Layouts.of(target).shape.isMap()) {
            return element(target, Dynamic.toLong(key), at);
        }
        return Elements.value(target, key);
    }

    /**
     * What a loop goes through.
     *
     * @param most how many elements; 0 or less: none
     * @param pairs 1: keys and values, or indices and elements, in turn
     * @param at position to count {@link ProbeError#KIND_CUT} at when there are more; −1: nobody expects more
     * @throws ProbeError when this can not be walked through
     */
    public Object[] items(Object container, int most, int pairs, int probe, int at) {
        int bound = most < Elements.MOST ? most : Elements.MOST;
        Object[] found = Elements.of(container, bound, pairs != 0);
        if (container != null && at >= 0 && Elements.size(container) > bound) {
            errors.count(probe, at, ProbeError.KIND_CUT, null);
        }
        return found;
    }

    /** {@code value in container}. */
    public boolean contains(Object container, Object value) {
        return Elements.contains(container, value);
    }

    // ------------------------------------------------------------------------------------------------ thread.x

    /** What this thread keeps, to be added to; null when there is no room, which is counted at the position. */
    public ThreadValues threadValues(int variables, int probe, int at) {
        ThreadRows rows = threadRows;
        if (rows == null) {
            MEMORY.compareAndSetReference(this, THREAD_ROWS, null, new ThreadRows());
            rows = threadRows;
        }
        ThreadValues found = rows.find();
        if (found == null) {
            found = rows.claim(variables);
            if (found == null) {
                errors.count(probe, at, ProbeError.KIND_MAP_FULL, null);
            }
        } else {
            found.widen(variables);
        }
        return found;
    }

    /** What this thread keeps; null when that is nothing. */
    public ThreadValues threadValuesNow() {
        ThreadRows rows = threadRows;
        return rows == null ? null : rows.find();
    }

    // ------------------------------------------------------------------------------------------------ depth

    public static int depthEnter(int site, int probe) {
        Session session = SESSIONS[site >>> 24];
        if (session == null) {
            return -1;
        }
        ThreadTable depths = session.depths == null ? session.made(DEPTHS, 11) : session.depths;
        long key = Threads.id() * MAX_PROBES + (probe & MAX_PROBES - 1);
        int entry = depths.find(key);
        if (entry >= 0) {
            int below = (int) depths.value(entry);
            depths.setValue(entry, below + 1);
            return below;
        }
        entry = depths.claim(key);
        if (entry < 0) {
            session.errors.count(probe, 0, ProbeError.KIND_DEPTH, null);
            return -1;
        }
        depths.setValue(entry, 1);
        return 0;
    }

    /** Puts the depth back to {@code value}, whatever happened to activations above. */
    public static void depthLeave(int site, int probe, int value) {
        Session session = SESSIONS[site >>> 24];
        if (session == null || value < 0) {
            return;
        }
        int entry = session.depths.find(Threads.id() * MAX_PROBES + (probe & MAX_PROBES - 1));
        if (entry < 0) {
            return;
        }
        if (value == 0) {
            session.depths.release(entry);
        } else {
            session.depths.setValue(entry, value);
        }
    }

    // ------------------------------------------------------------------------------------------------ for the agent

    /** @return null when there are 127 sessions */
    public static synchronized Session open(Limits limits, int pid) {
        for (int i = 0; i < SLOTS - 1; i++) {
            int slot = 1 + (lastSlot + i) % (SLOTS - 1);
            if (SESSIONS[slot] == null) {
                // The slot given last is taken again last: sites of the past that are still on a stack meet nobody.
                lastSlot = slot;
                Session session = new Session(limits, slot, pid);
                era = (int) (System.nanoTime() >>> 30); // handlers that run before the first drain are of this one
                SESSIONS[slot] = session;
                return session;
            }
        }
        return null;
    }

    /** 1 to 127. */
    public int slot() {
        return slot;
    }

    /** Probes stop; the session and what it has collected are there until nothing refers to them. */
    public void close() {
        synchronized (Session.class) {
            if (SESSIONS[slot] == this) {
                SESSIONS[slot] = null;
                TALLIES[slot] = NO_TALLIES;
                ADDITIONS[slot] = NO_ADDITIONS;
            }
            boolean any = false;
            for (Session session : SESSIONS) {
                any |= session != null;
            }
            if (!any) {
                Layouts.clear();
                Calls.clear();
                Stripes.disownAll();
            }
        }
    }

    /**
     * The map of an id; an id that exists keeps its map.
     *
     * @param kind as in MapDecl of the wire protocol, and so the parameters
     * @throws IllegalArgumentException when a number is out of range
     */
    public synchronized void addMap(int id, int kind, int keys, int precision, int capacity, long[] parameters) {
        if (id < 0 || id >= MAX_MAPS) {
            throw new IllegalArgumentException("map id " + id);
        }
        Aggregation[] grown = new Aggregation[Math.max(maps.length, id + 1)];
        System.arraycopy(maps, 0, grown, 0, maps.length);
        if (grown[id] == null) {
            grown[id] = new Aggregation(this, id, kind, keys, precision, capacity, parameters);
        }
        maps = grown;
    }

    /**
     * The probe of an id, disabled at first; an id that exists keeps its probe.
     *
     * @throws IllegalArgumentException when the id is not in 0 … {@link #MAX_PROBES} − 1
     */
    public synchronized void addProbe(int id) {
        if (id < 0 || id >= MAX_PROBES) {
            throw new IllegalArgumentException("probe id " + id);
        }
        Probe[] grown = new Probe[Math.max(probes.length, id + 1)];
        System.arraycopy(probes, 0, grown, 0, probes.length);
        if (grown[id] == null) {
            grown[id] = new Probe(id, budget);
        }
        long[][] tallied = new long[grown.length][];
        Addition[] added = new Addition[grown.length];
        System.arraycopy(tallies, 0, tallied, 0, tallies.length);
        System.arraycopy(additions, 0, added, 0, additions.length);
        tallies = tallied;
        additions = added;
        probes = grown;
        for (Probe each : grown) {
            if (each != null && !each.enabled) { // it may have disabled itself just then
                tallied[each.id] = null;
                added[each.id] = null;
            }
        }
        synchronized (Session.class) {
            if (SESSIONS[slot] == this) {
                TALLIES[slot] = tallied;
                ADDITIONS[slot] = added;
            }
        }
    }

    /**
     * Which hits of the probe fire; before it is enabled.
     *
     * @param mode of {@link Sampler}; 0: all hits
     * @param group the probe that this one decides with, whose parameters count: a lower id, or its own
     * @throws IllegalArgumentException when there is no such probe, or a number is out of range
     */
    public synchronized void sampling(int probe, int mode, double parameter, boolean adaptive, int group) {
        Probe found = probe(probe);
        Probe first = probe(group);
        if (found == null || first == null) {
            throw new IllegalArgumentException("probe ids " + probe + " and " + group);
        }
        found.group = group;
        if (mode != 0) {
            found.sampler = first == found ? new Sampler(mode, parameter, adaptive) : first.sampler;
        }
    }

    /** The map makes room for new keys when it is full. */
    public void evict(int map) {
        Aggregation found = map(map);
        if (found != null) {
            found.evict();
        }
    }

    /** Firings in all, firings a second, ns until the probe is disabled, and failures until then; 0: no limit. */
    public void limit(int probe, long firings, long perSecond, long nanos, long failures) {
        Probe found = probe(probe);
        if (found != null) {
            found.limit(firings, perSecond, nanos, failures);
            settle(found);
        }
    }

    /** The same but for the failures, counted from now on. @return false when there is no such probe */
    public boolean limit(int probe, long firings, long perSecond, long nanos) {
        Probe found = probe(probe);
        if (found != null) {
            found.limit(firings, perSecond, nanos);
            settle(found);
        }
        return found != null;
    }

    /**
     * Changes which hits fire of a probe that samples, and of those that decide with it.
     *
     * @throws IllegalArgumentException when the probe does not sample or decides with another, or a number is out of range
     */
    public synchronized void resample(int probe, int mode, double parameter, boolean adaptive) {
        Probe found = probe(probe);
        if (found == null || found.sampler == null || found.group != probe) {
            throw new IllegalArgumentException("probe " + probe + " does not sample by itself");
        }
        Sampler sampler = new Sampler(mode, parameter, adaptive);
        for (Probe each : probes) {
            if (each != null && each.group == probe) {
                each.sample(sampler);
            }
        }
    }

    /** @return false when there is no such probe */
    public boolean setEnabled(int probe, boolean on) {
        Probe found = probe(probe);
        if (found != null) {
            found.enable(on);
            settle(found);
        }
        return found != null;
    }

    /** Probes with a level above 0: enabled up to this one, disabled above. */
    public void setLevel(int level) {
        for (Probe probe : probes) {
            if (probe != null && probe.level > 0) {
                setEnabled(probe.id, probe.level <= level);
            }
        }
    }

    /** The level of a probe; below 0: it has none, and is not changed by {@link #setLevel}. */
    public void level(int probe, int level) {
        Probe found = probe(probe);
        if (found != null) {
            found.level = level;
        }
    }

    /** How many probes there are, and how many of them are enabled. */
    public int[] probeCounts() {
        int all = 0;
        int enabled = 0;
        for (Probe probe : probes) {
            if (probe != null) {
                all++;
                enabled += probe.enabled ? 1 : 0;
            }
        }
        return new int[] {all, enabled};
    }

    /** Event thread only. A record was taken from the buffers, and nobody wanted it in time. */
    public void forgotten(int probe) {
        Probe found = probe(probe);
        if (found != null) {
            found.forgotten++;
        }
    }

    /**
     * Event thread only. A client goes: what was taken from the buffers went to it or to those before, but for what was forgotten
     * and, by probe, what is still kept.
     */
    public void handOver(long[] kept) {
        for (Probe probe : probes) {
            if (probe != null) {
                probe.handedOver = probe.delivered - probe.forgotten - kept[probe.id];
            }
        }
    }

    /** Payload: {@code list<(u4 probe, u8 records that clients before this one were sent)>}. */
    public byte[] handedOver() {
        Output out = new Output();
        int countAt = out.skip4();
        int rows = 0;
        for (Probe probe : probes) {
            if (probe != null) {
                out.u4(probe.id);
                out.u8(probe.handedOver);
                rows++;
            }
        }
        out.set4(countAt, rows);
        return out.toBytes();
    }

    /** A client has come that knows no stack and no thread: they are shipped again. Nobody drains meanwhile. */
    public void forgetShipped() {
        stacks.forgetShipped();
        java.util.Arrays.fill(namedIds, 0);
    }

    /** Event thread only, at least every 100 ms: limits by time, and what is counted by the second. */
    public void tick(long now) {
        Rehearsal.goOn();
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
                if (accounts) {
                    budget.add(probe, probe.account(now, costs));
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

    /** What probes may take of one core, in millionths; 0: all that they want. */
    public void budget(int millionths) {
        budget.set(millionths);
    }

    /** Event thread only. @return payload of RESTRAINED: what the budget did to a probe, the earliest first; null: nothing more */
    public byte[] takeRestraint() {
        return budget.take();
    }

    /** What a probe should have been told of, and could not be: counted as an error of it. */
    public void missed(int probe) {
        errors.count(probe, 0, ProbeError.KIND_RING_FULL, null);
    }

    /**
     * Facts of a site, to be known before the class that has it runs.
     *
     * @param id with the slot in its upper eight bits
     * @throws IllegalArgumentException when the id is another session's
     */
    public synchronized void addSite(
            int id, String className, String method, String descriptor, int line, String targetClass, String targetMember,
            String loader) {
        if (id >>> 24 != slot) {
            throw new IllegalArgumentException("site id " + id);
        }
        int n = id & 0xFFFFFF;
        Site[] now = sites;
        if (n >= now.length) {
            Site[] grown = new Site[Math.max(64, Math.max(n + 1, now.length + (now.length >> 1)))];
            System.arraycopy(now, 0, grown, 0, now.length);
            now = grown;
        }
        now[n] = new Site(className, method, descriptor, line, targetClass, targetMember, loader);
        sites = now;
    }

    /**
     * Event thread only. Moves records into {@code target}: whole ones, as EVENTS ships them, until it is full, or there are none,
     * or a request comes next, which {@link #takeRequest} then gives.
     *
     * @param target {@link #maxRecord} bytes take any record
     * @return how many bytes; below 0: the next record alone takes so many
     */
    public int drain(byte[] target) {
        return drain(target, System.nanoTime());
    }

    /** {@code now}: what counts as the present when unfinished records and handlers are given up. */
    int drain(byte[] target, long now) {
        era = (int) (now >>> 30);
        stacks.sweep(now);
        if (threadRows != null) {
            threadRows.sweep(now);
        }
        return drain.fill(target, now);
    }

    /** Bytes of the largest record. */
    public int maxRecord() {
        return events.maxRecord();
    }

    /** Event thread only. @return the request that stopped {@link #drain}, or one that found the buffers full, or null */
    public Request takeRequest() {
        return drain.take();
    }

    Request takeLateRequest() {
        for (int i = 0; i < LATE_REQUESTS; i++) {
            Object late = lateRequests[i];
            if (late != null) {
                lateRequests[i] = null;
                return (Request) late;
            }
        }
        return null;
    }

    /**
     * Event thread only. @return payload of STACKS with the stacks used by what {@link #drain} and {@link #mapContent} gave and not
     * shipped before: to be sent before those. Null when there are none.
     */
    public byte[] takeStacks() {
        return stacks.take();
    }

    /** Event thread only. @return payload of ERRORS: what failed since the last call, or null */
    public byte[] takeErrors() {
        return errors.take();
    }

    /** Event thread only. @return payload of COUNTERS: totals of every probe */
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
            for (int i = 0; i < 11; i++) {
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
     * Agent threads only. Writers are not stopped.
     *
     * @param flush take what is in the map
     * @param room bytes after which no key is begun
     * @return MapContent of the wire protocol, or null when there is no such map
     */
    public byte[] mapContent(int id, boolean flush, int room) {
        Aggregation map = map(id);
        return map == null ? null : map.content(flush, room);
    }
}
