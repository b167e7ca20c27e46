package btpy.runtime;

/**
 * The keys of a map by hash, in an open-addressing table. A key is in one of {@link #window} places that begin at its
 * hash.
 */
final class KeyTable {
    private static final int WINDOW = 64;
    private static final Memory MEMORY = Memory.instance();

    final Object[] entries;
    final int window;
    /** One element: the number of existing keys. */
    private final long[] live = new long[1];

    /** @param size a power of two */
    KeyTable(int size) {
        entries = new Object[size];
        window = size < WINDOW ? size : WINDOW;
    }

    /** The size for a number of keys: four places for each, and at least one window. */
    static int size(int capacity) {
        return Math.max(WINDOW, Integer.highestOneBit(4 * capacity - 1) << 1);
    }

    /** The index of place {@code i} for keys with this hash. */
    int place(int hash, int i) {
        return (hash ^ hash >>> 16) + i & entries.length - 1;
    }

    Entry entry(int at) {
        return (Entry) MEMORY.getReferenceVolatile(entries, Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * at);
    }

    /** Returns the entry, or null if it is missing or deleted. */
    Entry present(int at) {
        Entry entry = entry(at);
        return entry == Entry.DELETED ? null : entry;
    }

    boolean replace(int at, Entry from, Entry to) {
        return MEMORY.compareAndSetReference(entries, Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * at, from, to);
    }

    long live() {
        return MEMORY.getLongVolatile(live, Memory.LONG_BASE);
    }

    void addLive(int delta) {
        MEMORY.getAndAddLong(live, Memory.LONG_BASE, delta);
    }
}
