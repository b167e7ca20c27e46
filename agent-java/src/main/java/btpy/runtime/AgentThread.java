package btpy.runtime;

import java.util.Arrays;

/**
 * A thread of the agent. Probes do not fire on it, except through {@link Session#enterAgent}. No error that ends it
 * reaches the standard error of the target.
 */
public final class AgentThread extends Thread implements Thread.UncaughtExceptionHandler {
    private static final Object LOCK = new Object();
    /** The ids of the running threads of the agent. */
    private static volatile long[] ids = {};

    public AgentThread(Runnable work, String name) {
        super(work, name);
        setDaemon(true);
        setUncaughtExceptionHandler(this);
        setContextClassLoader(null);
    }

    /** Whether a thread of the agent has this id. */
    public static boolean isOne(long id) {
        for (long runningId : ids) {
            if (runningId == id) {
                return true;
            }
        }
        return false;
    }

    @Override
    public void run() {
        long id = getId();
        synchronized (LOCK) {
            long[] newIds = Arrays.copyOf(ids, ids.length + 1);
            newIds[ids.length] = id;
            ids = newIds;
        }
        try {
            super.run();
        } finally {
            leave(id);
        }
    }

    private static void leave(long id) {
        synchronized (LOCK) {
            long[] newIds = new long[ids.length - 1];
            int count = 0;
            for (long runningId : ids) {
                if (runningId != id) {
                    newIds[count++] = runningId;
                }
            }
            ids = newIds;
        }
    }

    @Override
    public void uncaughtException(Thread thread, Throwable failure) {
        // the creator of the thread notices that it has stopped working
    }
}
