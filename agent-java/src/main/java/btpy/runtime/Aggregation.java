package btpy.runtime;

import java.util.Arrays;
import jdk.internal.vm.annotation.DontInline;

/**
 * One map from keys to aggregated or plain values.
 *
 * <p>Keys are in an open-addressing table of four times the capacity. Each key is an {@link Entry}. A lookup reads at
 * most {@link #WINDOW} references and never waits. An entry is added with one compare-and-set. Deleting leaves a mark
 * that a later key may replace; clearing installs an empty table. Threads that add the last keys concurrently may
 * exceed the capacity by one key each.
 *
 * <p>A slot number contains the serial number of its entry. An update after its key was deleted or the map was cleared
 * finds another serial number and is dropped, as if it had come before the deletion. Cells are changed by atomic
 * additions, so no update is lost. In a map without keys, the cells that threads share are striped. A thread that owns
 * its stripe ({@link Stripes#owned}) gets cells of its own for each key, up to {@link #MAX_OWN_BYTES} in total, and
 * adds to their sums without an atomic addition. Another cell stores the part of a sum that flushes have taken.
 *
 * <p>A snapshot reads while other threads write: each cell is exact at some moment of the reading, different cells at
 * different moments.
 *
 * <p>A flush takes values by exchanging them for the initial value, so that every addition is in exactly one flush. To
 * forget the keys as well, it installs an empty table, at most once a second, and keeps the two previous tables. If a
 * thread adds to one of these tables during the flush, its addition is in the next snapshot or flush.
 *
 * <p>A map that evicts makes space for a new key by removing the least recently used key among some dozens. Using a key
 * stores the serial number of the newest entry in it, so its age is the number of keys that came after.
 *
 * <p>A map that is a count without keys can leave the counting to probes that do nothing else. The tallies of these
 * probes belong to the only entry of the map, which is then never replaced. A flush does not reset the tallies: the map
 * stores how many it has taken.
 *
 * <p>If two threads add a new key while a third deletes another key in the same window, the key may exist twice. The
 * snapshot adds these entries up. {@link #delete} removes both. If these entries have assigned plain values, the first
 * one counts.
 */
public final class Aggregation {
    private static final Memory MEMORY = Memory.instance();
    private static final long TABLES = MEMORY.fieldOffset(Aggregation.class, "tables");
    private static final int MAX_CAPACITY = 1 << 18;
    private static final int MAX_CLAIMS = 64;
    /**
     * The number of places that are searched for a key to evict. They hold all keys of a map of 64 keys, and some
     * dozens of a larger map.
     */
    private static final int EVICTION_SPAN = 256;
    /** An estimate of the memory that one map may use for entries, keys and cells. */
    private static final long MAX_BYTES = 64L << 20;
    /**
     * The part of the map's memory for cells of single threads. Such cells make a map faster, but must leave space for
     * keys.
     */
    private static final long MAX_OWN_BYTES = 8L << 20;
    private static final long BYTES = Memory.LONG_BASE + 16;
    private static final long EVICTED = Memory.LONG_BASE + 24;
    private static final long HAND = Memory.LONG_BASE + 32;
    private static final long OWN_BYTES = Memory.LONG_BASE + 40;
    private static final long ROTATION_NANOS = 1_000_000_000L;
    private static final int RETIRED = 2;

    private final Session session;
    private final int id;
    final MapShape shape;
    private final int capacity;
    private final int limit;
    private final int indexBits;
    /** The current table, then the flushed tables, newest first. */
    private volatile KeyTable[] tables;
    private volatile ProbeCounter[] tallies = new ProbeCounter[0];
    private volatile Skips[] skips = {};
    private long rotatedNanos;
    /** The samples that flushes have taken. Only agent threads use it. */
    private double flushedSamples;
    /**
     * The serial number of the newest entry, samples refused because the map was full, used bytes, evicted keys, the
     * place at which the next eviction begins, and bytes of cells that have an owner.
     */
    private final long[] counters = new long[6];
    private boolean evicts;
    /** Whether other objects refer to the only entry. It is then emptied and never replaced. */
    private volatile boolean isPermanent;
    /** The last probe whose lookup did not find its key at the first place; −1: none. */
    private int claimer = -1;

