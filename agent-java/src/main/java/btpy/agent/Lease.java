package btpy.agent;

/** How long the client may be silent. Until it is configured: the limit of the handshake. */
final class Lease {
    private static final int HANDSHAKE_MILLIS = 5_000;
    private static final int SHORTEST_MILLIS = 1_000;

    private volatile long limitNanos = HANDSHAKE_MILLIS * 1_000_000L;
    private volatile long heardNanos = System.nanoTime();

    void set(int millis) {
        limitNanos = Math.max(SHORTEST_MILLIS, millis) * 1_000_000L;
    }

    void heard() {
        heardNanos = System.nanoTime();
    }

    boolean isOver() {
        return System.nanoTime() - heardNanos > limitNanos;
    }
}
