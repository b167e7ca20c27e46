package btpy.agent;

/**
 * When to look for loaded classes that should be woven and are not: those that missed the deadline, those that a thread of
 * the agent has loaded, and those that were loaded before it was known that a supertype matches (the JVM shows a class to
 * the transformer before it loads the superclass). Such a class may still be on its way when the first look is taken, so there is a second one.
 */
final class Sweeper {
    private static final long APART_NANOS = 500_000_000L;
    private static final long SECOND_LOOK_NANOS = 1_000_000_000L;

    private volatile boolean requested;
    private long notBefore;
    private long secondLook;

    /** From any thread; costs one store. */
    void request() {
        requested = true;
    }

    /** Whether to look now. Called by the event thread alone, with System.nanoTime. */
    boolean isDue(long now) {
        if (requested && (notBefore == 0 || now - notBefore >= 0)) {
            requested = false;
            notBefore = now + APART_NANOS | 1;
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