    /** @throws IllegalArgumentException if a number is out of range */
    Aggregation(Session session, int id, int kind, int keys, int precision, int capacity, long[] parameters) {
        this.shape = new MapShape(id, kind, keys, precision, parameters);
        if (capacity < 1 || capacity > MAX_CAPACITY) {
            throw new IllegalArgumentException("map " + id + ": capacity " + capacity);
        }
        this.session = session;
        this.id = id;
        this.capacity = capacity;
        this.limit = session.limits.chars;
        int size = keys == 0 ? 1 : KeyTable.size(capacity);
        this.indexBits = 31 - Integer.numberOfLeadingZeros(size);
        this.tables = new KeyTable[] {new KeyTable(1)};
    }

    /**
     * Called by agent threads. From now on the map includes the tallies of the probe.
     *
     * @return false if this is not a count without keys
     */
    synchronized boolean countFrom(long[] counts, Probe probe) {
        if (shape.kind != MapShape.COUNT || shape.keys != 0) {
            return false;
        }
        ProbeCounter[] newTallies = Arrays.copyOf(tallies, tallies.length + 1);
        newTallies[tallies.length] = new ProbeCounter(counts, probe);
        tallies = newTallies;
        onlyEntry();
        return true;
    }

    /**
     * Called by agent threads. Returns the fast path into this map for firings that are counted in {@code counts}.
     *
     * @return null if there is none
     */
    synchronized SumFastPath sumFastPath(long[] counts) {
        return shape.keys > 1 || !shape.hasOwners()
                ? null
                : new SumFastPath(id, this, shape.keys == 0 ? onlyEntry() : null, shape.kind == MapShape.COUNT, counts);
    }

    /** The entry of a map without keys, which is never replaced after this call. */
    private Entry onlyEntry() {
        isPermanent = true;
        slot();
        return tables[0].entry(0);
    }

    /** Called by agent threads. Registers a probe that decides about hits that would write to this map. */
    synchronized void addSource(Probe probe) {
        Skips[] currentSkips = skips;
        for (Skips probeSkips : currentSkips) {
            if (probeSkips.probe == probe) {
                return;
            }
        }
        Skips[] newSkips = Arrays.copyOf(currentSkips, currentSkips.length + 1);
        newSkips[currentSkips.length] = new Skips(probe);
        skips = newSkips;
    }

    private long sumTallies(boolean take) {
        long sum = 0;
        for (ProbeCounter tally : tallies) {
            sum += tally.sum(take);
        }
        return sum;
    }

    /** From now on a new key replaces another key if the map is full. */
    void evict() {
        evicts = shape.keys > 0;
    }

    public int slot() {
        Entry onlyEntry = shape.keys == 0 ? tables[0].present(0) : null;
        if (onlyEntry != null) {
            return onlyEntry.slot;
        }
        return lookup(null, null, null, null, null, true);
    }

    public int slot(Object a, int probe) {
        Entry firstEntry = plainEntry(a);
        return firstEntry != null ? firstEntry.slot : claim(probe, a, null, null, null, null);
    }

    /** Returns the entry of a plain key if the entry is in the first place for the key, otherwise null. */
    Entry plainEntry(Object a) {
        Entry firstEntry = Keys.isPlain(a) ? firstPlace(Keys.plainHash(a, limit)) : null;
        return firstEntry != null && Keys.plainSame(firstEntry.a, a) ? firstEntry : null;
    }

    public int slot(Object a, Object b, int probe) {
        if (Keys.isPlain(a) && Keys.isPlain(b)) {
            Entry firstEntry = firstPlace(31 * Keys.plainHash(a, limit) + Keys.plainHash(b, limit));
            if (firstEntry != null && Keys.plainSame(firstEntry.a, a) && Keys.plainSame(firstEntry.b, b)) {
                return firstEntry.slot;
            }
        }
        return claim(probe, a, b, null, null, null);
    }

