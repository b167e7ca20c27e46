package btpy.agent;

/** Threads of the application wait here for the client, at most for a given time. Once open, it stays open. */
final class Gate {
    private boolean open;

    synchronized void open() {
        open = true;
        notifyAll();
    }

    /** Waits until it is open, at most {@code millis}; preserves the interrupt flag of the waiting thread. */
    void await(long millis) {
        long deadline = System.nanoTime() + millis * 1_000_000L;
        boolean interrupted = false;
        synchronized (this) {
            while (!open) {
                long remaining = (deadline - System.nanoTime()) / 1_000_000L;
                if (remaining <= 0) {
                    break;
                }
                try {
                    wait(remaining);
                } catch (InterruptedException interruption) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
