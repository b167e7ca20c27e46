package btpy.runtime;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * The sampler that the budget puts into a hot probe: it lets one of {@link #factor} hits fire, at random.
 *
 * <p>It counts hits in blocks of {@link #factor} hits. One hit of each block fires; each hit of the block is the one with the same
 * probability. The firing has the length of its block as its weight. So on average its weight represents each hit, also the hits of a
 * block that is never finished, and any sum of weights is an unbiased estimate (stratified sampling with one hit a stratum).
 *
 * <p>The less a skipped hit costs, the more of the budget is left for hits that fire. So the owner of a stripe ({@link Stripes}) counts
 * down a number of its own, without an atomic addition.
 */
final class AdaptiveSampler {
    static final int MOST = 1 << 14;

    private static final Memory MEMORY = Memory.instance();
    // Numbers of a stripe: first those of its owner, then those of the threads that share it.
    /** Hits until one fires; 0 or less while the firing thread opens the next block. */
    private static final int LEFT = 0;
    /** The number of hits in all when LEFT will be 0. */
    private static final int END = 1;
    /** Hits of the block after the one that fires. */
    private static final int REST = 2;
    private static final int BLOCK = 3;
    private static final int CHOSEN = 4;
    /** The number of hits in all when a thread last began to open a block. */
    private static final int BEGAN = 5;
    private static final int SHARED = 8;
    private static final int STRIDE = 16;
    /** How often a reader looks again while a block is being opened. */
    private static final int READS = 1000;

    /** The length of the blocks that are opened from now on. */
    volatile int factor;
    /** A firing thread has raised the factor, and the event thread has not looked since. */
    volatile boolean isRaised;
    private final long seed = Keys.mix64(System.nanoTime());
    private final long[] numbers = new long[STRIDE + STRIDE * Stripes.COUNT];

    AdaptiveSampler(int factor, boolean isRaised) {
        this.factor = factor;
        this.isRaised = isRaised;
        for (int at = STRIDE; at < numbers.length; at += SHARED) {
            long position = draw(at, factor);
            numbers[at + LEFT] = numbers[at + END] = position;
            numbers[at + REST] = factor - position;
            numbers[at + BLOCK] = factor;
        }
    }

    private static long offset(int at) {
        return Memory.LONG_BASE + 8L * at;
    }

    /** Called on a firing thread: doubles the length of the blocks that are opened from now on. */
    void raise() {
        int now = factor;
        if (now < MOST) {
            factor = 2 * now;
            isRaised = true;
        }
    }

    /** @return the weight of this hit, 0: it does not fire */
    @ForceInline
    int choose() {
        return choose(Stripes.owned());
    }

    /** The same for a thread that owns the stripe; below 0: it owns none. */
    @ForceInline
    int choose(int stripe) {
        if (stripe < 0) {
            return chooseAmongMany();
        }
        int at = STRIDE + STRIDE * stripe;
        long left = MEMORY.getLong(numbers, offset(at)) - 1;
        MEMORY.putLongRelease(numbers, offset(at), left);
        return left == 0 ? chosen(at) : 0;
    }

    /** As {@link #choose(int)} for an owner, but a hit that has to fire changes nothing: {@link #choose} will choose it. */
    @ForceInline
    boolean leavesOut(int stripe) {
        long offset = offset(STRIDE + STRIDE * stripe);
        long left = MEMORY.getLong(numbers, offset) - 1;
        if (left > 0) {
            MEMORY.putLongRelease(numbers, offset, left);
        }
        return left > 0;
    }

    @DontInline
    private int chooseAmongMany() {
        int at = STRIDE + STRIDE * Stripes.here() + SHARED;
        return MEMORY.getAndAddLong(numbers, offset(at), -1) == 1 ? chosen(at) : 0;
    }

    /**
     * Opens the next block. One thread at a time does so for each stripe, because the addition to LEFT comes last. Hits of other threads
     * may have passed the end of the new block by then. None of its hits can fire any more, so this firing stands for them, too.
     */
    @DontInline
    private int chosen(int at) {
        long weight = numbers[at + BLOCK];
        numbers[at + CHOSEN]++;
        MEMORY.putLongRelease(numbers, offset(at + BEGAN), numbers[at + END]);
        while (true) {
            int block = factor;
            long position = draw(at, block);
            long next = numbers[at + REST] + position;
            numbers[at + REST] = block - position;
            numbers[at + BLOCK] = block;
            MEMORY.putLongRelease(numbers, offset(at + END), numbers[at + END] + next);
            if (MEMORY.getAndAddLong(numbers, offset(at), next) + next > 0) {
                return (int) (weight < Probe.MOST_WEIGHT ? weight : Probe.MOST_WEIGHT);
            }
            weight += block;
        }
    }

    /** Uniform in 1 … block. */
    private long draw(int at, int block) {
        long bits = Keys.mix64(seed + numbers[at + END] + at * 0x9E3779B97F4A7C15L) >>> 11;
        return 1 + (long) (bits * 0x1p-53 * block);
    }

    /** Hits so far that did not fire. While threads are in handlers it may miss some of the last ones; it never counts too many. */
    long leftOut() {
        long leftOut = 0;
        for (int at = STRIDE; at < numbers.length; at += SHARED) {
            leftOut += leftOut(at);
        }
        return leftOut;
    }

    private long leftOut(int at) {
        for (int i = 0; i < READS; i++) {
            long end = MEMORY.getLongVolatile(numbers, offset(at + END));
            long left = MEMORY.getLongVolatile(numbers, offset(at));
            long chosen = MEMORY.getLongVolatile(numbers, offset(at + CHOSEN));
            if (left > 0 && MEMORY.getLongVolatile(numbers, offset(at + END)) == end) {
                return end - left - chosen;
            }
        }
        // The scheduler has stopped the thread that opens the block.
        return MEMORY.getLongVolatile(numbers, offset(at + BEGAN)) - MEMORY.getLongVolatile(numbers, offset(at + CHOSEN));
    }
}
