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
 * lost. The map without keys has its cells striped by thread.
 *
 * <p>A snapshot reads while writers go on: each cell is exact at some moment of the reading, different cells at different moments.
 *
 * <p>When a new key is added by two threads at once while a third deletes another key of the same window, the key may be there
 * twice. The snapshot adds such entries up; {@link #delete} removes both; of a plain value the first counts.
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

    private static final Memory MEMORY = Memory.instance();
    private static final long ENTRY_VALUE = MEMORY.fieldOffset(Entry.class, "value");
    private static final int WINDOW = 64;
    private static final int MAX_CAPACITY = 1 << 18;
    private static final int CLAIMS_TRIED = 64;
    /** Cells of one stripe, with what keeps its neighbour's cache lines apart. */
    private static final int STRIDE = 16;
    private static final int SEGMENT = 64;

    /** Cells by kind, as docs/runtime.md lists them: S sum L, D sum D, l min L, d min D, L max L, X max D, n, g negatives. */
    private static final char[][] CELLS = {
        {}, {'n'}, {'n', 'S', 'D'}, {'n', 'S', 'D'}, {'n', 'l', 'd'}, {'n', 'L', 'X'},
        {'n', 'S', 'D', 'l', 'd', 'L', 'X'}, {'S', 'D', 'l', 'L', 'g'},
    };

    private static final long POSITIVE_INFINITY = 0x7FF0000000000000L;
    private static final long NEGATIVE_INFINITY = 0xFFF0000000000000L;

    private static final Object UNSET = new Object();
    private static final Entry DELETED = new Entry(-1, 0, null, null, null, null, null);

    private static final class Entry {
        final int slot;
        final int hash;
        final Object a;
        final Object b;
        final Object c;
        final Object d;
        /** All components when there are more than four. */
        final Object[] all;
        /** Stripes of cells; null for a plain value. */
        long[] cells;
        /** Buckets of a histogram in segments, by stripe; made when first used. */
        Object[] segments;
        volatile Object value = UNSET;

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
    private final int stride;
    private final int segmentsPerStripe;
    private volatile Table table;
    /** Serial number of the last entry, and keys refused because the map was full. */
    private final long[] counters = new long[2];

    /** @throws IllegalArgumentException when a number is out of range */
    Aggregation(Session session, int id, int kind, int keys, int precision, int capacity) {
        if (kind < VALUE || kind > HIST || keys < 0 || keys > 255 || precision < 0 || precision > 8) {
            throw new IllegalArgumentException("map " + id + ": kind " + kind + ", " + keys + " keys, precision " + precision);
        }
        if (capacity < 1 || capacity > MAX_CAPACITY) {
            throw new IllegalArgumentException("map " + id + ": capacity " + capacity);
        }
        this.session = session;
        this.id = id;
        this.kind = kind;
        this.keys = keys;
        this.precision = precision;
        this.capacity = capacity;
        this.limit = session.limits.chars;
        int size = keys == 0 ? 1 : Math.max(WINDOW, Integer.highestOneBit(4 * capacity - 1) << 1);
        this.window = keys == 0 ? 1 : WINDOW;
        this.indexBits = 31 - Integer.numberOfLeadingZeros(size);
        int cpus = Math.min(16, Runtime.getRuntime().availableProcessors());
        this.stripeBits = keys != 0 || kind == VALUE || cpus == 1 ? 0 : 32 - Integer.numberOfLeadingZeros(cpus - 1);
        this.stride = stripeBits == 0 ? CELLS[kind].length : STRIDE;
        this.segmentsPerStripe = (((64 - precision) << precision) + SEGMENT - 1) / SEGMENT;
        this.table = new Table(size);
    }

    // ------------------------------------------------------------------------------------------------ keys

    public int slot() {
        Entry only = keys == 0 ? table.entry(0) : null;
        if (only != null && only != DELETED) {
            return only.slot;
        }
        return lookup(0, null, null, null, null, null, true);
    }

    public int slot(Object a) {
        return lookup(Keys.hash(a, limit), a, null, null, null, null, true);
    }

    public int slot(Object a, Object b) {
        return lookup(hash(a, b), a, b, null, null, null, true);
    }

    public int slot(Object a, Object b, Object c) {
        return lookup(31 * hash(a, b) + Keys.hash(c, limit), a, b, c, null, null, true);
    }

    public int slot(Object a, Object b, Object c, Object d) {
        return lookup(31 * (31 * hash(a, b) + Keys.hash(c, limit)) + Keys.hash(d, limit), a, b, c, d, null, true);
    }

    public int slot(Object[] all) {
        return lookup(hash(all), null, null, null, null, all, true);
    }

    public int find() {
        return lookup(0, null, null, null, null, null, false);
    }

    public int find(Object a) {
        return lookup(Keys.hash(a, limit), a, null, null, null, null, false);
    }

    public int find(Object a, Object b) {
        return lookup(hash(a, b), a, b, null, null, null, false);
    }

    public int find(Object a, Object b, Object c) {
        return lookup(31 * hash(a, b) + Keys.hash(c, limit), a, b, c, null, null, false);
    }

    public int find(Object a, Object b, Object c, Object d) {
        return lookup(31 * (31 * hash(a, b) + Keys.hash(c, limit)) + Keys.hash(d, limit), a, b, c, d, null, false);
    }

    public int find(Object[] all) {
        return lookup(hash(all), null, null, null, null, all, false);
    }

    private int hash(Object a, Object b) {
        return 31 * Keys.hash(a, limit) + Keys.hash(b, limit);
    }

    private int hash(Object[] all) {
        int hash = all.length;
        for (Object component : all) {
            hash = 31 * hash + Keys.hash(component, limit);
        }
        return hash;
    }

    private int lookup(int hash, Object a, Object b, Object c, Object d, Object[] all, boolean claim) {
        Table table = this.table;
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
                    return entry.slot;
                }
            }
            if (!claim) {
                return -1;
            }
            if (free < 0 || table.live() >= capacity) {
                // Keys are counted after they are there: one that another thread added meanwhile is found by looking again.
                if (full) {
                    break;
                }
                full = true;
                continue;
            }
            Entry made = make(free, hash, a, b, c, d, all);
            if (table.replace(free, freeEntry, made)) {
                table.addLive(1);
                return made.slot;
            }
        }
        MEMORY.getAndAddLong(counters, Memory.LONG_BASE + 8, 1);
        session.noteMapFull();
        return -1;
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
            entry.cells = new long[stride << stripeBits];
            char[] layout = CELLS[kind];
            for (int stripe = 0; stripe < 1 << stripeBits; stripe++) {
                for (int i = 0; i < layout.length; i++) {
                    entry.cells[stripe * stride + i] = initial(layout[i]);
                }
            }
        }
        if (kind == HIST) {
            entry.segments = new Object[segmentsPerStripe << stripeBits];
        }
        return entry;
    }

    private static long initial(char cell) {
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
        Table table = this.table;
        Entry entry = table.entry(slot & table.entries.length - 1);
        return entry != null && entry.slot == slot ? entry : null;
    }

    // ------------------------------------------------------------------------------------------------ updates

    public void count(int slot) {
        Entry entry = entry(slot);
        if (entry != null && kind == COUNT) {
            bump(entry.cells, cell(0), 1);
        }
    }

    public void add(int slot, long sample) {
        Entry entry = entry(slot);
        if (entry == null) {
            return;
        }
        long[] cells = entry.cells;
        int stripe = stripe();
        long first = Memory.LONG_BASE + 8L * stripe * stride;
        switch (kind) {
            case SUM:
            case AVG:
                bump(cells, first, 1);
                bump(cells, first + 8, sample);
                break;
            case MIN:
                bump(cells, first, 1);
                lower(cells, first + 8, sample);
                break;
            case MAX:
                bump(cells, first, 1);
                raise(cells, first + 8, sample);
                break;
            case STATS:
                bump(cells, first, 1);
                bump(cells, first + 8, sample);
                lower(cells, first + 24, sample);
                raise(cells, first + 40, sample);
                break;
            case HIST:
                bump(cells, first, sample);
                bucket(entry, stripe, first, sample);
                break;
            default:
                break;
        }
    }

    /** A histogram takes the integral part of the sample, and all of it for the sum. */
    public void add(int slot, double sample) {
        Entry entry = entry(slot);
        if (entry == null) {
            return;
        }
        long[] cells = entry.cells;
        int stripe = stripe();
        long first = Memory.LONG_BASE + 8L * stripe * stride;
        switch (kind) {
            case SUM:
            case AVG:
                bump(cells, first, 1);
                add(cells, first + 16, sample);
                break;
            case MIN:
                bump(cells, first, 1);
                lower(cells, first + 16, sample);
                break;
            case MAX:
                bump(cells, first, 1);
                raise(cells, first + 16, sample);
                break;
            case STATS:
                bump(cells, first, 1);
                add(cells, first + 16, sample);
                lower(cells, first + 32, sample);
                raise(cells, first + 48, sample);
                break;
            case HIST:
                add(cells, first + 8, sample);
                bucket(entry, stripe, first, (long) sample);
                break;
            default:
                break;
        }
    }

    /** @throws ProbeError when the sample is neither null nor a number */
    public void add(int slot, Object sample) {
        if (sample == null) {
            session.note(ProbeError.KIND_NULL_SAMPLE);
        } else if (sample instanceof Double || sample instanceof Float) {
            add(slot, ((Number) sample).doubleValue());
        } else if (sample instanceof Character) {
            add(slot, (long) ((Character) sample).charValue());
        } else if (sample instanceof Long || sample instanceof Integer || sample instanceof Short || sample instanceof Byte) {
            add(slot, ((Number) sample).longValue());
        } else {
            throw ProbeError.BAD_CAST;
        }
    }

    private int stripe() {
        return stripeBits == 0 ? 0 : Threads.hash(Threads.id(), stripeBits);
    }

    private long cell(int index) {
        return Memory.LONG_BASE + 8L * ((long) stripe() * stride + index);
    }

    private static void bump(long[] cells, long offset, long delta) {
        MEMORY.getAndAddLong(cells, offset, delta);
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

    private void bucket(Entry entry, int stripe, long first, long sample) {
        lower(entry.cells, first + 16, sample);
        raise(entry.cells, first + 24, sample);
        if (sample < 0) {
            bump(entry.cells, first + 32, 1);
            return;
        }
        int bucket = bucketOf(sample, precision);
        int at = stripe * segmentsPerStripe + bucket / SEGMENT;
        Object segment = entry.segments[at];
        if (segment == null) {
            long offset = Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * at;
            MEMORY.compareAndSetReference(entry.segments, offset, null, new long[SEGMENT]);
            segment = MEMORY.getReferenceVolatile(entry.segments, offset);
        }
        bump((long[]) segment, Memory.LONG_BASE + 8L * (bucket % SEGMENT), 1);
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
        if (kind == VALUE) {
            Object value = entry.value;
            return value == UNSET ? null : Keys.shown(value);
        }
        long[] cells = merged(entry);
        if (kind == STATS || kind == HIST || cells[0] == 0) {
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
        Table table = this.table;
        int start = entry.hash ^ entry.hash >>> 16;
        for (int i = 0; i < window; i++) {
            int at = start + i & table.entries.length - 1;
            Entry other = table.entry(at);
            if (other == null) {
                break;
            }
            if (other != DELETED && sameKey(entry, other) && table.replace(at, other, DELETED)) {
                table.addLive(-1);
            }
        }
    }

    public void clear() {
        table = new Table(table.entries.length);
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

    /** Cells of all stripes as one, the buckets of a histogram after them. */
    private long[] merged(Entry entry) {
        char[] layout = CELLS[kind];
        long[] result = new long[layout.length + (kind == HIST ? segmentsPerStripe * SEGMENT : 0)];
        for (int i = 0; i < layout.length; i++) {
            result[i] = initial(layout[i]);
        }
        for (int stripe = 0; stripe < 1 << stripeBits; stripe++) {
            for (int i = 0; i < layout.length; i++) {
                long cell = MEMORY.getLongVolatile(entry.cells, Memory.LONG_BASE + 8L * (stripe * stride + i));
                result[i] = merge(layout[i], result[i], cell);
            }
            for (int s = 0; kind == HIST && s < segmentsPerStripe; s++) {
                Object segment = entry.segments[stripe * segmentsPerStripe + s];
                for (int i = 0; segment != null && i < SEGMENT; i++) {
                    result[layout.length + s * SEGMENT + i] +=
                            MEMORY.getLongVolatile(segment, Memory.LONG_BASE + 8L * i);
                }
            }
        }
        return result;
    }

    private static long merge(char cell, long a, long b) {
        switch (cell) {
            case 'D':
                return Double.doubleToRawLongBits(Double.longBitsToDouble(a) + Double.longBitsToDouble(b));
            case 'l':
                return Math.min(a, b);
            case 'L':
                return Math.max(a, b);
            case 'd':
                return Double.doubleToRawLongBits(Math.min(Double.longBitsToDouble(a), Double.longBitsToDouble(b)));
            case 'X':
                return Double.doubleToRawLongBits(Math.max(Double.longBitsToDouble(a), Double.longBitsToDouble(b)));
            default:
                return a + b;
        }
    }

    /** MapContent of the wire protocol. */
    byte[] content() {
        Output out = new Output();
        out.u4(id);
        out.u8(MEMORY.getLongVolatile(counters, Memory.LONG_BASE + 8));
        int countAt = out.skip4();
        int count = 0;
        Table table = this.table;
        for (int at = 0; at < table.entries.length; at++) {
            Entry entry = table.entry(at);
            if (entry == null || entry == DELETED || kind == VALUE && entry.value == UNSET) {
                continue;
            }
            long[] cells = kind == VALUE ? null : merged(entry);
            boolean first = true;
            int start = entry.hash ^ entry.hash >>> 16;
            for (int i = 0; i < window; i++) {
                int place = start + i & table.entries.length - 1;
                Entry other = table.entry(place);
                if (other == null) {
                    break;
                }
                if (other != entry && other != DELETED && sameKey(entry, other)) {
                    if (i < (at - start & table.entries.length - 1)) {
                        first = false;
                        break;
                    }
                    if (cells != null) {
                        long[] more = merged(other);
                        char[] layout = CELLS[kind];
                        for (int c = 0; c < cells.length; c++) {
                            cells[c] = merge(c < layout.length ? layout[c] : 'n', cells[c], more[c]);
                        }
                    }
                }
            }
            if (first) {
                write(entry, cells, out);
                count++;
            }
        }
        out.set4(countAt, count);
        return out.toBytes();
    }

    private void write(Entry entry, long[] cells, Output out) {
        out.u4(keys);
        for (int i = 0; i < keys; i++) {
            Object key = entry.all != null ? entry.all[i] : i == 0 ? entry.a : i == 1 ? entry.b : i == 2 ? entry.c : entry.d;
            Keys.write(key, session, out);
        }
        if (cells == null) {
            Keys.write(entry.value, session, out);
            return;
        }
        int length = cells.length;
        while (length > CELLS[kind].length && cells[length - 1] == 0) {
            length--;
        }
        out.u4(length);
        for (int i = 0; i < length; i++) {
            out.u8(cells[i]);
        }
    }
}
