package btpy.runtime;

/**
 * Data of threads, by thread: a bounded table without locks, from which the event thread removes threads that have
 * ended.
 */
final class ThreadRows<R extends OwnedByThread> {
    private static final Memory MEMORY = Memory.instance();

    private final ThreadTable threads;
    /** The index is the entry of the thread in {@link #threads}. */
    private final OwnedByThread[] rows;
    private long swept;

    /** Creates space for {@code 8 << bits} threads. */
    ThreadRows(int bits) {
        threads = new ThreadTable(bits);
        rows = new OwnedByThread[threads.values.length];
    }

    /** Returns the row of the running thread; null if it has none. */
    @SuppressWarnings("unchecked")
    R find() {
        int entry = threads.find(Threads.id());
        return entry < 0 ? null : (R) rows[entry];
    }

    /** Stores the row of the running thread. @return false if the table is full */
    boolean put(R row) {
        long thread = Threads.id();
        int entry = threads.find(thread);
        if (entry < 0) {
            entry = threads.claim(thread);
        }
        if (entry < 0) {
            return false;
        }
        row.entry = entry;
        MEMORY.storeFence(); // the event thread may see the row from here on
        rows[entry] = row;
        return true;
    }

    /** Removes the row of the running thread. */
    void remove(R row) {
        release(row.entry);
    }

    /** Called by the event thread. The thread of a removed entry has ended and cannot access it. */
    void sweep(long now) {
        if (now - swept < 1_000_000_000L) {
            return;
        }
        swept = now;
        for (int entry = 0; entry < rows.length; entry++) {
            OwnedByThread row = rows[entry];
            if (row != null && row.isOver() && rows[entry] == row) {
                release(entry);
            }
        }
    }

    private void release(int entry) {
        rows[entry] = null;
        threads.release(entry);
    }
}
