package btpy.runtime;

/**
 * One map: keys to aggregated or plain values.
 *
 * <p>Keys are in an open-addressing table of four times the capacity. Each key is an {@link Entry}; looking one up reads at most
 * {@link #WINDOW} references and waits for nobody. An entry is added with one compare-and-set. Deleting leaves a mark that a later
 * key may take; clearing puts an empty table in place. Threads that add the last keys at once may pass the capacity, each by one.
 *
 * <p>A slot number carries the serial number of its entry. An update that comes after its key was deleted or the map cleared finds
 * another serial number and is dropped, as if it had come before. Cells are changed by atomic additions, so no update is ever
 * lost. The map without keys has the cells that threads share striped. A thread that owns its stripe ({@link
 * Stripes#owned}) gets cells of its own at each key, as long as those take no more than {@link #MAX_OWN_BYTES} in all, and adds to their
 * sums without an atomic addition; what is taken from those is remembered beside them.
 *
 * <p>A snapshot reads while writers go on: each cell is exact at some moment of the reading, different cells at different moments.
 *
 * <p>A flush takes what the cells hold by exchanging it for their first value, so that every addition is in one flush and in no
 * other. To forget the keys as well it puts an empty table in place, at most once a second, and keeps the two tables before: what a
 * writer that was under way adds to one of those is in the next snapshot or flush.
 *
 * <p>A map that evicts makes room for a new key by letting go of the key that was used least recently among some dozens. Using a
 * key writes down the serial number of the last entry, so what counts is how many keys came since.
 *
 * <p>A count without keys leaves the counting to probes that do nothing else: what they tally belongs to its one entry, which then
 * stays, and is taken by remembering how much of it was there.
 *
 * <p>When a new key is added by two threads at once while a third deletes another key of the same window, the key may be there
 * twice. The snapshot adds such entries up; {@link #delete} removes both; of plain values that were assigned, the first counts.
 */
public final class Aggregation {
    public static final int VALUE = 0;
    public static final int COUNT = 1;
    public static final int SUM = 2;
    public static final int AVG = 3;
    public static final int MIN = 4;
    public static final int MAX = 5;
    public static final int STATS = 6;
    public static final int HIST = 7;
    public static final int LHIST = 8;
    public static final int TSERIES = 9;
    public static final int TOPK = 10;
    public static final int DISTINCT = 11;
    public static final int FIRST = 12;
    public static final int LAST = 13;
    public static final int SAMPLE_OF = 14;

    private static final Memory MEMORY = Memory.instance();
    private static final long ENTRY_VALUE = MEMORY.fieldOffset(Entry.class, "value");
    private static final long TABLES = MEMORY.fieldOffset(Aggregation.class, "tables");
    private static final int WINDOW = 64;
    private static final int MAX_CAPACITY = 1 << 18;
    private static final int CLAIMS_TRIED = 64;
    /** Places that are looked at for the key to evict: every key of a map of 64, some dozens of a larger one. */
    private static final int EVICTION_SPAN = 256;
    /** Cells of one stripe, with what keeps its neighbour's cache lines apart. */
    private static final int STRIDE = 16;
    /** In cells that have an owner, from a sum to what of it was taken. */
    private static final int TAKEN = 8;
    private static final int SEGMENT = 64;
    /** What one map may take: entries, keys, cells; an estimate. */
    private static final long MAX_BYTES = 64L << 20;
    /** What of it cells of single threads may take: they make a map faster, and must leave room for keys. */
    private static final long MAX_OWN_BYTES = 8L << 20;
    private static final int MAX_BUCKETS = 1000;
    private static final int MAX_WINDOWS = 1000;
    private static final int MAX_VALUES = 100;
    private static final long BYTES = Memory.LONG_BASE + 16;
    private static final long EVICTED = Memory.LONG_BASE + 24;
    private static final long HAND = Memory.LONG_BASE + 32;
    private static final long OWN_BYTES = Memory.LONG_BASE + 40;
    private static final long ROTATION_NANOS = 1_000_000_000L;
    private static final int RETIRED = 2;

    /**
     * Cells by kind, as docs/runtime.md lists them: S sum L, D sum D, l min L, d min D, L max L, X max D, n, g negatives, t time.
     */
    private static final char[][] CELLS = {
        {}, {'n'}, {'n', 'S', 'D'}, {'n', 'S', 'D'}, {'n', 'l', 'd'}, {'n', 'L', 'X'},
        {'n', 'S', 'D', 'l', 'd', 'L', 'X'}, {'S', 'D', 'l', 'L', 'g'}, {'S', 'D', 'l', 'd', 'L', 'X'},
        {'n'}, {'n'}, {'n'}, {'t'}, {'t'}, {'n'},
    };

    private static final long POSITIVE_INFINITY = 0x7FF0000000000000L;
    private static final long NEGATIVE_INFINITY = 0xFFF0000000000000L;

    private static final Object UNSET = new Object();
    private static final Entry DELETED = new Entry(-1, 0, null, null, null, null, null);

    static class Cells {
        /** By stripe; null for a plain value. */
        long[] cells;
        /**
         * What does not fit into a few cells, made when first used. Buckets or registers: segments of cells, by stripe. Windows: one
         * each. Counters and values: one each.
         */
        Object[] segments;

        Cells() {}
    }

    static final class Entry extends Cells {
        final int slot;
        final int hash;
        final Object a;
        final Object b;
        final Object c;
        final Object d;
        /** All components when there are more than four. */
        final Object[] all;
        /** By stripe of the probes: what its owner alone adds to, made when first used. Null: threads share all cells of this kind. */
        Cells[] own;
        volatile Object value = UNSET;
        /** The value was set, not only added to: it cannot be made of parts. */
        volatile boolean assigned;
        /** Serial number of the last entry when this one was used; only where the map evicts. */
        long used;

        Entry(int slot, int hash, Object a, Object b, Object c, Object d, Object[] all) {
            this.slot = slot;
            this.hash = hash;
            this.a = a;
            this.b = b;
            this.c = c;
            this.d = d;
            this.all = all;
        }
    }

    private static final class Table {
        final Object[] entries;
        /** One element: keys that are there. */
        final long[] live = new long[1];

        Table(int size) {
            entries = new Object[size];
        }

        Entry entry(int at) {
            return (Entry) MEMORY.getReferenceVolatile(entries, Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * at);
        }

        boolean replace(int at, Entry from, Entry to) {
            return MEMORY.compareAndSetReference(
                    entries, Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * at, from, to);
        }

        long live() {
            return MEMORY.getLongVolatile(live, Memory.LONG_BASE);
        }

        void addLive(int delta) {
            MEMORY.getAndAddLong(live, Memory.LONG_BASE, delta);
        }
    }

    /** What a probe counts for this map without touching it ({@link Probe#tally}), and what of it was taken, by stripe. */
    private static final class Tally {
        final long[] counts;
        final long[] taken = new long[Stripes.COUNT];

        Tally(long[] counts) {
            this.counts = counts;
        }

        /** {@code take}: it is in this sum and in none after it. */
        long sum(boolean take) {
            long sum = 0;
            for (int stripe = 0; stripe < taken.length; stripe++) {
                long offset = Memory.LONG_BASE + 8L * stripe;
                long before;
                long now;
                do {
                    before = MEMORY.getLongVolatile(taken, offset); // first: what is counted is never less
                    now = Probe.tallied(counts, stripe);
                } while (take && !MEMORY.compareAndSetLong(taken, offset, before, now));
                sum += now - before;
            }
            return sum;
        }
    }