    public int slot(Object a, Object b, Object c, int probe) {
        if (Keys.isPlain(a) && Keys.isPlain(b) && Keys.isPlain(c)) {
            int hash = 31 * Keys.plainHash(a, limit) + Keys.plainHash(b, limit);
            Entry firstEntry = firstPlace(31 * hash + Keys.plainHash(c, limit));
            if (firstEntry != null && Keys.plainSame(firstEntry.a, a) && Keys.plainSame(firstEntry.b, b)
                    && Keys.plainSame(firstEntry.c, c)) {
                return firstEntry.slot;
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
        return isPermanent ? slot() : lookup(null, null, null, null, null, false);
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

    /**
     * Returns the entry in the first place for keys of this hash; null if that entry has another hash. Nearly every
     * lookup finds its key there.
     */
    private Entry firstPlace(int hash) {
        KeyTable table = tables[0];
        Entry entry = table.entry(table.place(hash, 0));
        if (entry == null || entry.hash != hash || entry == Entry.DELETED) {
            return null;
        }
        if (evicts) {
            entry.lastUse = counters[0];
        }
        return entry;
    }

    /** Returns the slot of any key. This calls methods that may be traced, so no probe fires during the call. */
    private int claim(int probe, Object a, Object b, Object c, Object d, Object[] all) {
        claimer = probe;
        int entry = Guard.mark(probe);
        try {
            return lookup(a, b, c, d, all, true);
        } finally {
            try {
                Guard.leave(entry);
            } catch (Throwable stackOverflow) {
                if (entry >= 0) {
                    Guard.MARKS[entry] = Guard.LEFT;
                }
            }
        }
    }

    private int hash(Object a, Object b, Object c, Object d, Object[] all) {
        int hash = 0;
        int keys = shape.keys;
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
        KeyTable table = claim ? writableTable() : tables[0];
        if (claim && table.entries.length < 1 << indexBits) {
            countRefusal();
            return -1;
        }
        boolean full = false;
        for (int attempt = 0; attempt < MAX_CLAIMS; attempt++) {
            int free = -1;
            Entry freeEntry = null;
            for (int i = 0; i < table.window; i++) {
                int at = table.place(hash, i);
                Entry entry = table.entry(at);
                if (entry == null) {
                    if (free < 0) {
                        free = at;
                    }
                    break;
                }
                if (entry == Entry.DELETED) {
                    if (free < 0) {
                        free = at;
                        freeEntry = Entry.DELETED;
                    }
                } else if (entry.hash == hash && entry.matches(a, b, c, d, all, limit)) {
                    if (evicts) {
                        entry.lastUse = counters[0];
                    }
                    return entry.slot;
                }
            }
            if (!claim) {
                return -1;
            }
            if (free < 0 || table.live() >= capacity || MEMORY.getLongVolatile(counters, BYTES) >= MAX_BYTES) {
                if (evicts && evict(table, free < 0 ? table.place(hash, 0) : -1)) {
                    continue;
                }
                // Keys are counted after they are added. A second search finds a key that another thread adds in the meantime.
                if (full) {
                    break;
                }
                full = true;
                continue;
            }
            if (Headroom.isScarce()) {
                break;
            }
            Entry newEntry = make(free, hash, a, b, c, d, all);
            newEntry.lastUse = counters[0];
            if (table.replace(free, freeEntry, newEntry)) {
                table.addLive(1);
                return newEntry.slot;
            }
        }
        countRefusal();
        return -1;
    }

    /**
     * Returns the table for new keys, allocated for the first key. Until then, and if the heap has too little memory, a
     * table that is always empty takes its place.
     */
    private KeyTable writableTable() {
        KeyTable[] currentTables = tables;
        while (currentTables[0].entries.length < 1 << indexBits && Headroom.hasToGrow(8L << indexBits)) {
            KeyTable[] newTables = new KeyTable[currentTables.length];
            for (int i = 0; i < currentTables.length; i++) {
                newTables[i] = i == 0 ? new KeyTable(1 << indexBits) : currentTables[i];
            }
            replace(currentTables, newTables);
            currentTables = tables;
        }
        return currentTables[0];
    }

    /**
     * Removes the least recently used key among the keys in the next places.
     *
     * @param window start of the places that need space; −1: any place
     */
    private boolean evict(KeyTable table, int window) {
        int mask = table.entries.length - 1;
        int span = window >= 0 ? table.window : mask < EVICTION_SPAN ? mask + 1 : EVICTION_SPAN;
        int start = window < 0 ? (int) MEMORY.getAndAddLong(counters, HAND, span) : window;
        Entry oldest = null;
        int place = 0;
        for (int i = 0; i < span; i++) {
            int at = start + i & mask;
            Entry entry = table.present(at);
            if (entry != null && (oldest == null || entry.lastUse - oldest.lastUse < 0)) {
                oldest = entry;
                place = at;
            }
        }
        if (oldest == null || !table.replace(place, oldest, Entry.DELETED)) {
            return oldest != null || window < 0 && table.live() > 0; // true: another search can find a key
        }
        countRemoval(table, oldest);
        MEMORY.getAndAddLong(counters, EVICTED, 1);
        return true;
    }

    private void countRemoval(KeyTable table, Entry entry) {
        table.addLive(-1);
        grow(-shape.entryBytes() - entry.keyBytes() - Cells.segmentBytes(entry));
        grow(entry.weights == null ? 0 : -16 - 8 * Weights.COUNT);
        grow(entry.exemplars == null ? 0 : -Exemplars.BYTES);
        for (int i = 0; entry.ownCells != null && i < entry.ownCells.length; i++) {
            if (entry.ownCells[i] != null) {
                growOwn(-shape.ownBytes() - Cells.segmentBytes(entry.ownCells[i]));
            }
        }
    }

    /** Counts a sample for which the map has no space. */
    private void countRefusal() {
        MEMORY.getAndAddLong(counters, Memory.LONG_BASE + 8, 1);
        session.noteMapFull(claimer);
    }

    private void grow(long bytes) {
        MEMORY.getAndAddLong(counters, BYTES, bytes);
        Headroom.reportGrowth(bytes);
    }

    private void growOwn(long bytes) {
        MEMORY.getAndAddLong(counters, OWN_BYTES, bytes);
        grow(bytes);
    }

    private Entry make(int at, int hash, Object a, Object b, Object c, Object d, Object[] all) {
        Object[] storedKeys = null;
        if (all != null) {
            storedKeys = new Object[all.length];
            for (int i = 0; i < all.length; i++) {
                storedKeys[i] = Keys.store(all[i], limit);
            }
        }
        int serial = (int) (MEMORY.getAndAddLong(counters, Memory.LONG_BASE, 1) & (1L << 31 - indexBits) - 1);
        Entry entry = new Entry(
                serial << indexBits | at,
                hash,
                Keys.store(a, limit),
                Keys.store(b, limit),
                Keys.store(c, limit),
                Keys.store(d, limit),
                storedKeys);
        entry.cells = shape.newCells();
        if (shape.segments > 0) {
            entry.segments = new Object[shape.segments * shape.stripes];
        }
        if (shape.hasOwners()) {
            entry.ownCells = new Cells[Stripes.COUNT];
        }
        grow(shape.entryBytes() + entry.keyBytes());
        return entry;
    }

    /** Returns null if the slot has no key any more. */
    Entry entry(int slot) {
        if (slot < 0) {
            return null;
        }
        KeyTable[] tables = this.tables;
        for (KeyTable table : tables) {
            Entry entry = table.entry(slot & table.entries.length - 1);
            if (entry != null && entry.slot == slot) {
                return entry;
            }
        }
        return null;
    }

    void count(int slot) {
        count(slot, 1);
    }

    /** Adds a sample to a count. {@code weight} is the number of hits for which the sample stands. */
    public void count(int slot, long weight) {
        Entry entry = entry(slot);
        if (entry != null && shape.kind == MapShape.COUNT) {
            if (weight > 1) {
                weigh(entry, 1, weight);
            }
            Cells ownCells = own(entry);
            if (ownCells != null) {
                Cells.bump(ownCells.cells, Memory.LONG_BASE, weight, true);
            } else {
                Cells.bump(entry.cells, Memory.LONG_BASE + 8L * stripe() * shape.stride, weight, false);
            }
        }
    }

    /** The slow path, for samples that {@link SumFastPath} cannot add. */
    void add(Object key, int probe, long sample, long weight) {
        int slot = shape.keys == 0 ? slot() : slot(key, probe);
        if (shape.kind == MapShape.COUNT) {
            count(slot, weight);
        } else {
            add(slot, sample, weight);
        }
    }

    void add(int slot, long sample) {
        add(slot, sample, 1);
    }

    /**
     * This method and the methods that it calls for the most frequent kinds are short, because HotSpot inlines no
     * method of more than 325 bytes.
     */
    public void add(int slot, long sample, long weight) {
        Entry entry = entry(slot);
        if (entry != null) {
            if (weight > 1) {
                weigh(entry, sample, weight);
            }
            add(entry, own(entry), sample, weight);
        }
    }

    /** Adds a sample that represents several hits. */
    @DontInline
    private void weigh(Entry entry, double sample, long weight) {
        if (Weights.add(entry, sample, weight)) {
            grow(16 + 8 * Weights.COUNT);
        }
    }

    /** Whether there is memory for an exemplar. */
    boolean hasRoomForExemplar() {
        return MEMORY.getLongVolatile(counters, BYTES) < MAX_BYTES && !Headroom.isScarce();
    }

    void keep(Entry entry, int place, long[] exemplar) {
        if (Exemplars.add(entry, place, exemplar)) {
            grow(Exemplars.BYTES);
        }
    }

    /** Adds a sample. {@code ownCells} are the cells of this thread, or null. */
    void add(Entry entry, Cells ownCells, long sample, long weight) {
        int stripe = ownCells != null ? 0 : stripe();
        long[] cells = ownCells != null ? ownCells.cells : entry.cells;
        long first = Memory.LONG_BASE + 8L * stripe * shape.stride;
        if (shape.kind == MapShape.HIST) {
            histogram(entry, ownCells, stripe, cells, first, sample, weight);
        } else if (shape.kind >= MapShape.SUM && shape.kind <= MapShape.MAX) {
            Cells.combine(shape.layout, cells, first, sample, weight, ownCells != null);
        } else {
            addOther(entry, ownCells, stripe, cells, first, sample, weight);
        }
    }

    private void histogram(Entry entry, Cells ownCells, int stripe, long[] cells, long first, long sample,
            long weight) {
        Cells.bump(cells, first, sample * weight, ownCells != null);
        Cells.lower(cells, first + 16, sample);
        Cells.raise(cells, first + 24, sample);
        bucket(entry, ownCells, stripe, shape.exponential.of(sample), weight);
    }

    private void addOther(Entry entry, Cells ownCells, int stripe, long[] cells, long first, long sample, long weight) {
        switch (shape.kind) {
            case MapShape.STATS:
                Cells.bump(cells, first, weight, ownCells != null);
                Cells.bump(cells, first + 8, sample * weight, ownCells != null);
                Cells.lower(cells, first + 24, sample);
                Cells.raise(cells, first + 40, sample);
                break;
            case MapShape.LHIST:
                Cells.bump(cells, first, sample * weight, ownCells != null);
                Cells.lower(cells, first + 16, sample);
                Cells.raise(cells, first + 32, sample);
                bucket(entry, ownCells, stripe, shape.linearBucketOf(sample), weight);
                break;
            case MapShape.TSERIES:
                Cells.bump(cells, first, weight, false);
                long[] window = window(entry);
                if (window != null) {
                    Cells.combine(Windows.cells(shape.operator()), window, Memory.LONG_BASE + 8, sample, weight, false);
                }
                break;
            default:
                break;
        }
    }

    void add(int slot, double sample) {
        add(slot, sample, 1);
    }

    /** Adds a sample. A histogram uses the integral part of the sample for the bucket, and the whole sample for the sum. */
    public void add(int slot, double sample, long weight) {
        Entry entry = entry(slot);
        if (entry == null) {
            return;
        }
        if (weight > 1) {
            weigh(entry, sample, weight);
        }
        Cells ownCells = own(entry);
        int stripe = ownCells != null ? 0 : stripe();
        long[] cells = ownCells != null ? ownCells.cells : entry.cells;
        long first = Memory.LONG_BASE + 8L * stripe * shape.stride;
        if (shape.kind == MapShape.HIST) {
            histogram(entry, ownCells, stripe, cells, first, sample, weight);
        } else if (shape.kind >= MapShape.SUM && shape.kind <= MapShape.MAX) {
            Cells.combine(shape.layout, cells, first, sample, weight, ownCells != null);
        } else {
            addOther(entry, ownCells, stripe, cells, first, sample, weight);
        }
    }

    private void histogram(Entry entry, Cells ownCells, int stripe, long[] cells, long first, double sample,
            long weight) {
        Cells.add(cells, first + 8, sample * weight);
        Cells.lower(cells, first + 16, (long) sample);
        Cells.raise(cells, first + 24, (long) sample);
        bucket(entry, ownCells, stripe, shape.exponential.of((long) sample), weight);
    }

    private void addOther(Entry entry, Cells ownCells, int stripe, long[] cells, long first, double sample,
            long weight) {
        switch (shape.kind) {
            case MapShape.STATS:
                Cells.bump(cells, first, weight, ownCells != null);
                Cells.add(cells, first + 16, sample * weight);
                Cells.lower(cells, first + 32, sample);
                Cells.raise(cells, first + 48, sample);
                break;
            case MapShape.LHIST:
                Cells.add(cells, first + 8, sample * weight);
                Cells.lower(cells, first + 24, sample);
                Cells.raise(cells, first + 40, sample);
                bucket(entry, ownCells, stripe, shape.linearBucketOf(sample), weight);
                break;
            case MapShape.TSERIES:
                Cells.bump(cells, first, weight, false);
                long[] window = window(entry);
                if (window != null) {
                    Cells.combine(Windows.cells(shape.operator()), window, Memory.LONG_BASE + 8, sample, weight, false);
                }
                break;
            default:
                break;
        }
    }

    void add(int slot, Object sample) {
        add(slot, sample, 1, 0);
    }

    /**
     * @param at the position of the sample in the script; null is counted there
     * @throws ProbeError if the sample is neither null nor a number
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
     * Adds a sample of any type, for kinds that keep or distinguish values.
     *
     * @param at the position of the sample in the script; null is counted there
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
        if (weight > 1 && (shape.kind == MapShape.TOPK || shape.kind == MapShape.DISTINCT)) {
            weigh(entry, 0, weight);
        }
        switch (shape.kind) {
            case MapShape.TOPK:
                Cells.bump(entry.cells, Memory.LONG_BASE, weight, false);
                SpaceSaving.add(entry.segments, sample, limit, weight);
                break;
            case MapShape.DISTINCT:
                Cells.bump(entry.cells, Memory.LONG_BASE, weight, false);
                long hash = Keys.hash64(sample, limit);
                long[] registers = segment(entry, HyperLogLog.cell(hash) / Cells.SEGMENT);
                if (registers != null) {
                    HyperLogLog.add(registers, HyperLogLog.cell(hash) % Cells.SEGMENT, hash);
                }
                break;
            case MapShape.FIRST:
                if (entry.value == Entry.UNSET
                        && entry.replaceValue(Entry.UNSET, Keys.store(sample, limit))) {
                    MEMORY.putLongVolatile(entry.cells, Memory.LONG_BASE, session.wallClock());
                }
                break;
            case MapShape.LAST:
                entry.value = Keys.store(sample, limit);
                Cells.raise(entry.cells, Memory.LONG_BASE, session.wallClock());
                break;
            case MapShape.SAMPLE_OF:
                keepSome(entry, sample);
                break;
            default:
                break;
        }
    }

    /** Reservoir sampling (Vitter 1985, algorithm R): each of the samples so far is kept with the same probability. */
    private void keepSome(Entry entry, Object sample) {
        long sampleCount = MEMORY.getAndAddLong(entry.cells, Memory.LONG_BASE, 1);
        long at = sampleCount;
        if (sampleCount >= shape.segments) {
            at = (Keys.mix64(sampleCount + entry.hash * 0x9E3779B97F4A7C15L) >>> 1) % (sampleCount + 1);
        }
        if (at < shape.segments) {
            entry.segments[(int) at] = Keys.store(sample, limit);
        }
    }

    private long[] window(Entry entry) {
        return Windows.of(entry.segments, session.wallClock() / shape.interval(), shape.operator());
    }

    /** The stripe of this thread in the cells that threads share. */
    private int stripe() {
        return shape.stripeBits == 0 ? 0 : Threads.hash(Threads.id(), shape.stripeBits);
    }

    /** Returns the cells to which only this thread adds; null if it has none. */
    private Cells own(Entry entry) {
        Cells[] cellsByStripe = entry.ownCells;
        int stripe = cellsByStripe == null ? -1 : Stripes.owned();
        if (stripe < 0) {
            return null;
        }
        Cells ownCells = cellsByStripe[stripe];
        return ownCells != null ? ownCells : makeOwn(cellsByStripe, stripe);
    }

    private Cells makeOwn(Cells[] cellsByStripe, int stripe) {
        if (!hasRoomForOwn()) {
            return null;
        }
        Cells newCells = shape.newOwnCells();
        growOwn(shape.ownBytes());
        long offset = Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * stripe;
        MEMORY.compareAndSetReference(cellsByStripe, offset, null, newCells);
        return cellsByStripe[stripe];
    }

    private boolean hasRoomForOwn() {
        return shape.keys == 0 || MEMORY.getLongVolatile(counters, OWN_BYTES) < MAX_OWN_BYTES;
    }

    private void bucket(Entry entry, Cells ownCells, int stripe, int bucket, long weight) {
        long offset = Memory.LONG_BASE + 8L * (bucket & Cells.SEGMENT - 1);
        int at = bucket >>> Cells.SEGMENT_BITS;
        long[] segment = ownCells == null ? null : ownSegment(ownCells, at);
        if (segment != null) {
            Cells.bump(segment, offset, weight, true);
            return;
        }
        segment = segment(entry, stripe * shape.segments + at);
        if (segment != null) {
            Cells.bump(segment, offset, weight, false);
        }
    }

    /** @return null if no more cells of single threads may be allocated */
    private long[] ownSegment(Cells ownCells, int at) {
        Object segment = ownCells.segments[at];
        return segment == null && hasRoomForOwn() ? makeSegment(ownCells, at, 2 * Cells.SEGMENT) : (long[]) segment;
    }

    /** @return null if the map has used all its memory */
    private long[] segment(Entry entry, int at) {
        Object segment = entry.segments[at];
        return segment == null ? makeSegment(entry, at, Cells.SEGMENT) : (long[]) segment;
    }

    private long[] makeSegment(Cells cells, int at, int length) {
        if (MEMORY.getLongVolatile(counters, BYTES) >= MAX_BYTES || Headroom.isScarce()) {
            if (length == Cells.SEGMENT) {
                countRefusal();
            }
            return null;
        }
        if (length == Cells.SEGMENT) {
            grow(16 + 8 * length);
        } else {
            growOwn(16 + 8 * length);
        }
        long offset = Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * at;
        MEMORY.compareAndSetReference(cells.segments, offset, null, new long[length]);
        return (long[]) MEMORY.getReferenceVolatile(cells.segments, offset);
    }

    public void store(int slot, Object value) {
        Entry entry = entry(slot);
        if (entry != null) {
            entry.assigned = true;
            entry.value = Keys.store(value, limit);
        }
    }

    /**
     * @throws ProbeError if the operand is null, or if the operator does not accept the operands; ArithmeticException
     * for / and % by 0
     */
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
            Object storedValue = entry.value;
            Object leftOperand = storedValue == Entry.UNSET ? Long.valueOf(0) : Keys.shown(storedValue);
            Object result = Keys.store(Dynamic.apply(op, leftOperand, operand), limit);
            if (entry.replaceValue(storedValue, result)) {
                return;
            }
        }
    }

    public Object value(int slot) {
        Entry entry = entry(slot);
        if (entry == null) {
            return null;
        }
        if (shape.holdsObject()) {
            Object value = entry.value;
            return value == Entry.UNSET ? null : Keys.shown(value);
        }
        return shape.value(merged(entry, false));
    }

    /**
     * Deletes the key of the slot, in every place. Concurrent updates of the key are dropped, or count as if they had
     * come before.
     */
    public void delete(int slot) {
        Entry entry = entry(slot);
        if (entry == null) {
            return;
        }
        if (isPermanent) {
            merged(entry, true);
            return;
        }
        for (KeyTable table : tables) {
            for (int i = 0; i < table.window; i++) {
                int at = table.place(entry.hash, i);
                Entry otherEntry = table.entry(at);
                if (otherEntry == null) {
                    break;
                }
                if (otherEntry != Entry.DELETED && entry.hasKeyOf(otherEntry)
                        && table.replace(at, otherEntry, Entry.DELETED)) {
                    countRemoval(table, otherEntry);
                }
            }
        }
    }

    public void clear() {
        for (Skips probeSkips : skips) {
            probeSkips.take();
        }
        if (isPermanent) {
            merged(entry(slot()), true);
            return;
        }
        tables = new KeyTable[] {new KeyTable(tables[0].entries.length)};
        MEMORY.putLongVolatile(counters, BYTES, 0);
        MEMORY.putLongVolatile(counters, OWN_BYTES, 0);
    }

    /** Whether the key exists and has got a value since the last flush. */
    public boolean has(int slot) {
        Entry entry = entry(slot);
        return entry != null && !isEmpty(entry);
    }

    /** The number of keys that have got a value since the last flush. */
    public long size() {
        KeyTable table = tables[0];
        long size = 0;
        for (int at = 0; at < table.entries.length; at++) {
            Entry entry = table.present(at);
            if (entry != null && !isEmpty(entry)) {
                size++;
            }
        }
        return size;
    }

    /** Returns at most {@code most} keys: arrays of their components if they have several. */
    public Object keys(int most) {
        KeyTable table = tables[0];
        Object[] keys = new Object[(int) Math.min(size(), most)];
        int count = 0;
        for (int at = 0; at < table.entries.length && count < keys.length; at++) {
            Entry entry = table.present(at);
            if (entry != null && !isEmpty(entry)) {
                keys[count++] = entry.shownKey(shape.keys);
            }
        }
        return keys;
    }

    /** Whether the entry has got no value since the last flush. */
    boolean isEmpty(Entry entry) {
        return (shape.holdsObject() || sumTallies(false) == 0) && entry.isEmpty(shape);
    }

    /** Merges all cells of the entry. With {@code take}, resets them. */
    long[] merged(Entry entry, boolean take) {
        long[] cells = entry.merged(shape, take);
        if (tallies.length > 0) {
            cells[0] += sumTallies(take);
        }
        return cells;
    }

    /** Installs an empty table, unless that was done less than a second ago. @return the tables to read */
    private KeyTable[] rotate() {
        KeyTable[] currentTables = tables;
        long nanos = System.nanoTime();
        boolean early = currentTables.length > 1 && nanos - rotatedNanos < ROTATION_NANOS;
        if (shape.keys == 0 || early || currentTables.length > 1 + RETIRED) {
            return currentTables;
        }
        KeyTable[] newTables = new KeyTable[currentTables.length + 1];
        newTables[0] = new KeyTable(currentTables[0].entries.length);
        System.arraycopy(currentTables, 0, newTables, 1, currentTables.length);
        if (!replace(currentTables, newTables)) { // the map was cleared in the meantime
            return tables;
        }
        rotatedNanos = nanos;
        MEMORY.putLongVolatile(counters, BYTES, 0);
        MEMORY.putLongVolatile(counters, OWN_BYTES, 0);
        return newTables;
    }

    /** Drops old tables. These tables were flushed seconds ago and again now, so no thread can still add to them. */
    private void forget(KeyTable[] readTables) {
        if (readTables.length > 1 + RETIRED) {
            KeyTable[] keptTables = Arrays.copyOf(readTables, 1 + RETIRED);
            replace(readTables, keptTables);
        }
    }

    private boolean replace(KeyTable[] from, KeyTable[] to) {
        return MEMORY.compareAndSetReference(this, TABLES, from, to);
    }

    /**
     * Returns MapContent of the wire protocol. Called by agent threads.
     *
     * @param flush takes the values, so that no later content includes them
     * @param room the number of bytes after which no further key is written; the remaining keys are counted as omitted,
     * and not taken
     */
    byte[] content(boolean flush, int room) {
        Output out = new Output();
        out.u4(id);
        out.u8(MEMORY.getLongVolatile(counters, Memory.LONG_BASE + 8));
        out.u8(MEMORY.getLongVolatile(counters, EVICTED));
        Skips.write(skips, flush, out);
        if (isPermanent) {
            slot();
        }
        KeyTable[] readTables = flush ? rotate() : tables;
        MapContent content = new MapContent(this, session, flush, out);
        content.write(readTables, room);
        if (flush) {
            flushedSamples += content.samples;
            if (content.omittedKeys == 0) {
                forget(readTables);
            }
        }
        return out.toBytes();
    }

    /** The sum of {@link MapShape#samples} of all keys since the start, including flushed ones. Called by agent threads. */
    double total() {
        double total = flushedSamples;
        for (KeyTable table : tables) {
            for (int at = 0; at < table.entries.length; at++) {
                Entry entry = table.present(at);
                if (entry != null && shape.kind != MapShape.VALUE) {
                    total += shape.samples(merged(entry, false));
                }
            }
        }
        return total;
    }
}
