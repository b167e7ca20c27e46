package btpy.runtime;

/**
 * A thread of the agent: probes do not fire on it, whatever it calls, except through {@link Session#enterAgent}. Nothing that
 * ends it reaches the standard error of the target.
 */
public final class AgentThread extends Thread implements Thread.UncaughtExceptionHandler {
    public AgentThread(Runnable work, String name) {
        super(work, name);
        setDaemon(true);
        setUncaughtExceptionHandler(this);
    }

    @Override
    public void uncaughtException(Thread thread, Throwable unexpected) {
        // whoever started it finds out by what it no longer does
    }
}