    private final Session session;
    private final int id;
    private final int kind;
    private final int keys;
    private final int precision;
    private final int capacity;
    private final int limit;
    private final int window;
    private final int indexBits;
    private final int stripeBits;
    private final int stripes;
    private final int stride;
    private final int segmentsPerStripe;
    /** LHIST: min, max, step (bits of doubles). TSERIES: interval in ns, windows, operator. TOPK and SAMPLE_OF: how many. */
    private final long[] parameters;
    private final double low;
    private final double step;
    private final int buckets;
    /** The one in use, then those that were flushed, youngest first. */
    private volatile Table[] tables;
    private volatile Tally[] tallies = new Tally[0];
    private long rotatedNanos;
    /** Samples that flushes have taken away; agent threads only. */
    private double taken;
    /** Serial number of the last entry, samples refused because the map was full, bytes taken, keys evicted, hand, bytes of cells that
     * have an owner. */
    private final long[] counters = new long[6];
    private boolean evicts;
    /** The one entry is known elsewhere: it is emptied, and never replaced. */
    private volatile boolean stays;
    /** The probe that looked for a key last that was not found at once; −1: none. */
    private int claimer = -1;

    /** @throws IllegalArgumentException when a number is out of range */
    Aggregation(Session session, int id, int kind, int keys, int precision, int capacity, long[] parameters) {
        if (kind < VALUE || kind > SAMPLE_OF || keys < 0 || keys > 255 || precision < 0 || precision > 8) {
            throw new IllegalArgumentException("map " + id + ": kind " + kind + ", " + keys + " keys, precision " + precision);
        }
        this.kind = kind;
        this.parameters = parameters;
        this.low = kind == LHIST ? Double.longBitsToDouble(parameter(0)) : 0;
        this.step = kind == LHIST ? Double.longBitsToDouble(parameter(2)) : 1;
        this.buckets = kind == LHIST ? (int) Math.round((Double.longBitsToDouble(parameter(1)) - low) / step) : 0;
        check(id);
        if (capacity < 1 || capacity > MAX_CAPACITY) {
            throw new IllegalArgumentException("map " + id + ": capacity " + capacity);
        }
        this.session = session;
        this.id = id;
        this.keys = keys;
        this.precision = precision;
        this.capacity = capacity;
        this.limit = session.limits.chars;
        int size = keys == 0 ? 1 : Math.max(WINDOW, Integer.highestOneBit(4 * capacity - 1) << 1);
        this.window = keys == 0 ? 1 : WINDOW;
        this.indexBits = 31 - Integer.numberOfLeadingZeros(size);
        int cpus = Math.min(16, Runtime.getRuntime().availableProcessors());
        boolean striped = keys == 0 && hasOwners() && cpus > 1;
        this.stripeBits = striped ? 32 - Integer.numberOfLeadingZeros(cpus - 1) : 0;
        this.stripes = 1 << stripeBits;
        this.stride = striped ? STRIDE : CELLS[kind].length;
        this.segmentsPerStripe = segments();
        this.tables = new Table[] {new Table(size)};
    }

    /**
     * Agent threads only. From now on what is tallied there is counted here.
     *
     * @return false when this is no count without keys
     */
    synchronized boolean countTallies(long[] counts) {
        if (kind != COUNT || keys != 0) {
            return false;
        }
        Tally[] grown = new Tally[tallies.length + 1];
        System.arraycopy(tallies, 0, grown, 0, tallies.length);
        grown[tallies.length] = new Tally(counts);
        tallies = grown;
        only();
        return true;
    }

    /**
     * Agent threads only. The short way into this map for firings that are counted there.
     *
     * @return null when there is none
     */
    synchronized Addition addition(long[] counts) {
        return keys > 1 || !hasOwners() ? null : new Addition(id, this, keys == 0 ? only() : null, kind == COUNT, counts);
    }

    /** Of a map without keys: its entry, which stays from now on. */
    private Entry only() {
        stays = true;
        slot();
        return tables[0].entry(0);
    }

    private long tallied(boolean take) {
        long sum = 0;
        for (Tally tally : tallies) {
            sum += tally.sum(take);
        }
        return sum;
    }

    /** From now on a new key that finds the map full takes the place of another. */
    void evict() {
        evicts = keys > 0;
    }

    private long parameter(int index) {
        return index < parameters.length ? parameters[index] : 0;
    }

    private void check(int id) {
        boolean right = true;
        switch (kind) {
            case LHIST:
                right = step > 0 && buckets >= 1 && buckets <= MAX_BUCKETS;
                break;
            case TSERIES:
                right = parameter(0) >= 1_000_000 && parameter(1) >= 1 && parameter(1) <= MAX_WINDOWS
                        && parameter(2) >= Windows.SUM && parameter(2) <= Windows.COUNT;
                break;
            case TOPK:
            case SAMPLE_OF:
                right = parameter(0) >= 1 && parameter(0) <= MAX_VALUES;
                break;
            default:
                break;
        }
        if (!right) {
            throw new IllegalArgumentException("map " + id + ": parameters of kind " + kind);
        }
    }

    private int segments() {
        switch (kind) {
            case HIST:
                return (((64 - precision) << precision) + SEGMENT - 1) / SEGMENT;
            case LHIST:
                return (buckets + 2 + SEGMENT - 1) / SEGMENT;
            case TSERIES:
                return (int) parameter(1);
            case TOPK:
                return TopValues.counters((int) parameter(0));
            case DISTINCT:
                return Registers.CELLS / SEGMENT;
            case SAMPLE_OF:
                return (int) parameter(0);
            default:
                return 0;
        }
    }

    // ------------------------------------------------------------------------------------------------ keys

    public int slot() {
        Entry only = keys == 0 ? tables[0].entry(0) : null;
        if (only != null && only != DELETED) {
            return only.slot;
        }
        return lookup(null, null, null, null, null, true);
    }

    public int slot(Object a, int probe) {
        Entry first = plain(a);
        return first != null ? first.slot : claim(probe, a, null, null, null, null);
    }

    /** The entry of a plain key that is there, and in the first place for it; null for all others. */
    Entry plain(Object a) {
        Entry first = Keys.isPlain(a) ? first(Keys.plainHash(a, limit)) : null;
        return first != null && Keys.plainSame(first.a, a) ? first : null;
    }

    public int slot(Object a, Object b, int probe) {
        if (Keys.isPlain(a) && Keys.isPlain(b)) {
            Entry first = first(31 * Keys.plainHash(a, limit) + Keys.plainHash(b, limit));
            if (first != null && Keys.plainSame(first.a, a) && Keys.plainSame(first.b, b)) {
                return first.slot;
            }
        }
        return claim(probe, a, b, null, null, null);
    }

    public int slot(Object a, Object b, Object c, int probe) {
        if (Keys.isPlain(a) && Keys.isPlain(b) && Keys.isPlain(c)) {
            int hash = 31 * Keys.plainHash(a, limit) + Keys.plainHash(b, limit);
            Entry first = first(31 * hash + Keys.plainHash(c, limit));
            if (first != null && Keys.plainSame(first.a, a) && Keys.plainSame(first.b, b) && Keys.plainSame(first.c, c)) {
                return first.slot;
            }
        }
        return claim(probe, a, b, c, null, null);
    }

