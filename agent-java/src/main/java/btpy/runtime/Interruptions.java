package btpy.runtime;

/**
 * Counts that handlers of one probe increase directly if the stack has no space for a call. They hold the lock of this
 * object, which is only taken to add one or to read.
 */
public final class Interruptions {
    /** The errors that the call of {@link Session#failed} could not count. */
    public long errors;

    /** The firings that were interrupted while they were admitted, so that {@link Probe#fire} has not counted them. */
    public long firings;

    private long told;

    Interruptions() {}

    /** Called by the event thread. @return the errors since the last call */
    synchronized long takeErrors() {
        long since = errors - told;
        told = errors;
        return since;
    }

    synchronized long firings() {
        return firings;
    }
}
