package btpy.runtime;

/**
 * A bounded table with a {@code long} for each key, for threads that are currently inside a method. Only the running
 * thread uses its key. The table needs no allocation, no lock, and no thread-local that could remain in an application
 * thread.
 *
 * <p>A key is in one bucket of eight entries (a cache line). Only its own thread adds, finds and removes a key, so
 * threads compete only for empty entries. If a bucket is full, the table refuses the key, and the caller counts that
 * and continues without it.
 *
 * <p>A key takes the first entry of its bucket if that is free, so two threads rarely search further. Each bucket
 * counts its keys outside the first entry. The counter is increased before a key is added and decreased after it is
 * removed. So a thread that reads 0 has no key outside the first entry.
 */
final class ThreadTable {
    private static final Memory MEMORY = Memory.instance();
    private static final int BUCKET = 8;

    private final int bits;
    private final long[] keys;
    /**
     * For each bucket, the number of keys outside its first entry. The counter is too large if a stack overflow
     * prevented its decrease.
     */
    private final long[] otherCounts;
    /** The values, by entry. */
    final long[] values;

    /** Creates {@code 8 << bits} entries of 17 bytes. */
    ThreadTable(int bits) {
        this.bits = bits;
        this.keys = new long[BUCKET << bits];
        this.otherCounts = new long[1 << bits];
        this.values = new long[BUCKET << bits];
    }

    /**
     * Returns the table in a field of an object, and creates it if it is missing. {@code field} is the offset of the
     * field.
     */
    static ThreadTable getOrCreate(Object owner, long field, int bits) {
        MEMORY.compareAndSetReference(owner, field, null, new ThreadTable(bits));
        return (ThreadTable) MEMORY.getReferenceVolatile(owner, field);
    }

    /** @return the entry of the key, which is not 0; −1 if the key is missing */
    int find(long key) {
        int bucket = Threads.hash(key, bits);
        if (keys[bucket * BUCKET] == key) {
            return bucket * BUCKET;
        }
        return otherCounts[bucket] == 0 ? -1 : findOther(key, bucket * BUCKET);
    }

    private int findOther(long key, int first) {
        for (int i = first + 1; i < first + BUCKET; i++) {
            if (keys[i] == key) {
                return i;
            }
        }
        return -1;
    }

    /** Adds a new key. @return −1 if its bucket is full */
    int claim(long key) {
        int bucket = Threads.hash(key, bits);
        int first = bucket * BUCKET;
        return claim(key, first) ? first : claimOther(key, bucket);
    }

    private int claimOther(long key, int bucket) {
        addOther(bucket, 1);
        for (int i = bucket * BUCKET + 1; i < (bucket + 1) * BUCKET; i++) {
            if (claim(key, i)) {
                return i;
            }
        }
        addOther(bucket, -1);
        return -1;
    }

    private boolean claim(long key, int entry) {
        return keys[entry] == 0 && MEMORY.compareAndSetLong(keys, Memory.LONG_BASE + 8L * entry, 0, key);
    }

    private void addOther(int bucket, int delta) {
        MEMORY.getAndAddLong(otherCounts, Memory.LONG_BASE + 8L * bucket, delta);
    }

    void release(int entry) {
        MEMORY.putLongRelease(keys, Memory.LONG_BASE + 8L * entry, 0);
        if ((entry & BUCKET - 1) != 0) {
            addOther(entry / BUCKET, -1);
        }
    }
}
