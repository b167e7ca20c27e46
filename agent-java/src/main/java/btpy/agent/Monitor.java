package btpy.agent;

/** An object on which threads of the agent wait. The caller of each method holds its monitor. */
abstract class Monitor {
    /** Waits for a notification, at most {@code millis}; 0: without limit. */
    final void pause(long millis) {
        try {
            wait(millis);
        } catch (InterruptedException ignored) {
            // an agent thread has no use for its interrupt flag
        }
    }

    /** Waits for a notification until a time of {@code System.nanoTime}. Returns false if this time is over. */
    final boolean pauseUntil(long deadline) {
        long remaining = (deadline - System.nanoTime()) / 1_000_000L;
        if (remaining > 0) {
            pause(remaining);
        }
        return remaining > 0;
    }
}
