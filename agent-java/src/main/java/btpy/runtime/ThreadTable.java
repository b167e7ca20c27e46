package btpy.runtime;

/**
 * What is known of threads that are inside something now: a bounded table from a key that only the running thread uses to one
 * {@code long}. No allocation, no lock, and no thread-local that could stay behind in an application thread.
 *
 * <p>A key lives in one bucket of eight entries (a cache line). Only its own thread adds, finds and removes it, so there are no
 * races about a key, only about empty entries. A full bucket refuses: the caller counts that and does without.
 *
 * <p>A key takes the first entry of its bucket if that is free, so two threads rarely look further. How many keys of a bucket are
 * not in its first entry is counted before one is put there and after it is taken away: a thread that sees 0 has no key there.
 */
final class ThreadTable {
    private static final Memory MEMORY = Memory.instance();
    private static final int BUCKET = 8;

    private final int bits;
    private final long[] keys;
    /** By bucket: keys that are not in its first entry, or more than that where a stack ran over between the two. */
    private final long[] others;
    /** By entry. */
    final long[] values;

    /** {@code 8 << bits} entries of 17 bytes. */
    ThreadTable(int bits) {
        this.bits = bits;
        this.keys = new long[BUCKET << bits];
        this.others = new long[1 << bits];
        this.values = new long[BUCKET << bits];
    }

    /** The table in a field of an object, made if there is none. {@code field}: its offset. */
    static ThreadTable made(Object owner, long field, int bits) {
        MEMORY.compareAndSetReference(owner, field, null, new ThreadTable(bits));
        return (ThreadTable) MEMORY.getReferenceVolatile(owner, field);
    }

    /** @return −1 when the key is not there; keys are not 0 */
    int find(long key) {
        int bucket = Threads.hash(key, bits);
        if (keys[bucket * BUCKET] == key) {
            return bucket * BUCKET;
        }
        return others[bucket] == 0 ? -1 : findOther(key, bucket * BUCKET);
    }

    private int findOther(long key, int first) {
        for (int i = first + 1; i < first + BUCKET; i++) {
            if (keys[i] == key) {
                return i;
            }
        }
        return -1;
    }

    /** Adds a key that is not there. @return −1 when its bucket is full */
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
        MEMORY.getAndAddLong(others, Memory.LONG_BASE + 8L * bucket, delta);
    }

    void release(int entry) {
        MEMORY.putLongRelease(keys, Memory.LONG_BASE + 8L * entry, 0);
        if ((entry & BUCKET - 1) != 0) {
            addOther(entry / BUCKET, -1);
        }
    }

    long value(int entry) {
        return values[entry];
    }

    void setValue(int entry, long value) {
        values[entry] = value;
    }
}
