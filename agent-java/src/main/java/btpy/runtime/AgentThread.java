package btpy.runtime;

/**
 * A thread of the agent: probes do not fire on it, whatever it calls, except through {@link Session#enterAgent}. Nothing that
 * ends it reaches the standard error of the target.
 */
public final class AgentThread extends Thread implements Thread.UncaughtExceptionHandler {
    private static final Object LOCK = new Object();
    /** Of those that run. */
    private static volatile long[] ids = {};

    public AgentThread(Runnable work, String name) {
        super(work, name);
        setDaemon(true);
        setUncaughtExceptionHandler(this);
    }

    /** Whether a thread of the agent has this id. */
    public static boolean isOne(long id) {
        for (long own : ids) {
            if (own == id) {
                return true;
            }
        }
        return false;
    }

    @Override
    public void run() {
        long id = getId();
        synchronized (LOCK) {
            long[] more = new long[ids.length + 1];
            System.arraycopy(ids, 0, more, 0, ids.length);
            more[ids.length] = id;
            ids = more;
        }
        try {
            super.run();
        } finally {
            leave(id);
        }
    }

    private static void leave(long id) {
        synchronized (LOCK) {
            long[] others = new long[ids.length - 1];
            int count = 0;
            for (long own : ids) {
                if (own != id) {
                    others[count++] = own;
                }
            }
            ids = others;
        }
    }

    @Override
    public void uncaughtException(Thread thread, Throwable unexpected) {
        // whoever started it finds out by what it no longer does
    }
}
