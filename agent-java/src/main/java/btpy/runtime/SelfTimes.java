package btpy.runtime;

/**
 * Computes the self time of activations: their duration without the activations of traced methods that they call. Only
 * probes that use the self time need this class.
 *
 * <p>For the innermost activation on each thread, the table contains the time of the activations that it has called so
 * far. An activation that begins saves the value of its caller, minus the current time, in its own frame. When it ends,
 * adding the current time gives the caller's value again, plus the time of this call. If a call never ended, the end of
 * its caller overwrites the value that the call left.
 */
public final class SelfTimes {
    private static final Memory MEMORY = Memory.instance();
    private static final long TIMES = MEMORY.fieldOffset(Session.class, "selfTimes");
    private static final int BITS = 11;

    private static final long OUTERMOST = Long.MIN_VALUE;
    /** The table has no space for this thread, so the self time equals the duration. */
    private static final long NOT_COUNTED = Long.MIN_VALUE + 1;

    private SelfTimes() {}

    /** Called when an activation begins. @return the argument for {@link #of} and {@link #leave} */
    public static long enter(int site, int probe) {
        Session session = Session.of(site);
        if (session == null) {
            return NOT_COUNTED;
        }
        ThreadTable times = session.selfTimes == null ? ThreadTable.getOrCreate(session, TIMES, BITS)
                : session.selfTimes;
        long key = Depths.key(probe);
        int entry = times.find(key);
        if (entry >= 0) {
            long caller = times.values[entry] - System.nanoTime();
            times.values[entry] = 0;
            return caller;
        }
        entry = times.claim(key);
        if (entry < 0) {
            session.errors.count(probe, 0, ProbeError.KIND_DEPTH, null);
            return NOT_COUNTED;
        }
        times.values[entry] = 0;
        return OUTERMOST;
    }

    /** Returns {@code duration} without the time of the activations that this activation has called. */
    public static long of(Session session, int probe, long duration, long token) {
        ThreadTable times = session.selfTimes;
        int entry = times == null || token == NOT_COUNTED ? -1 : times.find(Depths.key(probe));
        return entry < 0 ? duration : duration - times.values[entry];
    }

    public static void leave(int site, int probe, long token) {
        Session session = Session.of(site);
        if (session == null || token == NOT_COUNTED) {
            return;
        }
        int entry = session.selfTimes.find(Depths.key(probe));
        if (entry < 0) {
            return;
        }
        if (token == OUTERMOST) {
            session.selfTimes.release(entry);
        } else {
            session.selfTimes.values[entry] = token + System.nanoTime();
        }
    }
}
