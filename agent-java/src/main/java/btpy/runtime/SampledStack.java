package btpy.runtime;

/** The stack of another thread, as an exception, so that whatever reads stacks of exceptions reads it as well. */
public final class SampledStack extends Throwable {
    private static final long serialVersionUID = 1L;

    /** Of the thread. */
    final long id;
    final String name;

    public SampledStack(long id, String name, StackTraceElement[] trace) {
        super(null, null, false, true);
        this.id = id;
        this.name = name;
        setStackTrace(trace);
    }

    /** The trace of the sampling thread itself would be of no use. */
    @Override
    public Throwable fillInStackTrace() {
        return this;
    }
}
