package btpy.runtime;

/**
 * The {@link ThreadValues} of a session by thread: a bounded table, from which the event thread removes threads that
 * have ended.
 */
final class ThreadRows {
    private static final Memory MEMORY = Memory.instance();
    private static final long ROWS = MEMORY.fieldOffset(Session.class, "threadRows");
    private static final int BITS = 11;

    private final ThreadTable threads = new ThreadTable(BITS);
    private final Object[] rows = new Object[8 << BITS];
    private long swept;

    /** Returns the rows of the session, and creates them if they are missing. */
    static ThreadRows getOrCreate(Session session) {
        MEMORY.compareAndSetReference(session, ROWS, null, new ThreadRows());
        return session.threadRows;
    }

    /** Returns the row of the running thread; null if it has none. */
    ThreadValues find() {
        int entry = threads.find(Threads.id());
        return entry < 0 ? null : (ThreadValues) rows[entry];
    }

    /** Returns the row of the running thread, created if it is missing; null if the table is full. */
    ThreadValues claim(int variables) {
        long thread = Threads.id();
        int entry = threads.find(thread);
        if (entry < 0) {
            entry = threads.claim(thread);
        }
        if (entry < 0) {
            return null;
        }
        ThreadValues newValues = new ThreadValues(variables);
        MEMORY.storeFence(); // the event thread may see it from here on
        rows[entry] = newValues;
        return newValues;
    }

    /**
     * Called by the event thread, the only one that removes entries. The thread of a removed entry has ended and cannot
     * access it.
     */
    void sweep(long now) {
        if (now - swept < 1_000_000_000L) {
            return;
        }
        swept = now;
        for (int entry = 0; entry < rows.length; entry++) {
            ThreadValues row = (ThreadValues) rows[entry];
            if (row != null && row.isOver()) {
                rows[entry] = null;
                threads.release(entry);
            }
        }
    }
}
