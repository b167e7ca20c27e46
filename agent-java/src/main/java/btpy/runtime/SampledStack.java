package btpy.runtime;

/** The stack of another thread as an exception, so that code that reads stacks of exceptions can read it too. */
public final class SampledStack extends Throwable {
    private static final long serialVersionUID = 1L;

    /** The id of the thread. */
    final long id;
    final String name;

    public SampledStack(long id, String name, StackTraceElement[] trace) {
        super(null, null, false, true);
        this.id = id;
        this.name = name;
        setStackTrace(trace);
    }

    /** Does nothing, because the trace of the sampling thread itself is useless. */
    @Override
    public Throwable fillInStackTrace() {
        return this;
    }
}