    public int slot(Object a, Object b, Object c, Object d, int probe) {
        return claim(probe, a, b, c, d, null);
    }

    public int slot(Object[] all, int probe) {
        return claim(probe, null, null, null, null, all);
    }

    public int find() {
        return stays ? slot() : lookup(null, null, null, null, null, false);
    }

    public int find(Object a) {
        return lookup(a, null, null, null, null, false);
    }

    public int find(Object a, Object b) {
        return lookup(a, b, null, null, null, false);
    }

    public int find(Object a, Object b, Object c) {
        return lookup(a, b, c, null, null, false);
    }

    public int find(Object a, Object b, Object c, Object d) {
        return lookup(a, b, c, d, null, false);
    }

    public int find(Object[] all) {
        return lookup(null, null, null, null, all, false);
    }

    /** The entry in the first place for keys of this hash, if it is of that hash: the key that nearly every lookup is for. */
    private Entry first(int hash) {
        Table table = tables[0];
        Entry entry = table.entry((hash ^ hash >>> 16) & table.entries.length - 1);
        if (entry == null || entry.hash != hash || entry == DELETED) {
            return null;
        }
        if (evicts) {
            entry.used = counters[0];
        }
        return entry;
    }

    /** The slot of any key. What that calls may be traced: no probe fires meanwhile. */
    private int claim(int probe, Object a, Object b, Object c, Object d, Object[] all) {
        claimer = probe;
        int entry = Session.mark(probe);
        try {
            return lookup(a, b, c, d, all, true);
        } finally {
            try {
                Session.leave(entry);
            } catch (Throwable noStack) {
                if (entry >= 0) {
                    Session.MARKS[entry] = Session.LEFT;
                }
            }
        }
    }

    private int hash(Object a, Object b, Object c, Object d, Object[] all) {
        int hash = 0;
        if (all != null) {
            hash = all.length;
            for (Object component : all) {
                hash = 31 * hash + Keys.hash(component, limit);
            }
        } else if (keys > 0) {
            hash = Keys.hash(a, limit);
            hash = keys > 1 ? 31 * hash + Keys.hash(b, limit) : hash;
            hash = keys > 2 ? 31 * hash + Keys.hash(c, limit) : hash;
            hash = keys > 3 ? 31 * hash + Keys.hash(d, limit) : hash;
        }
        return hash;
    }

    private int lookup(Object a, Object b, Object c, Object d, Object[] all, boolean claim) {
        int hash = hash(a, b, c, d, all);
        Table table = tables[0];
        int mask = table.entries.length - 1;
        int start = hash ^ hash >>> 16;
        boolean full = false;
        for (int attempt = 0; attempt < CLAIMS_TRIED; attempt++) {
            int free = -1;
            Entry freeEntry = null;
            for (int i = 0; i < window; i++) {
                int at = start + i & mask;
                Entry entry = table.entry(at);
                if (entry == null) {
                    if (free < 0) {
                        free = at;
                    }
                    break;
                }
                if (entry == DELETED) {
                    if (free < 0) {
                        free = at;
                        freeEntry = DELETED;
                    }
                } else if (entry.hash == hash && matches(entry, a, b, c, d, all)) {
                    if (evicts) {
                        entry.used = counters[0];
                    }
                    return entry.slot;
                }
            }
            if (!claim) {
                return -1;
            }
            if (free < 0 || table.live() >= capacity || MEMORY.getLongVolatile(counters, BYTES) >= MAX_BYTES) {
                if (evicts && evict(table, free < 0 ? start : -1)) {
                    continue;
                }
                // Keys are counted after they are there: one that another thread added meanwhile is found by looking again.
                if (full) {
                    break;
                }
                full = true;
                continue;
            }
            Entry made = make(free, hash, a, b, c, d, all);
            made.used = counters[0];
            if (table.replace(free, freeEntry, made)) {
                table.addLive(1);
                return made.slot;
            }
        }
        full();
        return -1;
    }

    /**
     * Lets go of the key that was used least recently among the next ones.
     *
     * @param window start of the places that must have room; −1: any place will do
     */
    private boolean evict(Table table, int window) {
        int mask = table.entries.length - 1;
        int span = window >= 0 ? WINDOW : mask < EVICTION_SPAN ? mask + 1 : EVICTION_SPAN;
        int from = window < 0 ? (int) MEMORY.getAndAddLong(counters, HAND, span) : window;
        Entry oldest = null;
        int place = 0;
        for (int i = 0; i < span; i++) {
            int at = from + i & mask;
            Entry entry = table.entry(at);
            if (entry != null && entry != DELETED && (oldest == null || entry.used - oldest.used < 0)) {
                oldest = entry;
                place = at;
            }
        }
        if (oldest == null || !table.replace(place, oldest, DELETED)) {
            return oldest != null || window < 0 && table.live() > 0; // there is another to be found
        }
        gone(table, oldest);
        MEMORY.getAndAddLong(counters, EVICTED, 1);
        return true;
    }

    private void gone(Table table, Entry entry) {
        table.addLive(-1);
        grow(-bytes(entry) - segmentBytes(entry));
        for (int i = 0; entry.own != null && i < entry.own.length; i++) {
            if (entry.own[i] != null) {
                growOwn(-ownBytes() - segmentBytes(entry.own[i]));
            }
        }
    }

    private static long segmentBytes(Cells of) {
        long bytes = 0;
        for (int i = 0; of.segments != null && i < of.segments.length; i++) {
            bytes += of.segments[i] instanceof long[] ? 16 + 8 * ((long[]) of.segments[i]).length : 0;
        }
        return bytes;
    }

    /** A sample finds no room. */
    private void full() {
        MEMORY.getAndAddLong(counters, Memory.LONG_BASE + 8, 1);
        session.noteMapFull(claimer);
    }

    private void grow(long bytes) {
        MEMORY.getAndAddLong(counters, BYTES, bytes);
    }

    private void growOwn(long bytes) {
        MEMORY.getAndAddLong(counters, OWN_BYTES, bytes);
        grow(bytes);
    }

    private boolean matches(Entry entry, Object a, Object b, Object c, Object d, Object[] all) {
        if (all == null) {
            return Keys.same(entry.a, a, limit)
                    && Keys.same(entry.b, b, limit)
                    && Keys.same(entry.c, c, limit)
                    && Keys.same(entry.d, d, limit);
        }
        for (int i = 0; i < all.length; i++) {
            if (!Keys.same(entry.all[i], all[i], limit)) {
                return false;
            }
        }
        return true;
    }

    private Entry make(int at, int hash, Object a, Object b, Object c, Object d, Object[] all) {
        Object[] held = null;
        if (all != null) {
            held = new Object[all.length];
            for (int i = 0; i < all.length; i++) {
                held[i] = Keys.held(all[i], limit);
            }
        }
        int serial = (int) (MEMORY.getAndAddLong(counters, Memory.LONG_BASE, 1) & (1L << 31 - indexBits) - 1);
        Entry entry = new Entry(
                serial << indexBits | at,
                hash,
                Keys.held(a, limit),
                Keys.held(b, limit),
                Keys.held(c, limit),
                Keys.held(d, limit),
                held);
        if (kind != VALUE) {
            entry.cells = new long[stride * stripes];
            char[] layout = CELLS[kind];
            for (int stripe = 0; stripe < stripes; stripe++) {
                for (int i = 0; i < layout.length; i++) {
                    entry.cells[stripe * stride + i] = initial(layout[i]);
                }
            }
        }
        if (segmentsPerStripe > 0) {
            entry.segments = new Object[segmentsPerStripe * stripes];
        }
        if (hasOwners()) {
            entry.own = new Cells[Stripes.COUNT];
        }
        grow(bytes(entry));
        return entry;
    }

