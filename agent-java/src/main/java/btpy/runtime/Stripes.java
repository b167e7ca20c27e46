package btpy.runtime;

import java.util.Arrays;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * Counters that threads add to are spread over stripes, some for each processor, so that threads that run at once rarely meet. A stripe may
 * have an owner: one thread that keeps numbers of its own there, which nobody else changes, and so adds to them without an atomic
 * addition. The others of the stripe share numbers beside those.
 *
 * <p>No owner is a thread of the agent, a virtual thread (of which there may be many for a short time), or a thread that is inside a call
 * made by a probe: who owns its stripe needs no further look at what thread it is.
 */
final class Stripes {
    private static final Memory MEMORY = Memory.instance();
    private static final int MOST_BITS = 6;
    /** Eight times as many stripes as processors, if that is not too many: only one of the threads of a stripe has the short way. */
    private static final int BITS = Math.min(MOST_BITS, 3 + bits(Runtime.getRuntime().availableProcessors()));
    static final int COUNT = 1 << BITS;
    /** Is no thread's: an agent's thread owns it while it rehearses what owners do. */
    private static final int OF_REHEARSAL = COUNT;
    private static final Object[] OWNERS = new Object[COUNT + 1];
    /** In place of an owner that is inside a call. */
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

    /** Once as the owner of a stripe and once as another thread. */
    static void rehearse() {
        OWNERS[OF_REHEARSAL] = Thread.currentThread();
        owned(OF_REHEARSAL);
        OWNERS[OF_REHEARSAL] = null;
        owned(OF_REHEARSAL);
    }

    /** This thread becomes the owner of its stripe, if that has none. @return the stripe; −1: this thread does not own it */
    @DontInline
    static int claim() {
        int stripe = here();
        if (OWNERS[stripe] == null && !Threads.isVirtual() && !(Thread.currentThread() instanceof AgentThread)) {
            replace(stripe, null, Thread.currentThread());
        }
        return owns(stripe) ? stripe : -1;
    }

    /** Before a call during which this thread is to own nothing. @return what {@link #takeBack} is to be told */
    static int lend() {
        int stripe = owned();
        if (stripe >= 0) {
            replace(stripe, Thread.currentThread(), LENT);
        }
        return stripe;
    }

    static void takeBack(int stripe) {
        if (stripe >= 0) {
            replace(stripe, LENT, Thread.currentThread()); // not when the last session ended meanwhile
        }
    }

    /** Agent threads, now and then: stripes of threads that have ended find another owner. */
    static void disown() {
        for (int stripe = 0; stripe < COUNT; stripe++) {
            Object owner = OWNERS[stripe];
            if (owner instanceof Thread && ((Thread) owner).getState() == Thread.State.TERMINATED) {
                replace(stripe, owner, null);
            }
        }
    }

    /** With the last session. */
    static void disownAll() {
        Arrays.fill(OWNERS, null);
    }

    private static void replace(int stripe, Object from, Object to) {
        MEMORY.compareAndSetReference(OWNERS, Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * stripe, from, to);
    }
}
