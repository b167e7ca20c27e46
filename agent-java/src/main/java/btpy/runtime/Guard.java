package btpy.runtime;

/**
 * Knows which threads are inside a guarded handler, and the probe of each. Calls from inside a guarded handler fire no
 * other guarded handler. All sessions share one table.
 */
public final class Guard {
    private static final ThreadTable INSIDE = new ThreadTable(8);

    /**
     * The state of each entry of {@link #mark}: the era (upper half) and the probe (lower half). A handler that cannot
     * call {@link #leave}, because the stack has no space for another call, stores {@link #LEFT} here without a call.
     */
    public static final long[] MARKS = INSIDE.values;

    public static final long LEFT = -1;

    private static final int INSIDE_ALREADY = -1;
    private static final int NO_ROOM = -2;

    /**
     * Counts roughly seconds while a session is drained. If a thread was marked and its handler could not even store
     * that it has left, its entry has an old era. The work of a handler is bounded, so an entry with an old era is
     * reused.
     */
    private static int era;

    private Guard() {}

    /**
     * Called after {@link Session#enter}. Marks this thread as inside a guarded handler, until {@link #leave}.
     *
     * @return the entry; below 0 if the thread is already inside a guarded handler, or if the table is full
     */
    public static int enter(Session session, int probe) {
        int entry = mark(probe);
        if (entry == NO_ROOM) {
            session.errors.count(probe, 0, ProbeError.KIND_DEPTH, null);
        }
        return entry;
    }

    /**
     * Marks this thread: until {@link #leave}, its calls fire no guarded handler, and its counts belong to the probe
     * (&minus;1: to none). If {@link #leave} has no space on the stack, the caller stores {@link #LEFT} in {@link
     * #MARKS}.
     *
     * @return the entry of this thread; below 0 if it is already inside a handler, or if the table is full
     */
    public static int mark(int probe) {
        long thread = Threads.id();
        int entry = INSIDE.find(thread);
        if (entry >= 0) {
            if (!hasLeft(entry)) {
                return INSIDE_ALREADY;
            }
        } else {
            entry = INSIDE.claim(thread);
            if (entry < 0) {
                return NO_ROOM;
            }
        }
        // No call after this store: a call may overflow the stack, and the mark would stay.
        MARKS[entry] = (long) era << 32 | probe & 0xFFFFFFFFL;
        return entry;
    }

    /** Whether the handler of this entry has ended. After two eras, at least a second, it counts as ended. */
    private static boolean hasLeft(int entry) {
        long value = MARKS[entry];
        return value == LEFT || era - (int) (value >>> 32) >= 2;
    }

    /** Ends a mark. {@code entry} is the result of {@link #mark}; below 0 if the thread was not marked. */
    public static void leave(int entry) {
        if (entry >= 0) {
            INSIDE.release(entry);
        }
    }

    /** Attributes the counts of this thread, in its current guarded handler, to this probe from now on. */
    public static void attribute(int probe) {
        int entry = INSIDE.find(Threads.id());
        if (entry >= 0) {
            MARKS[entry] = (long) era << 32 | probe;
        }
    }

    static boolean isInside() {
        return INSIDE.find(Threads.id()) >= 0;
    }

    /** The probe of the guarded handler in which this thread is. */
    static int probe(int otherwise) {
        int entry = INSIDE.find(Threads.id());
        return entry < 0 ? otherwise : (int) MARKS[entry];
    }

    /** Called by the event thread at each drain. Sets the era. */
    static void advanceEra(long now) {
        era = (int) (now >>> 30);
    }
}
