package btpy.agent;

/**
 * Decides when to search for loaded classes that should be woven and are not. These are classes that missed the
 * deadline, classes that a thread of the agent loaded, and classes that were loaded before the agent knew that a
 * supertype matches (the JVM shows a class to the transformer before it loads the superclass). A class may still be
 * loading during the first search, so a second search follows.
 */
final class Sweeper {
    private static final long INTERVAL_NANOS = 500_000_000L;
    private static final long SECOND_LOOK_NANOS = 1_000_000_000L;

    private volatile boolean requested;
    private long notBefore;
    private long secondLook;

    /** Requests a search. Any thread may call this; it costs one store. */
    void request() {
        requested = true;
    }

    /** Whether to search now. Only the event thread calls this, with System.nanoTime. */
    boolean isDue(long now) {
        if (requested && (notBefore == 0 || now - notBefore >= 0)) {
            requested = false;
            notBefore = now + INTERVAL_NANOS | 1;
            secondLook = now + SECOND_LOOK_NANOS | 1;
            return true;
        }
        if (secondLook != 0 && now - secondLook >= 0) {
            secondLook = 0;
            return true;
        }
        return false;
    }
}
