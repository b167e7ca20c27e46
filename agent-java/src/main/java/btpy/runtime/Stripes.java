package btpy.runtime;

import java.util.Arrays;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * Counters are spread over stripes, some for each processor, so that threads that run at the same time rarely write to
 * the same stripe. A stripe may have an owner: one thread with its own numbers there. No other thread changes them, so
 * the owner adds to them without an atomic addition. The other threads of the stripe share a second set of numbers.
 *
 * <p>Threads of the agent, virtual threads (of which there may be many for a short time), and threads inside a call that a probe makes own
 * no stripe. So an owner needs no further check of its thread.
 */
final class Stripes {
    private static final Memory MEMORY = Memory.instance();
    private static final int MOST_BITS = 6;
    /** Eight stripes for each processor, within a bound: only the owner of a stripe has the fast path. */
    private static final int BITS = Math.min(MOST_BITS, 3 + bits(Runtime.getRuntime().availableProcessors()));
    static final int COUNT = 1 << BITS;
    /** A stripe that only {@link JitWarmup} uses, to run the code of owners on an agent thread. */
    private static final int WARMUP_STRIPE = COUNT;
    private static final Object[] OWNERS = new Object[COUNT + 1];
    /** Marks an owner that is inside a call. */
    private static final Object LENT = new Object();

    private Stripes() {}

    private static int bits(int processors) {
        return 32 - Integer.numberOfLeadingZeros(processors - 1);
    }

    /** The stripe of this thread. */
    static int here() {
        return Threads.hash(Threads.id(), BITS);
    }

    /** Whether this thread owns its stripe. */
    static boolean owns(int stripe) {
        return OWNERS[stripe] == Thread.currentThread();
    }

    /** The stripe that this thread owns; −1: none. */
    @ForceInline
    static int owned() {
        return owned(here());
    }

    @ForceInline
    static int owned(int stripe) {
        return owns(stripe) ? stripe : -1;
    }

    /** Runs {@link #owned} once as the owner of a stripe and once as another thread. */
    static void warmUp() {
        OWNERS[WARMUP_STRIPE] = Thread.currentThread();
        owned(WARMUP_STRIPE);
        OWNERS[WARMUP_STRIPE] = null;
        owned(WARMUP_STRIPE);
    }

    /**
     * This thread becomes the owner of its stripe if the stripe has no owner.
     *
     * @return the stripe; −1: this thread does not own it
     */
    @DontInline
    static int claim() {
        int stripe = here();
        if (OWNERS[stripe] == null && !Threads.isVirtual() && !(Thread.currentThread() instanceof AgentThread)) {
            replace(stripe, null, Thread.currentThread());
        }
        return owns(stripe) ? stripe : -1;
    }

    /** Called before a call during which this thread must own no stripe. @return the argument for {@link #takeBack} */
    static int lend() {
        int stripe = owned();
        if (stripe >= 0) {
            replace(stripe, Thread.currentThread(), LENT);
        }
        return stripe;
    }

    static void takeBack(int stripe) {
        if (stripe >= 0) {
            replace(stripe, LENT, Thread.currentThread()); // has no effect if the last session has ended
        }
    }

    /** Frees the stripes of threads that have ended. Agent threads call this from time to time. */
    static void disown() {
        for (int stripe = 0; stripe < COUNT; stripe++) {
            Object owner = OWNERS[stripe];
            if (owner instanceof Thread && ((Thread) owner).getState() == Thread.State.TERMINATED) {
                replace(stripe, owner, null);
            }
        }
    }

    /** Called when the last session ends. */
    static void disownAll() {
        Arrays.fill(OWNERS, null);
    }

    private static void replace(int stripe, Object from, Object to) {
        MEMORY.compareAndSetReference(OWNERS, Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * stripe, from, to);
    }
}
