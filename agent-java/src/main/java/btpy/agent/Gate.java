package btpy.agent;

/** Threads of the application wait here for the client, at most for a given time. Once open, it stays open. */
final class Gate {
    /** Milliseconds for a wait without limit. */
    static final long FOREVER = 1L << 40;

    private boolean open;

    synchronized void open() {
        open = true;
        notifyAll();
    }

    /**
     * Waits until it is open, at most {@code millis}. Returns whether it is open. The thread may belong to the
     * application, so an interrupt is remembered and set again afterwards.
     */
    boolean await(long millis) {
        long deadline = System.nanoTime() + millis * 1_000_000L;
        boolean interrupted = false;
        try {
            synchronized (this) {
                while (!open) {
                    long remaining = (deadline - System.nanoTime() + 999_999L) / 1_000_000L;
                    if (remaining <= 0) {
                        return false;
                    }
                    try {
                        wait(remaining);
                    } catch (InterruptedException interruption) {
                        interrupted = true;
                    }
                }
                return true;
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
