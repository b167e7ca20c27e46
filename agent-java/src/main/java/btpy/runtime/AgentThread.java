package btpy.runtime;

/** A thread of the agent: probes do not fire on it, whatever it calls, except through {@link Session#enterAgent}. */
public final class AgentThread extends Thread {
    public AgentThread(Runnable work, String name) {
        super(work, name);
        setDaemon(true);
    }
}