    /** What an entry takes when it is made; an estimate. */
    private long bytes(Entry entry) {
        long bytes = 96 + (8L * stride + 4L * segmentsPerStripe) * stripes + (hasOwners() ? 16 + 4L * Stripes.COUNT : 0);
        bytes += Keys.bytes(entry.a) + Keys.bytes(entry.b) + Keys.bytes(entry.c) + Keys.bytes(entry.d);
        for (int i = 0; entry.all != null && i < entry.all.length; i++) {
            bytes += Keys.bytes(entry.all[i]);
        }
        return bytes;
    }

    static long initial(char cell) {
        switch (cell) {
            case 'l':
                return Long.MAX_VALUE;
            case 'd':
                return POSITIVE_INFINITY;
            case 'L':
                return Long.MIN_VALUE;
            case 'X':
                return NEGATIVE_INFINITY;
            default:
                return 0;
        }
    }

    private Entry entry(int slot) {
        if (slot < 0) {
            return null;
        }
        Table[] tables = this.tables;
        for (Table table : tables) {
            Entry entry = table.entry(slot & table.entries.length - 1);
            if (entry != null && entry.slot == slot) {
                return entry;
            }
        }
        return null;
    }

    // ------------------------------------------------------------------------------------------------ updates

    public void count(int slot) {
        count(slot, 1);
    }

    /** {@code weight}: how many of its like the sample stands for. */
    public void count(int slot, long weight) {
        Entry entry = entry(slot);
        if (entry != null && kind == COUNT) {
            Cells own = own(entry);
            if (own != null) {
                bump(own.cells, Memory.LONG_BASE, weight, true);
            } else {
                bump(entry.cells, Memory.LONG_BASE + 8L * stripe() * stride, weight, false);
            }
        }
    }

    /** Of the thread that owns the cells. */
    static void count(Cells own) {
        bump(own.cells, Memory.LONG_BASE, 1, true);
    }

    /** The long way of an {@link Addition}. */
    void add(Object key, int probe, long sample, long weight) {
        int slot = keys == 0 ? slot() : slot(key, probe);
        if (kind == COUNT) {
            count(slot, weight);
        } else {
            add(slot, sample, weight);
        }
    }

    public void add(int slot, long sample) {
        add(slot, sample, 1);
    }

    /** Short, as are those that it calls for the kinds that are used most: HotSpot inlines no method of more than 325 bytes. */
    public void add(int slot, long sample, long weight) {
        Entry entry = entry(slot);
        if (entry != null) {
            add(entry, own(entry), sample, weight);
        }
    }

    /** {@code own}: those of this thread, or null. */
    void add(Entry entry, Cells own, long sample, long weight) {
        int stripe = own != null ? 0 : stripe();
        long[] cells = own != null ? own.cells : entry.cells;
        long first = Memory.LONG_BASE + 8L * stripe * stride;
        if (kind == HIST) {
            histogram(entry, own, stripe, cells, first, sample, weight);
        } else if (kind >= SUM && kind <= MAX) {
            combine(CELLS[kind], cells, first, sample, weight, own != null);
        } else {
            addOther(entry, own, stripe, cells, first, sample, weight);
        }
    }

    private void histogram(Entry entry, Cells own, int stripe, long[] cells, long first, long sample, long weight) {
        bump(cells, first, sample * weight, own != null);
        lower(cells, first + 16, sample);
        raise(cells, first + 24, sample);
        if (sample < 0) {
            bump(cells, first + 32, weight, own != null);
        } else {
            bucket(entry, own, stripe, bucketOf(sample, precision), weight);
        }
    }

    private void addOther(Entry entry, Cells own, int stripe, long[] cells, long first, long sample, long weight) {
        switch (kind) {
            case STATS:
                bump(cells, first, weight, own != null);
                bump(cells, first + 8, sample * weight, own != null);
                lower(cells, first + 24, sample);
                raise(cells, first + 40, sample);
                break;
            case LHIST:
                bump(cells, first, sample * weight, own != null);
                lower(cells, first + 16, sample);
                raise(cells, first + 32, sample);
                bucket(entry, own, stripe, linearBucketOf(sample), weight);
                break;
            case TSERIES:
                bump(cells, first, weight, false);
                long[] window = window(entry);
                if (window != null) {
                    combine(Windows.cells((int) parameters[2]), window, Memory.LONG_BASE + 8, sample, weight, false);
                }
                break;
            default:
                break;
        }
    }

    public void add(int slot, double sample) {
        add(slot, sample, 1);
    }

    /** A histogram takes the integral part of the sample, and all of it for the sum. */
    public void add(int slot, double sample, long weight) {
        Entry entry = entry(slot);
        if (entry == null) {
            return;
        }
        Cells own = own(entry);
        int stripe = own != null ? 0 : stripe();
        long[] cells = own != null ? own.cells : entry.cells;
        long first = Memory.LONG_BASE + 8L * stripe * stride;
        if (kind == HIST) {
            histogram(entry, own, stripe, cells, first, sample, weight);
        } else if (kind >= SUM && kind <= MAX) {
            combine(CELLS[kind], cells, first, sample, weight, own != null);
        } else {
            addOther(entry, own, stripe, cells, first, sample, weight);
        }
    }

    private void histogram(Entry entry, Cells own, int stripe, long[] cells, long first, double sample, long weight) {
        add(cells, first + 8, sample * weight);
        lower(cells, first + 16, (long) sample);
        raise(cells, first + 24, (long) sample);
        if ((long) sample < 0) {
            bump(cells, first + 32, weight, own != null);
        } else {
            bucket(entry, own, stripe, bucketOf((long) sample, precision), weight);
        }
    }

    private void addOther(Entry entry, Cells own, int stripe, long[] cells, long first, double sample, long weight) {
        switch (kind) {
            case STATS:
                bump(cells, first, weight, own != null);
                add(cells, first + 16, sample * weight);
                lower(cells, first + 32, sample);
                raise(cells, first + 48, sample);
                break;
            case LHIST:
                add(cells, first + 8, sample * weight);
                lower(cells, first + 24, sample);
                raise(cells, first + 40, sample);
                bucket(entry, own, stripe, linearBucketOf(sample), weight);
                break;
            case TSERIES:
                bump(cells, first, weight, false);
                long[] window = window(entry);
                if (window != null) {
                    combine(Windows.cells((int) parameters[2]), window, Memory.LONG_BASE + 8, sample, weight, false);
                }
                break;
            default:
                break;
        }
    }

    public void add(int slot, Object sample) {
        add(slot, sample, 1, 0);
    }

