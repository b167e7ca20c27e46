package btpy.runtime;

/**
 * What handlers of one probe count by themselves where the stack has no room for a call. Under the lock of this object, which nobody
 * holds but to add one, or to read it.
 */
public final class Interruptions {
    /** Errors that the call of {@link Session#failed} could not count. */
    public long errors;

    /** Firings that were interrupted while they were admitted, and so are not among those that {@link Probe#fire} counted. */
    public long firings;

    private long told;

    Interruptions() {}

    /** Event thread. @return the errors since the last call */
    synchronized long takeErrors() {
        long since = errors - told;
        told = errors;
        return since;
    }

    synchronized long firings() {
        return firings;
    }
}
