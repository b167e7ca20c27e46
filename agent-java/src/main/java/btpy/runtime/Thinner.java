package btpy.runtime;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * Lets one hit of a probe in so many fire, at random, because of the budget: of hits that come in turns (two keys, say) each n-th would
 * always be the same. The hit that fires carries a weight, as with {@link Sampler}.
 *
 * <p>What a hit takes that does not fire decides how much of the budget is left for those that do: the owner of a stripe ({@link Stripes})
 * counts down a number of its own, which takes no atomic addition.
 */
final class Thinner {
    private static final Memory MEMORY = Memory.instance();
    // Numbers of a stripe: those of its owner, then those of the threads that share it.
    private static final int LEFT = 0;
    private static final int GAP = 1;
    private static final int ENDED = 2;
    private static final int CHOSEN = 3;
    /** Hits before the gap that the hit at its end stands for as well. */
    private static final int CARRIED = 4;
    private static final int SHARED = 8;
    private static final int STRIDE = 16;

    /** How many hits one that fires stands for on average. */
    final int factor;
    /** Put in by a thread that fired; what is to be has not been decided yet. */
    final boolean isStopgap;
    private final long[] numbers = new long[STRIDE + STRIDE * Stripes.COUNT];

    static Thinner stopgap(int factor) {
        return new Thinner(factor, null, true);
    }

    /** Hits of the unfinished gaps of the one before, which may be null, count with the first ones that are chosen. */
    static Thinner after(Thinner before, int factor) {
        return new Thinner(factor, before, false);
    }

    private Thinner(int factor, Thinner before, boolean isStopgap) {
        this.factor = factor;
        this.isStopgap = isStopgap;
        for (int at = STRIDE; at < numbers.length; at += SHARED) {
            numbers[at + GAP] = numbers[at + LEFT] = draw(at);
            numbers[at + CARRIED] = before == null ? 0 : before.numbers[at + CARRIED] + before.unfinished(at);
        }
    }

    private static long offset(int at) {
        return Memory.LONG_BASE + 8L * at;
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

    /** One thread at a time for each of the numbers: the next gap opens with the last statement that writes. */
    @DontInline
    private int chosen(int at) {
        long weight = numbers[at + GAP] + numbers[at + CARRIED];
        numbers[at + ENDED] += numbers[at + GAP];
        numbers[at + CARRIED] = 0;
        numbers[at + CHOSEN]++;
        long next = draw(at);
        numbers[at + GAP] = next;
        MEMORY.getAndAddLong(numbers, offset(at), next);
        return (int) (weight < Probe.MOST_WEIGHT ? weight : Probe.MOST_WEIGHT);
    }

    /** Uniform in 1 … 2 factor − 1. */
    private long draw(int at) {
        long bits = Keys.mix64(numbers[at + ENDED] + at * 0x9E3779B97F4A7C15L) >>> 11;
        return 1 + (long) (bits * 0x1p-53 * (2L * factor - 1));
    }

    private long unfinished(int at) {
        return numbers[at + GAP] - MEMORY.getLongVolatile(numbers, offset(at));
    }

    /** Hits so far that did not fire; exact when no thread is in a handler. */
    long leftOut() {
        long leftOut = 0;
        for (int at = STRIDE; at < numbers.length; at += SHARED) {
            leftOut += numbers[at + ENDED] + unfinished(at) - numbers[at + CHOSEN];
        }
        return leftOut;
    }
}