    /**
     * @param at where the sample stands in the script: null is counted there
     * @throws ProbeError when the sample is neither null nor a number
     */
    public void add(int slot, Object sample, long weight, int at) {
        if (sample == null) {
            session.note(ProbeError.KIND_NULL_SAMPLE, at);
        } else if (sample instanceof Double || sample instanceof Float) {
            add(slot, ((Number) sample).doubleValue(), weight);
        } else if (sample instanceof Character) {
            add(slot, (long) ((Character) sample).charValue(), weight);
        } else if (sample instanceof Long || sample instanceof Integer || sample instanceof Short || sample instanceof Byte) {
            add(slot, ((Number) sample).longValue(), weight);
        } else {
            throw ProbeError.BAD_CAST;
        }
    }

    /**
     * A sample of any type, for {@link #TOPK}, {@link #DISTINCT}, {@link #FIRST}, {@link #LAST} and {@link #SAMPLE_OF}.
     *
     * @param at where the sample stands in the script: null is counted there
     */
    public void collect(int slot, Object sample, long weight, int at) {
        if (sample == null) {
            session.note(ProbeError.KIND_NULL_SAMPLE, at);
            return;
        }
        Entry entry = entry(slot);
        if (entry == null) {
            return;
        }
        switch (kind) {
            case TOPK:
                bump(entry.cells, Memory.LONG_BASE, weight, false);
                TopValues.add(entry.segments, sample, limit, weight);
                break;
            case DISTINCT:
                bump(entry.cells, Memory.LONG_BASE, weight, false);
                long hash = Keys.hash64(sample, limit);
                long[] registers = segment(entry, Registers.cell(hash) / SEGMENT);
                if (registers != null) {
                    Registers.add(registers, Registers.cell(hash) % SEGMENT, hash);
                }
                break;
            case FIRST:
                if (entry.value == UNSET
                        && MEMORY.compareAndSetReference(entry, ENTRY_VALUE, UNSET, Keys.held(sample, limit))) {
                    MEMORY.putLongVolatile(entry.cells, Memory.LONG_BASE, session.wallClock());
                }
                break;
            case LAST:
                entry.value = Keys.held(sample, limit);
                raise(entry.cells, Memory.LONG_BASE, session.wallClock());
                break;
            case SAMPLE_OF:
                keepSome(entry, sample);
                break;
            default:
                break;
        }
    }

    /** Reservoir sampling (Vitter 1985, algorithm R): each of the samples so far is kept with the same probability. */
    private void keepSome(Entry entry, Object sample) {
        long before = MEMORY.getAndAddLong(entry.cells, Memory.LONG_BASE, 1);
        long at = before;
        if (before >= segmentsPerStripe) {
            at = (Keys.mix64(before + entry.hash * 0x9E3779B97F4A7C15L) >>> 1) % (before + 1);
        }
        if (at < segmentsPerStripe) {
            entry.segments[(int) at] = Keys.held(sample, limit);
        }
    }

    private long[] window(Entry entry) {
        return Windows.of(entry.segments, session.wallClock() / parameters[0], (int) parameters[2]);
    }

    /** Adds a sample to cells of the layout n, and two for integral and for floating samples. */
    private static void combine(char[] layout, long[] cells, long first, long sample, long weight, boolean own) {
        bump(cells, first, weight, own);
        if (layout[1] == 'S') {
            bump(cells, first + 8, sample * weight, own);
        } else if (layout[1] == 'l') {
            lower(cells, first + 8, sample);
        } else {
            raise(cells, first + 8, sample);
        }
    }

    private static void combine(char[] layout, long[] cells, long first, double sample, long weight, boolean own) {
        bump(cells, first, weight, own);
        if (layout[1] == 'S') {
            add(cells, first + 16, sample * weight);
        } else if (layout[1] == 'l') {
            lower(cells, first + 16, sample);
        } else {
            raise(cells, first + 16, sample);
        }
    }

    /** Of the cells that threads share. */
    private int stripe() {
        return stripeBits == 0 ? 0 : Threads.hash(Threads.id(), stripeBits);
    }

    /** The kinds whose samples a thread may add in cells of its own. */
    private boolean hasOwners() {
        return kind >= COUNT && kind <= LHIST;
    }

    /** The cells that only this thread adds to; null: there are none for it. */
    private Cells own(Entry entry) {
        Cells[] own = entry.own;
        int stripe = own == null ? -1 : Stripes.owned();
        if (stripe < 0) {
            return null;
        }
        Cells found = own[stripe];
        return found != null ? found : makeOwn(own, stripe);
    }

    private Cells makeOwn(Cells[] own, int stripe) {
        if (!hasRoomForOwn()) {
            return null;
        }
        Cells made = new Cells();
        char[] layout = CELLS[kind];
        made.cells = new long[TAKEN + layout.length];
        for (int i = 0; i < layout.length; i++) {
            made.cells[i] = initial(layout[i]);
        }
        made.segments = segmentsPerStripe > 0 ? new Object[segmentsPerStripe] : null;
        growOwn(ownBytes());
        long offset = Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * stripe;
        MEMORY.compareAndSetReference(own, offset, null, made);
        return own[stripe];
    }

    private boolean hasRoomForOwn() {
        return keys == 0 || MEMORY.getLongVolatile(counters, OWN_BYTES) < MAX_OWN_BYTES;
    }

    private long ownBytes() {
        return 40 + 8L * (TAKEN + CELLS[kind].length) + 4L * segmentsPerStripe;
    }

    /** {@code own}: only this thread writes there. */
    private static void bump(long[] cells, long offset, long delta, boolean own) {
        if (own) {
            MEMORY.putLongRelease(cells, offset, MEMORY.getLong(cells, offset) + delta);
        } else {
            MEMORY.getAndAddLong(cells, offset, delta);
        }
    }

    private static void add(long[] cells, long offset, double delta) {
        long now;
        do {
            now = MEMORY.getLongVolatile(cells, offset);
        } while (!MEMORY.compareAndSetLong(
                cells, offset, now, Double.doubleToRawLongBits(Double.longBitsToDouble(now) + delta)));
    }

    private static void lower(long[] cells, long offset, long sample) {
        long now = MEMORY.getLongVolatile(cells, offset);
        while (sample < now && !MEMORY.compareAndSetLong(cells, offset, now, sample)) {
            now = MEMORY.getLongVolatile(cells, offset);
        }
    }

    private static void raise(long[] cells, long offset, long sample) {
        long now = MEMORY.getLongVolatile(cells, offset);
        while (sample > now && !MEMORY.compareAndSetLong(cells, offset, now, sample)) {
            now = MEMORY.getLongVolatile(cells, offset);
        }
    }

    private static void lower(long[] cells, long offset, double sample) {
        long now = MEMORY.getLongVolatile(cells, offset);
        while (sample < Double.longBitsToDouble(now)
                && !MEMORY.compareAndSetLong(cells, offset, now, Double.doubleToRawLongBits(sample))) {
            now = MEMORY.getLongVolatile(cells, offset);
        }
    }

    private static void raise(long[] cells, long offset, double sample) {
        long now = MEMORY.getLongVolatile(cells, offset);
        while (sample > Double.longBitsToDouble(now)
                && !MEMORY.compareAndSetLong(cells, offset, now, Double.doubleToRawLongBits(sample))) {
            now = MEMORY.getLongVolatile(cells, offset);
        }
    }

    private void bucket(Entry entry, Cells own, int stripe, int bucket, long weight) {
        long offset = Memory.LONG_BASE + 8L * (bucket % SEGMENT);
        long[] segment = own == null ? null : ownSegment(own, bucket / SEGMENT);
        if (segment != null) {
            bump(segment, offset, weight, true);
            return;
        }
        segment = segment(entry, stripe * segmentsPerStripe + bucket / SEGMENT);
        if (segment != null) {
            bump(segment, offset, weight, false);
        }
    }

