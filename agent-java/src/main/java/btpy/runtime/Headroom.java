package btpy.runtime;

/**
 * How much of the heap is free for the agent. An OutOfMemoryError in any thread ends a JVM that has
 * {@code -XX:+ExitOnOutOfMemoryError}, so the agent asks here before it grows, and does without where there is too little.
 *
 * <p>What is in use holds garbage. Event threads therefore look every few milliseconds: where less is in use than at the look before,
 * a collection has run, and what it left is the best bound on the live objects that can be had without classes of the management
 * API.
 */
public final class Headroom {
    private static volatile long max = Runtime.getRuntime().maxMemory();

    /** Less than this is left to the application. */
    private static final long RESERVE = Math.max(1L << 20, Math.min(4L << 20, max >> 6));

    /** Maps and stacks do not grow where less than this is left: collectors cannot give all that is free to one generation. */
    private static final long GROWTH_RESERVE = Math.max(1L << 20, Math.min(16L << 20, max >> 3));

    /** A part of the heap that buffers may take, and of what is free in it. */
    private static final int PART_OF_HEAP = 24;
    private static final int PART_OF_FREE = 8;
    private static final int SMALLEST_BUFFER = 128 << 10;

    /** Threads allocate in buffers of their own: a little less in use is no collection. */
    private static final long NOISE = 64 << 10;

    /** In use at the last look, and after the last collection that was seen. */
    private static volatile long last = used();
    private static volatile long live = last;
    private static volatile boolean scarce;
    /**
     * What maps have allocated since that collection. A thread of the application can fill a heap between two looks. Threads add
     * without a lock, so a part may be missing.
     */
    private static volatile long grown;

    /** What only a collection can fill, and counts as free (a survivor space), where nobody has told how much that is. */
    private static final long HIDDEN = Math.min(max >> 5, 16L << 20);

    /** How long {@link #hasJust} waits for the application to cause a collection, and between two that it asks for itself. */
    private static final long PATIENCE_NANOS = 300_000_000L;
    private static final long BETWEEN_COLLECTIONS_NANOS = 1_000_000_000L;
    /** Since when {@link #hasJust} finds too little; 0: it found enough. */
    private static long lackingNanos;
    private static long collectedNanos = System.nanoTime() - BETWEEN_COLLECTIONS_NANOS;

    private Headroom() {}

    /**
     * Bytes of the heap that only a collection fills: the survivor space of the Serial and the Parallel collector that is in use. The JVM
     * tells them from outside; classes of the management API would have to be loaded to know them here.
     */
    public static void exclude(long bytes) {
        max = Runtime.getRuntime().maxMemory() - bytes;
    }

    /** So many bytes were in use a moment ago, maybe after a collection. */
    public static void collected(long bytes) {
        live = Math.min(live, bytes);
    }

    /** By event threads, now and then. */
    public static void look() {
        long now = used();
        if (now < last - NOISE || now < live) {
            live = now;
            grown = 0;
        }
        last = now;
        scarce = free() < GROWTH_RESERVE;
    }

    /** Whether so many bytes can be taken, and the application keeps what it needs. */
    public static boolean has(long bytes) {
        return max - used() >= RESERVE + bytes || free() >= RESERVE + bytes;
    }

    /** The same after a collection, for which it waits. By threads of the agent. */
    public static boolean awaits(long bytes, long millis) {
        long end = System.nanoTime() + millis * 1_000_000L;
        while (!has(bytes)) {
            if (System.nanoTime() - end >= 0) {
                return false;
            }
            try {
                Thread.sleep(5);
            } catch (InterruptedException nobodysBusiness) {
                // an agent thread has no use for its interrupt flag
            }
            look();
        }
        return true;
    }

    /**
     * Whether so many bytes are free now, garbage not counted. For what must be done, such as putting classes back, and is asked for
     * again and again: where there is too little for a while, it has the JVM collect, at most every second, because a program that
     * stands still never does by itself.
     */
    public static synchronized boolean hasJust(long bytes) {
        if (max - used() >= bytes + HIDDEN) {
            lackingNanos = 0;
            return true;
        }
        long now = System.nanoTime();
        if (lackingNanos == 0) {
            lackingNanos = now | 1;
        }
        if (now - lackingNanos < PATIENCE_NANOS || now - collectedNanos < BETWEEN_COLLECTIONS_NANOS) {
            return false;
        }
        collectedNanos = now;
        System.gc();
        look();
        return max - used() >= bytes + HIDDEN;
    }

    /** Whether nothing should grow any more: as of the last look, and by what maps have allocated since. For threads of the application. */
    static boolean isScarce() {
        return scarce || free() < GROWTH_RESERVE;
    }

    /** Whether something may grow by so many bytes at once. By threads of the application. */
    static boolean hasToGrow(long bytes) {
        return free() >= GROWTH_RESERVE + bytes;
    }

    /** A map has allocated so many bytes, which it keeps. By threads of the application. */
    static void grew(long bytes) {
        grown += bytes;
    }

    /** Bytes for a buffer for which {@code wanted} are asked for. */
    public static int buffer(int wanted) {
        long most = Math.min(max / PART_OF_HEAP, Math.max(free(), max - used()) / PART_OF_FREE);
        return (int) Math.min(wanted, Math.max(SMALLEST_BUFFER, most));
    }

    private static long free() {
        return max - live - grown;
    }

    private static long used() {
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }
}
