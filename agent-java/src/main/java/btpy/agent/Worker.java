package btpy.agent;

/** The work of one thread of the agent. Other threads wake the thread, wait for it, and end its work. */
abstract class Worker implements Runnable {
    /** Whether the work is to end. Read with the monitor. */
    boolean closed;

    synchronized void close() {
        closed = true;
        notifyAll();
    }

    /** Waits for a notification, at most {@code millis}; 0: without limit. Called with the monitor. */
    final void pause(long millis) {
        try {
            wait(millis);
        } catch (InterruptedException ignored) {
            // an agent thread has no use for its interrupt flag
        }
    }

    /**
     * Waits for a notification until a time of {@code System.nanoTime}. Returns false if this time is over. Called with
     * the monitor.
     */
    final boolean pauseUntil(long deadline) {
        long remaining = (deadline - System.nanoTime()) / 1_000_000L;
        if (remaining > 0) {
            pause(remaining);
        }
        return remaining > 0;
    }
}
