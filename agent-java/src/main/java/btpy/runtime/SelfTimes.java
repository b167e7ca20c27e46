package btpy.runtime;

/**
 * What activations of the methods that a probe traces take by themselves, without the activations of these methods that they call, for
 * probes that ask.
 *
 * <p>The table has, for the innermost activation on each thread, the time of those that it has called so far. An activation that begins
 * takes the figure of its caller into its own frame, less the time of day; the time of day when it ends makes that the figure again, with
 * this call added. What is left of a call that never ended goes when its caller ends.
 */
public final class SelfTimes {
    private static final Memory MEMORY = Memory.instance();
    private static final long TIMES = MEMORY.fieldOffset(Session.class, "selfTimes");
    private static final int BITS = 11;

    private static final long OUTERMOST = Long.MIN_VALUE;
    /** There is no room for this thread: nothing is taken off what its activations take. */
    private static final long NOT_COUNTED = Long.MIN_VALUE + 1;

    private SelfTimes() {}

    /** An activation begins. @return what {@link #of} and {@link #leave} are to be given */
    public static long enter(int site, int probe) {
        Session session = Session.of(site);
        if (session == null) {
            return NOT_COUNTED;
        }
        ThreadTable times = session.selfTimes == null ? ThreadTable.made(session, TIMES, BITS) : session.selfTimes;
        long key = Depths.key(probe);
        int entry = times.find(key);
        if (entry >= 0) {
            long caller = times.value(entry) - System.nanoTime();
            times.setValue(entry, 0);
            return caller;
        }
        entry = times.claim(key);
        if (entry < 0) {
            session.errors.count(probe, 0, ProbeError.KIND_DEPTH, null);
            return NOT_COUNTED;
        }
        times.setValue(entry, 0);
        return OUTERMOST;
    }

    /** What is left of {@code duration} without the activations that this one has called. */
    public static long of(Session session, int probe, long duration, long entered) {
        ThreadTable times = session.selfTimes;
        int entry = times == null || entered == NOT_COUNTED ? -1 : times.find(Depths.key(probe));
        return entry < 0 ? duration : duration - times.value(entry);
    }

    public static void leave(int site, int probe, long entered) {
        Session session = Session.of(site);
        if (session == null || entered == NOT_COUNTED) {
            return;
        }
        int entry = session.selfTimes.find(Depths.key(probe));
        if (entry < 0) {
            return;
        }
        if (entered == OUTERMOST) {
            session.selfTimes.release(entry);
        } else {
            session.selfTimes.setValue(entry, entered + System.nanoTime());
        }
    }
}