    /** @return null when no more cells of single threads are made */
    private long[] ownSegment(Cells own, int at) {
        Object segment = own.segments[at];
        return segment == null && hasRoomForOwn() ? makeSegment(own, at, 2 * SEGMENT) : (long[]) segment;
    }

    /** @return null when the map has taken all the memory that it may */
    private long[] segment(Entry entry, int at) {
        Object segment = entry.segments[at];
        return segment == null ? makeSegment(entry, at, SEGMENT) : (long[]) segment;
    }

    private long[] makeSegment(Cells in, int at, int length) {
        if (MEMORY.getLongVolatile(counters, BYTES) >= MAX_BYTES) {
            if (length == SEGMENT) {
                full();
            }
            return null;
        }
        if (length == SEGMENT) {
            grow(16 + 8 * length);
        } else {
            growOwn(16 + 8 * length);
        }
        long offset = Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * at;
        MEMORY.compareAndSetReference(in.segments, offset, null, new long[length]);
        return (long[]) MEMORY.getReferenceVolatile(in.segments, offset);
    }

    /** 0: below all buckets, and not a number; the last: above them. */
    private int linearBucketOf(double sample) {
        double at = (sample - low) / step;
        return !(at >= 0) ? 0 : at >= buckets ? buckets + 1 : 1 + (int) at;
    }

    /** The exponent comes from the conversion to double: {@code Long.numberOfLeadingZeros} is Java code and may be traced. */
    static int bucketOf(long v, int k) {
        if (v < 1L << k) {
            return (int) v;
        }
        int e = (int) (Double.doubleToRawLongBits((double) v) >>> 52) - 1023;
        if (v >>> e == 0 || e == 63) { // rounded up to the next power of two
            e--;
        }
        return (e - k + 1 << k) + ((int) (v >>> e - k) & (1 << k) - 1);
    }

    // ------------------------------------------------------------------------------------------------ plain values

    public void store(int slot, Object value) {
        Entry entry = entry(slot);
        if (entry != null) {
            entry.assigned = true;
            entry.value = Keys.held(value, limit);
        }
    }

    /** @throws ProbeError for a null operand or operands that the operator does not take; ArithmeticException for / and % by 0 */
    public void update(int slot, String operator, Object operand) {
        Entry entry = entry(slot);
        if (entry == null) {
            return;
        }
        char op = Strings.charAt(operator, 0);
        if (op != '+' && op != '-') {
            entry.assigned = true;
        }
        while (true) {
            Object now = entry.value;
            Object left = now == UNSET ? Long.valueOf(0) : Keys.shown(now);
            Object result = Keys.held(Dynamic.apply(op, left, operand), limit);
            if (MEMORY.compareAndSetReference(entry, ENTRY_VALUE, now, result)) {
                return;
            }
        }
    }

    public Object value(int slot) {
        Entry entry = entry(slot);
        if (entry == null) {
            return null;
        }
        if (kind == VALUE || kind == FIRST || kind == LAST) {
            Object value = entry.value;
            return value == UNSET ? null : Keys.shown(value);
        }
        if (kind > MAX && kind != DISTINCT) {
            return null;
        }
        long[] cells = merged(entry, false);
        if (cells[0] == 0) {
            return null;
        }
        double inDoubles = cells.length < 3 ? 0 : Double.longBitsToDouble(cells[2]);
        switch (kind) {
            case COUNT:
                return Long.valueOf(cells[0]);
            case SUM:
                return cells[2] == 0 ? (Object) Long.valueOf(cells[1]) : (Object) Double.valueOf(cells[1] + inDoubles);
            case AVG:
                return Double.valueOf((cells[1] + inDoubles) / cells[0]);
            case DISTINCT:
                return Long.valueOf(Registers.estimate(cells, 1));
            case MIN:
                return cells[2] == POSITIVE_INFINITY
                        ? (Object) Long.valueOf(cells[1])
                        : (Object) Double.valueOf(cells[1] == Long.MAX_VALUE ? inDoubles : Math.min(cells[1], inDoubles));
            default:
                return cells[2] == NEGATIVE_INFINITY
                        ? (Object) Long.valueOf(cells[1])
                        : (Object) Double.valueOf(cells[1] == Long.MIN_VALUE ? inDoubles : Math.max(cells[1], inDoubles));
        }
    }

    /** The key of the slot, wherever it is. Updates that are under way for it are dropped or went before. */
    public void delete(int slot) {
        Entry entry = entry(slot);
        if (entry == null) {
            return;
        }
        if (stays) {
            merged(entry, true);
            return;
        }
        for (Table table : tables) {
            int start = entry.hash ^ entry.hash >>> 16;
            for (int i = 0; i < window; i++) {
                int at = start + i & table.entries.length - 1;
                Entry other = table.entry(at);
                if (other == null) {
                    break;
                }
                if (other != DELETED && sameKey(entry, other) && table.replace(at, other, DELETED)) {
                    gone(table, other);
                }
            }
        }
    }

    public void clear() {
        if (stays) {
            merged(entry(slot()), true);
            return;
        }
        tables = new Table[] {new Table(tables[0].entries.length)};
        MEMORY.putLongVolatile(counters, BYTES, 0);
        MEMORY.putLongVolatile(counters, OWN_BYTES, 0);
    }

    /** Whether the key is there and has been given something since the last flush. */
    public boolean has(int slot) {
        Entry entry = entry(slot);
        return entry != null && !isEmpty(entry);
    }

    /** How many keys have been given something since the last flush. */
    public long size() {
        Table table = tables[0];
        long size = 0;
        for (int at = 0; at < table.entries.length; at++) {
            Entry entry = table.entry(at);
            if (entry != null && entry != DELETED && !isEmpty(entry)) {
                size++;
            }
        }
        return size;
    }

    /** The keys, at most {@code most}: arrays of their components where they have several. */
    public Object keys(int most) {
        Table table = tables[0];
        Object[] keys = new Object[(int) Math.min(size(), most)];
        int count = 0;
        for (int at = 0; at < table.entries.length && count < keys.length; at++) {
            Entry entry = table.entry(at);
            if (entry != null && entry != DELETED && !isEmpty(entry)) {
                keys[count++] = shownKey(entry);
            }
        }
        return keys;
    }

    private Object shownKey(Entry entry) {
        if (keys == 1) {
            return Keys.shown(entry.a);
        }
        Object[] components = new Object[keys];
        for (int i = 0; i < keys; i++) {
            components[i] = Keys.shown(component(entry, i));
        }
        return components;
    }

    private static Object component(Entry entry, int i) {
        return entry.all != null ? entry.all[i] : i == 0 ? entry.a : i == 1 ? entry.b : i == 2 ? entry.c : entry.d;
    }

    private boolean isEmpty(Entry entry) {
        if (kind == VALUE || kind == FIRST || kind == LAST) {
            return entry.value == UNSET;
        }
        if (tallied(false) != 0) {
            return false;
        }
        char[] layout = CELLS[kind];
        for (int stripe = 0; stripe < stripes; stripe++) {
            for (int i = 0; i < layout.length; i++) {
                if (read(entry.cells, stripe * stride + i, initial(layout[i]), false) != initial(layout[i])) {
                    return false;
                }
            }
        }
        for (int stripe = 0; entry.own != null && stripe < entry.own.length; stripe++) {
            Cells own = entry.own[stripe];
            for (int i = 0; own != null && i < layout.length; i++) {
                if (readOwn(own, layout[i], i, false) != initial(layout[i])) {
                    return false;
                }
            }
        }
        return true;
    }

