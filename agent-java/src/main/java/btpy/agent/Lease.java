package btpy.agent;

/**
 * How long the client may be silent. Until it is configured: the limit of the handshake.
 *
 * <p>Time in which this JVM itself stood still (a collection, a frozen container, a debugger) is not silence: what the client said in it is
 * still to be read, and the thread that looks may well come before the one that reads.
 */
final class Lease {
    private static final int HANDSHAKE_MILLIS = 5_000;
    private static final int SHORTEST_MILLIS = 1_000;

    /** What counts, at most, from one look to the next: far more than there is between two looks in a JVM that runs. */
    private static final long LONGEST_STEP_NANOS = 500_000_000L;

    private volatile long limitNanos = HANDSHAKE_MILLIS * 1_000_000L;
    private volatile long heardNanos = System.nanoTime();

    /** The thread's that looks. */
    private long lastHeardNanos = heardNanos;
    private long lookedNanos = heardNanos;
    private long silentNanos;

    void set(int millis) {
        limitNanos = Math.max(SHORTEST_MILLIS, millis) * 1_000_000L;
    }

    void heard() {
        heardNanos = System.nanoTime();
    }

    /** To be asked many times a second, by one thread. */
    boolean isOver() {
        long now = System.nanoTime();
        long heard = heardNanos;
        if (heard != lastHeardNanos) {
            lastHeardNanos = heard;
            silentNanos = 0;
        } else {
            silentNanos += Math.min(now - lookedNanos, LONGEST_STEP_NANOS);
        }
        lookedNanos = now;
        return silentNanos > limitNanos;
    }
}
