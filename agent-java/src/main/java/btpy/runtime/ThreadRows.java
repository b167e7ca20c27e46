package btpy.runtime;

/** The {@link ThreadValues} of a session by thread: a bounded table, from which the event thread takes threads that have ended. */
final class ThreadRows {
    private static final Memory MEMORY = Memory.instance();
    private static final long ROWS = MEMORY.fieldOffset(Session.class, "threadRows");
    private static final int BITS = 11;

    private final ThreadTable threads = new ThreadTable(BITS);
    private final Object[] rows = new Object[8 << BITS];
    private long swept;

    /** The rows of the session, made if there are none. */
    static ThreadRows made(Session session) {
        MEMORY.compareAndSetReference(session, ROWS, null, new ThreadRows());
        return session.threadRows;
    }

    /** Of the running thread; null when it keeps nothing. */
    ThreadValues find() {
        int entry = threads.find(Threads.id());
        return entry < 0 ? null : (ThreadValues) rows[entry];
    }

    /** Of the running thread, made if need be; null when there is no room. */
    ThreadValues claim(int variables) {
        long thread = Threads.id();
        int entry = threads.find(thread);
        if (entry < 0) {
            entry = threads.claim(thread);
        }
        if (entry < 0) {
            return null;
        }
        ThreadValues made = new ThreadValues(variables);
        MEMORY.storeFence(); // the event thread may see it from here on
        rows[entry] = made;
        return made;
    }

    /** Event thread only, which alone takes entries away: the thread of an entry that is over cannot touch it any more. */
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