    private static boolean sameKey(Entry a, Entry b) {
        if (a.hash != b.hash) {
            return false;
        }
        if (a.all == null) {
            return Keys.same(a.a, b.a) && Keys.same(a.b, b.b) && Keys.same(a.c, b.c) && Keys.same(a.d, b.d);
        }
        for (int i = 0; i < a.all.length; i++) {
            if (!Keys.same(a.all[i], b.all[i])) {
                return false;
            }
        }
        return true;
    }

    // ------------------------------------------------------------------------------------------------ snapshots

    private boolean hasBuckets() {
        return kind == HIST || kind == LHIST || kind == DISTINCT;
    }

    /** Cells of all stripes as one, buckets or registers after them. {@code take}: they get their first values instead. */
    private long[] merged(Entry entry, boolean take) {
        char[] layout = CELLS[kind];
        long[] result = new long[layout.length + (hasBuckets() ? segmentsPerStripe * SEGMENT : 0)];
        for (int i = 0; i < layout.length; i++) {
            result[i] = initial(layout[i]);
        }
        for (int stripe = 0; stripe < stripes; stripe++) {
            for (int i = 0; i < layout.length; i++) {
                result[i] = merge(layout[i], result[i], read(entry.cells, stripe * stride + i, initial(layout[i]), take));
            }
            for (int s = 0; hasBuckets() && s < segmentsPerStripe; s++) {
                long[] segment = (long[]) entry.segments[stripe * segmentsPerStripe + s];
                for (int i = 0; segment != null && i < SEGMENT; i++) {
                    int at = layout.length + s * SEGMENT + i;
                    result[at] = merge(bucketCell(), result[at], read(segment, i, 0, take));
                }
            }
        }
        for (int stripe = 0; entry.own != null && stripe < entry.own.length; stripe++) {
            if (entry.own[stripe] != null) {
                mergeOwn(entry.own[stripe], result, take);
            }
        }
        if (tallies.length > 0) {
            result[0] += tallied(take);
        }
        return result;
    }

    private void mergeOwn(Cells own, long[] result, boolean take) {
        char[] layout = CELLS[kind];
        for (int i = 0; i < layout.length; i++) {
            result[i] = merge(layout[i], result[i], readOwn(own, layout[i], i, take));
        }
        for (int s = 0; s < segmentsPerStripe; s++) {
            long[] segment = (long[]) own.segments[s];
            for (int i = 0; segment != null && i < SEGMENT; i++) {
                result[layout.length + s * SEGMENT + i] += readOwn(segment, i, SEGMENT, take);
            }
        }
    }

    private char bucketCell() {
        return kind == DISTINCT ? 'r' : 'n';
    }

    private static long readOwn(Cells own, char kind, int index, boolean take) {
        return kind == 'n' || kind == 'S' || kind == 'g'
                ? readOwn(own.cells, index, TAKEN, take)
                : read(own.cells, index, initial(kind), take);
    }

    /** Of a sum that its owner alone changes: what came since it was taken last. */
    private static long readOwn(long[] cells, int index, int toTaken, boolean take) {
        long offset = Memory.LONG_BASE + 8L * (index + toTaken);
        long before;
        long now;
        do {
            before = MEMORY.getLongVolatile(cells, offset); // first: the sum now has it
            now = MEMORY.getLongVolatile(cells, Memory.LONG_BASE + 8L * index);
        } while (take && !MEMORY.compareAndSetLong(cells, offset, before, now));
        return now - before;
    }

    private static long read(long[] cells, int index, long first, boolean take) {
        long offset = Memory.LONG_BASE + 8L * index;
        long now;
        do {
            now = MEMORY.getLongVolatile(cells, offset);
        } while (take && now != first && !MEMORY.compareAndSetLong(cells, offset, now, first));
        return now;
    }

    private static long merge(char cell, long a, long b) {
        switch (cell) {
            case 'D':
                return Double.doubleToRawLongBits(Double.longBitsToDouble(a) + Double.longBitsToDouble(b));
            case 'l':
                return Math.min(a, b);
            case 'L':
            case 't':
                return Math.max(a, b);
            case 'd':
                return Double.doubleToRawLongBits(Math.min(Double.longBitsToDouble(a), Double.longBitsToDouble(b)));
            case 'X':
                return Double.doubleToRawLongBits(Math.max(Double.longBitsToDouble(a), Double.longBitsToDouble(b)));
            case 'r':
                return Registers.merge(a, b);
            default:
                return a + b;
        }
    }

    /** Puts an empty table in place, unless that was done less than a second ago. @return the tables to read */
    private Table[] rotate() {
        Table[] now = tables;
        long nanos = System.nanoTime();
        boolean early = now.length > 1 && nanos - rotatedNanos < ROTATION_NANOS;
        if (keys == 0 || early || now.length > 1 + RETIRED) {
            return now;
        }
        Table[] rotated = new Table[now.length + 1];
        rotated[0] = new Table(now[0].entries.length);
        System.arraycopy(now, 0, rotated, 1, now.length);
        if (!replace(now, rotated)) { // cleared meanwhile
            return tables;
        }
        rotatedNanos = nanos;
        MEMORY.putLongVolatile(counters, BYTES, 0);
        MEMORY.putLongVolatile(counters, OWN_BYTES, 0);
        return rotated;
    }

    /** Lets go of the tables that no writer can still be at work on: they were flushed seconds ago, and again now. */
    private void forget(Table[] read) {
        if (read.length > 1 + RETIRED) {
            Table[] kept = new Table[1 + RETIRED];
            System.arraycopy(read, 0, kept, 0, kept.length);
            replace(read, kept);
        }
    }

    private boolean replace(Table[] from, Table[] to) {
        return MEMORY.compareAndSetReference(this, TABLES, from, to);
    }

    /**
     * MapContent of the wire protocol; agent threads only.
     *
     * @param flush take what is there: it is in this content and in none after it
     * @param room bytes after which no key is begun: the others are counted as omitted, and not taken
     */
    byte[] content(boolean flush, int room) {
        Output out = new Output();
        out.u4(id);
        out.u8(MEMORY.getLongVolatile(counters, Memory.LONG_BASE + 8));
        out.u8(MEMORY.getLongVolatile(counters, EVICTED));
        int omittedAt = out.skip4();
        int countAt = out.skip4();
        int count = 0;
        int omitted = 0;
        if (stays) {
            slot();
        }
        Table[] tables = flush ? rotate() : this.tables;
        for (int t = 0; t < tables.length; t++) {
            for (int at = 0; at < tables[t].entries.length; at++) {
                Entry entry = tables[t].entry(at);
                if (entry == null || entry == DELETED) {
                    continue;
                }
                Entry[] same = ofKey(tables, t, at, entry);
                if (same == null) {
                    continue;
                }
                if (out.count() > room) {
                    omitted += isEmpty(entry) ? 0 : 1;
                } else if (write(same, flush, out)) {
                    count++;
                }
            }
        }
        if (flush && omitted == 0) {
            forget(tables);
        }
        out.set4(omittedAt, omitted);
        out.set4(countAt, count);
        return out.toBytes();
    }

