package btpy.runtime;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * Lets one hit of a probe in so many fire, at random, because of the budget.
 *
 * <p>Hits are counted in blocks of {@link #factor} hits. One hit of each block fires: each hit of the block is the one with the same
 * probability. It carries the length of its block as its weight. So each hit is represented by its weight on average, also a hit of a
 * block that is never finished, and any sum of weights is an unbiased estimate (stratified sampling with one hit a stratum).
 *
 * <p>What a hit takes that does not fire decides how much of the budget is left for those that do: the owner of a stripe ({@link Stripes})
 * counts down a number of its own, which takes no atomic addition.
 */
final class Thinner {
    static final int MOST = 1 << 14;

    private static final Memory MEMORY = Memory.instance();
    // Numbers of a stripe: those of its owner, then those of the threads that share it.
    /** Hits until one fires; 0 or less while the thread that fires opens the next block. */
    private static final int LEFT = 0;
    /** How many hits there will have been when LEFT is 0. */
    private static final int END = 1;
    /** Hits of the block after the one that fires. */
    private static final int REST = 2;
    private static final int BLOCK = 3;
    private static final int CHOSEN = 4;
    /** How many hits there had been when the opening of a block began last. */
    private static final int BEGAN = 5;
    private static final int SHARED = 8;
    private static final int STRIDE = 16;
    /** How often a reader looks again while a block is being opened. */
    private static final int READS = 1000;

    /** The length of the blocks that are opened from now on. */
    volatile int factor;
    /** A thread that fired raised the factor, and the event thread has not looked since. */
    volatile boolean isRaised;
    private final long seed = Keys.mix64(System.nanoTime());
    private final long[] numbers = new long[STRIDE + STRIDE * Stripes.COUNT];

    Thinner(int factor, boolean isRaised) {
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

    /** On a thread that fires: the blocks after those that are open are twice as long. */
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

    /** The same of a hit of the thread that owns the stripe; below 0: it owns none. */
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

    /** As {@link #choose(int)} of an owner, but where the hit is to fire nothing is done: it will be chosen. */
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
     * One thread at a time for each of the numbers: the next block opens with the addition to LEFT, which comes last. Hits of other threads
     * may have passed the end of that block by then. No hit of it can fire any more, so this one stands for it as well.
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

    /** Hits so far that did not fire. While threads are in handlers it may miss some of the last ones, and never counts too many. */
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
        // The thread that opens the block has lost the processor.
        return MEMORY.getLongVolatile(numbers, offset(at + BEGAN)) - MEMORY.getLongVolatile(numbers, offset(at + CHOSEN));
    }
}
