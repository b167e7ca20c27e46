package btpy.agent;

/**
 * The time for which the client may be silent. At first, it is the limit of the handshake.
 *
 * <p>Time in which this JVM itself was stopped (a collection, a frozen container, a debugger) does not count, because
 * messages of the client may be unread, and the checking thread may run before the reading thread.
 */
final class Lease {
    private static final int HANDSHAKE_MILLIS = 5_000;

    /**
     * The limit from the proof of the client until the client configures the session. The client may be checking a long
     * script on a busy machine, and no class is woven yet.
     */
    static final int CONNECTED_MILLIS = 60_000;

    private static final int SHORTEST_MILLIS = 1_000;

    /** The longest time that counts between two checks, which is far more than in a running JVM. */
    private static final long LONGEST_STEP_NANOS = 500_000_000L;

    private volatile long limitNanos = HANDSHAKE_MILLIS * 1_000_000L;
    private volatile long renewedNanos = System.nanoTime();

    /** Used only by the checking thread. */
    private long lastRenewedNanos = renewedNanos;
    private long checkedNanos = renewedNanos;
    private long silentNanos;

    void set(int millis) {
        limitNanos = Math.max(SHORTEST_MILLIS, millis) * 1_000_000L;
    }

    /** The time for which the client may be silent now. */
    long millis() {
        return limitNanos / 1_000_000L;
    }

    void renew() {
        renewedNanos = System.nanoTime();
    }

    /** One thread calls it many times a second. */
    boolean isOver() {
        long now = System.nanoTime();
        long newestNanos = renewedNanos;
        if (newestNanos != lastRenewedNanos) {
            lastRenewedNanos = newestNanos;
            silentNanos = 0;
        } else {
            silentNanos += Math.min(now - checkedNanos, LONGEST_STEP_NANOS);
        }
        checkedNanos = now;
        return silentNanos > limitNanos;
    }
}
