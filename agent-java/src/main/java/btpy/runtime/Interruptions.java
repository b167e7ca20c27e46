package btpy.runtime;

/**
 * Counts that handlers of one probe increase directly if the stack has no space for a call. They do this under the lock
 * of this object, which is held only for one addition or one reading.
 */
public final class Interruptions {
    /** The errors that the call of {@link Session#failed} could not count. */
    public long errors;

    /** The firings that were interrupted while they were admitted, so that {@link Probe#fire} has not counted them. */
    public long firings;

    private long takenErrors;

    Interruptions() {}

    /** Called by the event thread. @return the errors since the last call */
    synchronized long takeErrors() {
        long newErrors = errors - takenErrors;
        takenErrors = errors;
        return newErrors;
    }

    synchronized long firings() {
        return firings;
    }
}
