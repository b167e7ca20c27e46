package btpy.runtime;

/**
 * Estimates how much of the heap is free for the agent. An OutOfMemoryError in any thread ends a JVM that has {@code
 * -XX:+ExitOnOutOfMemoryError}. So the agent asks this class before it grows, and does not grow if too little is free.
 *
 * <p>The used memory includes garbage. Event threads therefore read it every few milliseconds. If it has decreased
 * since the last look, a collection has run, and the used memory is then the best bound on the live objects that is
 * available without classes of the management API.
 */
public final class Headroom {
    private static volatile long max = Runtime.getRuntime().maxMemory();

    /** The memory that always remains for the application. */
    private static final long RESERVE = Math.max(1L << 20, Math.min(4L << 20, max >> 6));

    /**
     * Maps and stacks do not grow if less than this is free, because collectors cannot give all free memory to one
     * generation.
     */
    private static final long GROWTH_RESERVE = Math.max(1L << 20, Math.min(16L << 20, max >> 3));

    /** Divisors: the part of the heap, and of its free memory, that buffers may take. */
    private static final int PART_OF_HEAP = 24;
    private static final int PART_OF_FREE = 8;
    private static final int SMALLEST_BUFFER = 128 << 10;

    /** Threads allocate in buffers of their own, so a slightly smaller use does not show a collection. */
    private static final long NOISE = 64 << 10;

    /** The used memory at the last look, and after the last observed collection. */
    private static volatile long lastUsed = used();
    private static volatile long live = lastUsed;
    private static volatile boolean scarce;
    /**
     * The bytes that maps have allocated since that collection. A thread of the application can fill a heap between two
     * looks. Threads add without a lock, so a part may be missing.
     */
    private static volatile long grownBytes;

    /** An estimate of the memory that is free, but that only a collection can fill (a survivor space). */
    private static final long HIDDEN = Math.min(max >> 5, 16L << 20);

    /**
     * The time that {@link #hasWithoutCollection} waits for the application to cause a collection, and the time between
     * two collections that it requests itself.
     */
    private static final long PATIENCE_NANOS = 300_000_000L;
    private static final long BETWEEN_COLLECTIONS_NANOS = 1_000_000_000L;
    /** The time since which {@link #hasWithoutCollection} has found too little; 0 if it found enough. */
    private static long lackingNanos;
    private static long collectedNanos = System.nanoTime() - BETWEEN_COLLECTIONS_NANOS;

    private Headroom() {}

    /**
     * Sets the bytes of the heap that only a collection fills: the used survivor space of the Serial and the Parallel
     * collector. The client reads them from outside the JVM, because reading them here would load classes of the
     * management API.
     */
    public static void exclude(long bytes) {
        max = Runtime.getRuntime().maxMemory() - bytes;
    }

    /** Reports that this number of bytes was in use a moment ago, perhaps after a collection. */
    public static void reportUse(long bytes) {
        live = Math.min(live, bytes);
    }

    /** Event threads call this from time to time. */
    public static void look() {
        long usedBytes = used();
        if (usedBytes < lastUsed - NOISE || usedBytes < live) {
            live = usedBytes;
            grownBytes = 0;
        }
        lastUsed = usedBytes;
        scarce = free() < GROWTH_RESERVE;
    }

    /** Whether the bytes can be taken while the application keeps its reserve. */
    public static boolean has(long bytes) {
        return max - used() >= RESERVE + bytes || free() >= RESERVE + bytes;
    }

    /** Waits for a collection after which {@link #has} is true. Called by threads of the agent. */
    public static boolean await(long bytes, long millis) {
        long end = System.nanoTime() + millis * 1_000_000L;
        while (!has(bytes)) {
            if (System.nanoTime() - end >= 0) {
                return false;
            }
            try {
                Thread.sleep(5);
            } catch (InterruptedException ignored) {
                // an agent thread does not use its interrupt flag
            }
            look();
        }
        return true;
    }

    /**
     * Whether the bytes are free now without collecting garbage. It serves work that must be done, such as putting
     * classes back, and is called repeatedly. If too little is free for a while, it requests a collection, at most
     * every second, because an idle program never collects by itself.
     */
    public static synchronized boolean hasWithoutCollection(long bytes) {
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

    /**
     * Whether maps and buffers should stop growing, judged by the last look and by the allocations of maps since then.
     * Called by threads of the application.
     */
    static boolean isScarce() {
        return scarce || free() < GROWTH_RESERVE;
    }

    /** Whether memory may grow by the bytes at once. Called by threads of the application. */
    static boolean hasToGrow(long bytes) {
        return free() >= GROWTH_RESERVE + bytes;
    }

    /** Reports that a map has allocated the bytes. Called by threads of the application. */
    static void reportGrowth(long bytes) {
        grownBytes += bytes;
    }

    /** The size of a buffer for which {@code requestedBytes} are requested. */
    public static int buffer(int requestedBytes) {
        long limit = Math.min(max / PART_OF_HEAP, Math.max(free(), max - used()) / PART_OF_FREE);
        return (int) Math.min(requestedBytes, Math.max(SMALLEST_BUFFER, limit));
    }

    private static long free() {
        return max - live - grownBytes;
    }

    private static long used() {
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }
}
