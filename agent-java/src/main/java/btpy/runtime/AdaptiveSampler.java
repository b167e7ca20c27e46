package btpy.runtime;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * The sampler that the budget sets on a hot probe: it lets one of {@link #factor} hits fire, at random.
 *
 * <p>It counts hits in blocks of {@link #factor} hits. One hit of each block fires, and each hit of the block is chosen
 * with the same probability. The weight of the firing is the length of its block. So on average the weights count each
 * hit once, including the hits of a block that is never completed, and any sum of weights is an unbiased estimate
 * (stratified sampling with one hit per stratum).
 *
 * <p>If a skipped hit costs less, more of the budget remains for hits that fire. So the owner of a stripe ({@link
 * Stripes}) decreases its own number, without an atomic addition.
 */
final class AdaptiveSampler {
    static final int MAX_FACTOR = 1 << 14;

    private static final Memory MEMORY = Memory.instance();
    // The indices of the numbers of a stripe. The numbers of its owner are followed by the numbers of the threads that
    // share it.
    /** The hits until one fires; 0 or less while the firing thread opens the next block. */
    private static final int COUNTDOWN = 0;
    /** The total number of hits when COUNTDOWN will be 0. */
    private static final int END = 1;
    /** The number of hits in the block after the hit that fires. */
    private static final int REST = 2;
    private static final int BLOCK = 3;
    private static final int CHOSEN = 4;
    /** The total number of hits when a thread last began to open a block. */
    private static final int BEGAN = 5;
    private static final int SHARED = 8;
    private static final int STRIDE = 16;
    /** The number of retries of a reader while a block is being opened. */
    private static final int READS = 1000;

    /** The length of new blocks. */
    volatile int factor;
    /** Whether a firing thread has raised the factor since the last look of the event thread. */
    volatile boolean isRaised;
    private final long seed = Keys.mix64(System.nanoTime());
    private final long[] numbers = new long[STRIDE + STRIDE * Stripes.COUNT];

    AdaptiveSampler(int factor, boolean isRaised) {
        this.factor = factor;
        this.isRaised = isRaised;
        for (int at = STRIDE; at < numbers.length; at += SHARED) {
            long position = draw(at, factor);
            numbers[at + COUNTDOWN] = numbers[at + END] = position;
            numbers[at + REST] = factor - position;
            numbers[at + BLOCK] = factor;
        }
    }

    private static long offset(int at) {
        return Memory.LONG_BASE + 8L * at;
    }

    /** Called on a firing thread. Doubles the length of new blocks. */
    void raise() {
        int oldFactor = factor;
        if (oldFactor < MAX_FACTOR) {
            factor = 2 * oldFactor;
            isRaised = true;
        }
    }

    /** @return the weight of this hit; 0 if it does not fire */
    @ForceInline
    int choose() {
        return choose(Stripes.owned());
    }

    /**
     * Like {@link #choose()}, for a thread whose stripe is known; {@code stripe} is below 0 if the thread owns none.
     */
    @ForceInline
    int choose(int stripe) {
        if (stripe < 0) {
            return chooseAmongMany();
        }
        int at = STRIDE + STRIDE * stripe;
        long remaining = MEMORY.getLong(numbers, offset(at)) - 1;
        MEMORY.putLongRelease(numbers, offset(at), remaining);
        return remaining == 0 ? openBlock(at) : 0;
    }

    /**
     * Counts a hit of a stripe with an owner, and returns true if it does not fire. A hit that must fire is not counted
     * here, because {@link #choose(int)} counts it.
     */
    @ForceInline
    boolean leavesOut(int stripe) {
        long offset = offset(STRIDE + STRIDE * stripe);
        long remaining = MEMORY.getLong(numbers, offset) - 1;
        if (remaining > 0) {
            MEMORY.putLongRelease(numbers, offset, remaining);
        }
        return remaining > 0;
    }

    @DontInline
    private int chooseAmongMany() {
        int at = STRIDE + STRIDE * Stripes.here() + SHARED;
        return MEMORY.getAndAddLong(numbers, offset(at), -1) == 1 ? openBlock(at) : 0;
    }

    /**
     * Opens the next block. Only one thread at a time does so for each stripe, because the addition to COUNTDOWN comes
     * last. By then, hits of other threads may have passed the end of the new block. In this case no hit of the new
     * block can fire, so this firing also represents these hits.
     */
    @DontInline
    private int openBlock(int at) {
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

    /** Returns a uniform number in 1 … block. */
    private long draw(int at, int block) {
        long bits = Keys.mix64(seed + numbers[at + END] + at * 0x9E3779B97F4A7C15L) >>> 11;
        return 1 + (long) (bits * 0x1p-53 * block);
    }

    /**
     * The hits so far that did not fire. The number may miss some of the last hits while threads are in handlers, but
     * never counts too many.
     */
    long skippedHits() {
        long skippedHits = 0;
        for (int at = STRIDE; at < numbers.length; at += SHARED) {
            skippedHits += skippedHits(at);
        }
        return skippedHits;
    }

    private long skippedHits(int at) {
        for (int i = 0; i < READS; i++) {
            long end = MEMORY.getLongVolatile(numbers, offset(at + END));
            long remaining = MEMORY.getLongVolatile(numbers, offset(at));
            long chosen = MEMORY.getLongVolatile(numbers, offset(at + CHOSEN));
            if (remaining > 0 && MEMORY.getLongVolatile(numbers, offset(at + END)) == end) {
                return end - remaining - chosen;
            }
        }
        // The scheduler has stopped the thread that opens the block.
        return MEMORY.getLongVolatile(numbers, offset(at + BEGAN)) - MEMORY.getLongVolatile(numbers, offset(at + CHOSEN));
    }
}