    /** The entries of the key of this one, itself first; null when an earlier one is of that key, and so was dealt with. */
    private Entry[] ofKey(Table[] tables, int t, int at, Entry entry) {
        Entry[] found = {entry};
        int start = entry.hash ^ entry.hash >>> 16;
        for (int u = 0; u < tables.length; u++) {
            for (int i = 0; i < window; i++) {
                int place = start + i & tables[u].entries.length - 1;
                Entry other = tables[u].entry(place);
                if (other == null) {
                    break;
                }
                if (other == entry || other == DELETED || !sameKey(entry, other)) {
                    continue;
                }
                if (u < t || u == t && i < (at - start & tables[u].entries.length - 1)) {
                    return null;
                }
                Entry[] more = new Entry[found.length + 1];
                System.arraycopy(found, 0, more, 0, found.length);
                more[found.length] = other;
                found = more;
            }
        }
        return found;
    }

    /** Key and value of entries of one key. @return false when there is nothing to write */
    private boolean write(Entry[] same, boolean flush, Output out) {
        int before = out.count();
        out.u4(keys);
        for (int i = 0; i < keys; i++) {
            Keys.write(component(same[0], i), session, out);
        }
        if (kind == VALUE) {
            Object value = UNSET;
            boolean assigned = false;
            for (Entry each : same) {
                Object own = plain(each, flush);
                assigned |= each.assigned;
                if (value == UNSET) {
                    value = own;
                } else if (own != UNSET && !assigned) {
                    value = Keys.held(Dynamic.apply('+', Keys.shown(value), Keys.shown(own)), limit);
                }
            }
            if (value != UNSET) {
                Keys.write(value, session, out);
            }
            return out.keep(before, value != UNSET);
        }
        long[] cells = merged(same[0], flush);
        char[] layout = CELLS[kind];
        for (int e = 1; e < same.length; e++) {
            long[] more = merged(same[e], flush);
            for (int c = 0; c < cells.length; c++) {
                cells[c] = merge(c < layout.length ? layout[c] : bucketCell(), cells[c], more[c]);
            }
        }
        taken += flush ? samples(cells) : 0;
        if (kind == FIRST || kind == LAST) {
            Object value = UNSET;
            for (Entry each : same) {
                Object own = plain(each, flush);
                value = value == UNSET ? own : value;
            }
            if (value != UNSET) {
                out.u4(1);
                out.u8(cells[0]);
                out.u4(1);
                Keys.write(value, session, out);
            }
            return out.keep(before, value != UNSET);
        }
        boolean empty = true;
        for (int i = 0; i < layout.length; i++) {
            empty &= cells[i] == initial(layout[i]);
        }
        if (empty) {
            return out.keep(before, false);
        }
        int lengthAt = out.skip4();
        int length = layout.length;
        for (int i = 0; i < layout.length; i++) {
            out.u8(cells[i]);
        }
        for (int from = layout.length; from < cells.length; from += SEGMENT) {
            length += writeSegment(cells, from, (from - layout.length) / SEGMENT, out);
        }
        if (kind == TSERIES) {
            length += writeWindows(same, flush, out);
        } else if (kind == TOPK) {
            writeCounters(same, flush, lengthAt, length, out);
            return true;
        }
        out.set4(lengthAt, length);
        if (kind == SAMPLE_OF) {
            writeKept(same, flush, out);
        }
        return true;
    }

    private static Object plain(Entry entry, boolean take) {
        Object value;
        do {
            value = entry.value;
        } while (take && value != UNSET && !MEMORY.compareAndSetReference(entry, ENTRY_VALUE, value, UNSET));
        return value;
    }

    /** The number of a segment and its cells, if any is not 0. @return how many cells were written */
    private static int writeSegment(long[] cells, int from, int number, Output out) {
        boolean empty = true;
        for (int i = from; i < from + SEGMENT; i++) {
            empty &= cells[i] == 0;
        }
        if (empty) {
            return 0;
        }
        out.u8(number);
        for (int i = from; i < from + SEGMENT; i++) {
            out.u8(cells[i]);
        }
        return 1 + SEGMENT;
    }

    /** The epoch now, then the windows that are not over, of all entries. */
    private int writeWindows(Entry[] same, boolean flush, Output out) {
        char[] layout = Windows.cells((int) parameters[2]);
        long epoch = session.wallClock() / parameters[0];
        int length = 1;
        out.u8(epoch);
        for (Entry each : same) {
            for (Object ring : each.segments) {
                long[] window = (long[]) ring;
                if (window != null && window[0] > epoch - segmentsPerStripe
                        && MEMORY.getLongVolatile(window, Memory.LONG_BASE + 8) != 0) {
                    out.u8(window[0]);
                    for (int i = 1; i < Windows.SIZE; i++) {
                        out.u8(read(window, i, initial(layout[i - 1]), flush));
                    }
                    length += Windows.SIZE;
                }
            }
        }
        return length;
    }

    /** The bound on values without a counter, count and error of each counter; after these cells the values. */
    private void writeCounters(Entry[] same, boolean flush, int lengthAt, int length, Output out) {
        long unseen = 0;
        for (Entry each : same) {
            unseen += TopValues.unseen(each.segments);
        }
        out.u8(unseen);
        TopValues.Counter[] found = new TopValues.Counter[same.length * segmentsPerStripe];
        int count = 0;
        for (Entry each : same) {
            for (int i = 0; i < segmentsPerStripe; i++) {
                TopValues.Counter counter = TopValues.at(each.segments, i, flush);
                if (counter != null) {
                    found[count++] = counter;
                    out.u8(TopValues.count(counter));
                    out.u8(counter.error);
                }
            }
        }
        out.set4(lengthAt, length + 1 + 2 * count);
        out.u4(count);
        for (int i = 0; i < count; i++) {
            Keys.write(found[i].value, session, out);
        }
    }

    private void writeKept(Entry[] same, boolean flush, Output out) {
        int countAt = out.skip4();
        int count = 0;
        for (Entry each : same) {
            for (int i = 0; i < segmentsPerStripe; i++) {
                Object kept = each.segments[i];
                if (kept != null) {
                    if (flush) {
                        each.segments[i] = null;
                    }
                    Keys.write(kept, session, out);
                    count++;
                }
            }
        }
        out.set4(countAt, count);
    }

    /** What {@code rate} watches: the sum of a sum, else the number of samples. */
    private double samples(long[] cells) {
        switch (kind) {
            case SUM:
                return cells[1] + Double.longBitsToDouble(cells[2]);
            case HIST:
            case LHIST:
                double sum = kind == HIST ? cells[4] : 0;
                for (int i = CELLS[kind].length; i < cells.length; i++) {
                    sum += cells[i];
                }
                return sum;
            case FIRST:
            case LAST:
                return 0;
            default:
                return cells[0];
        }
    }

    /** As {@link #samples}, over all keys since the start, flushed ones included. Agent threads only. */
    double total() {
        double total = taken;
        for (Table table : tables) {
            for (int at = 0; at < table.entries.length; at++) {
                Entry entry = table.entry(at);
                if (entry != null && entry != DELETED && kind != VALUE) {
                    total += samples(merged(entry, false));
                }
            }
        }
        return total;
    }
}
