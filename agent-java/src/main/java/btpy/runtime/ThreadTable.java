package btpy.runtime;

/**
 * What is known of threads that are inside something now: a bounded table from a key that only the running thread uses to one
 * {@code long}. No allocation, no lock, and no thread-local that could stay behind in an application thread.
 *
 * <p>A key lives in one bucket of eight entries (a cache line). Only its own thread adds, finds and removes it, so there are no
 * races about a key, only about empty entries. A full bucket refuses: the caller counts that and does without.
 */
final class ThreadTable {
    private static final Memory MEMORY = Memory.instance();
    private static final int BUCKET = 8;

    private final int bits;
    private final long[] keys;
    /** By entry. */
    final long[] values;

    /** {@code 8 << bits} entries of 16 bytes. */
    ThreadTable(int bits) {
        this.bits = bits;
        this.keys = new long[BUCKET << bits];
        this.values = new long[BUCKET << bits];
    }

    /** @return −1 when the key is not there; keys are not 0 */
    int find(long key) {
        long[] keys = this.keys;
        int first = Threads.hash(key, bits) * BUCKET;
        for (int i = first; i < first + BUCKET; i++) {
            if (keys[i] == key) {
                return i;
            }
        }
        return -1;
    }

    /** Adds a key that is not there. @return −1 when its bucket is full */
    int claim(long key) {
        int first = Threads.hash(key, bits) * BUCKET;
        for (int i = first; i < first + BUCKET; i++) {
            if (keys[i] == 0 && MEMORY.compareAndSetLong(keys, Memory.LONG_BASE + 8L * i, 0, key)) {
                return i;
            }
        }
        return -1;
    }

    void release(int entry) {
        MEMORY.putLongRelease(keys, Memory.LONG_BASE + 8L * entry, 0);
    }

    long value(int entry) {
        return values[entry];
    }

    void setValue(int entry, long value) {
        values[entry] = value;
    }
}
