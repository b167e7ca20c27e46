package btpy.agent;

import btpy.runtime.AgentThread;

/**
 * Lets the client take the last records when the JVM exits. It tells the client, and waits until the client has ended
 * the session.
 *
 * <p>It runs concurrently with the hooks of the application. Events of those hooks are lost after the end of the
 * session, and are not counted.
 */
final class ShutdownHook implements Runnable {
    private static final int MOST_MILLIS = 5_000;

    private final Tracer tracer;
    private final Thread thread = new AgentThread(this, "btpy-exit");

    private ShutdownHook(Tracer tracer) {
        this.tracer = tracer;
    }

    /** Null when the JVM is exiting already. */
    static ShutdownHook add(Tracer tracer) {
        ShutdownHook hook = new ShutdownHook(tracer);
        try {
            Runtime.getRuntime().addShutdownHook(hook.thread);
            return hook;
        } catch (IllegalStateException shutdown) {
            return null;
        }
    }

    void remove() {
        try {
            Runtime.getRuntime().removeShutdownHook(thread);
        } catch (IllegalStateException shutdown) {
            // the hook is running, or has run
        }
    }

    @Override
    public void run() {
        tracer.exit(MOST_MILLIS);
    }
}
