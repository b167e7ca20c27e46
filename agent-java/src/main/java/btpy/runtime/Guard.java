package btpy.runtime;

/**
 * Which threads are inside a guarded handler now, and of which probe: what such a handler calls fires no other. One table for all
 * sessions.
 */
public final class Guard {
    private static final ThreadTable INSIDE = new ThreadTable(8);

    /**
     * By what {@link #mark} gave: the era (upper half) and the probe (lower half). A handler whose call of {@link #leave} fails, because
     * the stack has no room for another, stores {@link #LEFT} here: that takes no call.
     */
    public static final long[] MARKS = INSIDE.values;

    public static final long LEFT = -1;

    private static final int INSIDE_ALREADY = -1;
    private static final int NO_ROOM = -2;

    /**
     * Counts seconds, about, while a session is drained. Where a thread was marked and its handler could not even say that it has left,
     * its entry is one of an era long past; a handler's work is bounded, so it is taken over.
     */
    private static int era;

    private Guard() {}

    /**
     * After {@link Session#enter}: marks this thread as being inside a guarded handler, until {@link #leave}.
     *
     * @return where it is marked; below 0: it is inside one already, or there is no room
     */
    public static int enter(Session session, int probe) {
        int entry = mark(probe);
        if (entry == NO_ROOM) {
            session.errors.count(probe, 0, ProbeError.KIND_DEPTH, null);
        }
        return entry;
    }

    /**
     * From here on what this thread calls fires no guarded handler, and what it counts is the probe's (&minus;1: nobody's). To be
     * followed by {@link #leave}, and where that has no room on the stack by a {@link #LEFT} in {@link #MARKS}.
     *
     * @return the entry of this thread; below 0: it is inside a handler already, or there are more threads inside than there is room for
     */
    public static int mark(int probe) {
        long thread = Threads.id();
        int entry = INSIDE.find(thread);
        if (entry >= 0) {
            if (!left(entry)) {
                return INSIDE_ALREADY;
            }
        } else {
            entry = INSIDE.claim(thread);
            if (entry < 0) {
                return NO_ROOM;
            }
        }
        MARKS[entry] = (long) era << 32 | probe & 0xFFFFFFFFL; // no call from here on: the stack may end in any, and nobody would leave
        return entry;
    }

    /** Whether the handler of this entry has ended, or must have: two eras are a second at least. */
    private static boolean left(int entry) {
        long value = INSIDE.value(entry);
        return value == LEFT || era - (int) (value >>> 32) >= 2;
    }

    /** {@code entry}: what {@link #mark} gave; below 0: it was not marked. */
    public static void leave(int entry) {
        if (entry >= 0) {
            INSIDE.release(entry);
        }
    }

    /** What this thread counts without a position, in the guarded handler that it is in, is this probe's from now on. */
    public static void attribute(int probe) {
        int entry = INSIDE.find(Threads.id());
        if (entry >= 0) {
            INSIDE.setValue(entry, (long) era << 32 | probe);
        }
    }

    static boolean isInside() {
        return INSIDE.find(Threads.id()) >= 0;
    }

    /** Of the guarded handler that this thread is in. */
    static int probe(int otherwise) {
        int entry = INSIDE.find(Threads.id());
        return entry < 0 ? otherwise : (int) INSIDE.value(entry);
    }

    /** The event thread's part, at each drain: eras pass. */
    static void turn(long now) {
        era = (int) (now >>> 30);
    }
}
