package btpy.runtime;

/** The stacks of a session, one object each, in a bounded open-addressing table; the place in the table is the id. */
final class StackTable {
    private static final Memory MEMORY = Memory.instance();
    private static final int SIZE = 8192;
    private static final int WINDOW = 64;
    /** Bytes with which a message is large enough. */
    private static final int AT_ONCE = 64 << 10;

    private static final long STACKS = MEMORY.fieldOffset(StackTable.class, "stacks");
    private static final Object[] NONE = {};

    /** Empty until there is one. */
    private volatile Object[] stacks = NONE;
    private final Traces traces = new Traces();
    /** Some stack that was used in a record is not shipped yet. */
    private volatile boolean unshipped;

    /**
     * The stack of this thread without the frames of btpy at its top, at most {@code most} frames.
     *
     * @param here made by the caller, as near to the probe as can be: the JVM walks every frame between
     */
    Stack current(Throwable here, int most) {
        Object[] trace = Traces.of(here);
        Object found = trace == null ? null : traces.find(trace, most);
        if (found == null) {
            Frames walked = Frames.current(most);
            found = intern(walked);
            if (trace != null) {
                traces.remember(trace, most, found, walked, most);
            }
        }
        return (Stack) found;
    }

    /** One frame of this thread as {@link Stack#frame}; of btpy's own none counts. {@code here}: as of {@link #current}. */
    String frame(Throwable here, int index) {
        Object[] trace = Traces.of(here);
        Object found = trace == null ? null : traces.find(trace, ~index);
        if (found == null) {
            Frames walked = Frames.current(index + 1);
            found = walked.toStack(0, 0).frame(index);
            if (trace != null && found != null) {
                traces.remember(trace, ~index, found, walked, index + 1);
            }
        }
        return (String) found;
    }

    /** Event thread only, now and then. */
    void sweep(long now) {
        traces.sweep(now);
    }

    Stack of(Throwable t, int most) {
        return intern(Frames.of(t, most));
    }

    Stack of(StackTraceElement[] trace, int most) {
        return intern(Frames.trace(trace, most, false));
    }

    /** Called for every stack written into a record or a map, before the record is committed. */
    void use(Stack stack) {
        if (!stack.shipped && stack.id != 0) {
            unshipped = true;
        }
    }

    Stack intern(Frames frames) {
        int hash = frames.hash();
        Object[] stacks = this.stacks;
        if (stacks == NONE) {
            MEMORY.compareAndSetReference(this, STACKS, NONE, new Object[SIZE]);
            stacks = this.stacks;
        }
        for (int i = 0; i < WINDOW; i++) {
            int at = hash + i & SIZE - 1;
            Stack known = (Stack) stacks[at];
            if (known == null && Headroom.isScarce()) {
                break;
            }
            if (known == null) {
                Stack made = frames.toStack(at + 1, hash);
                if (MEMORY.compareAndSetReference(
                        stacks, Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * at, null, made)) {
                    return made;
                }
                known = (Stack) MEMORY.getReferenceVolatile(
                        stacks, Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * at);
            }
            if (known.hash == hash && frames.same(known)) {
                return known;
            }
        }
        return frames.toStack(0, hash);
    }

    /** Every stack is shipped again, for a client that has seen none. While nothing is taken. */
    void forgetShipped() {
        for (Object entry : stacks) {
            Stack stack = (Stack) entry;
            if (stack != null) {
                stack.shipped = false;
                unshipped = true;
            }
        }
    }

    /** Drain thread only. @return the payload of STACKS with some that were not shipped before; null: all were */
    byte[] take() {
        if (!unshipped) {
            return null;
        }
        unshipped = false;
        Output out = new Output();
        int countAt = out.skip4();
        int count = 0;
        for (Object entry : stacks) {
            Stack stack = (Stack) entry;
            if (stack != null && !stack.shipped) {
                if (out.count() >= AT_ONCE) {
                    unshipped = true;
                    break;
                }
                stack.shipped = true;
                count++;
                out.u4(stack.id);
                out.u4(stack.classes.length);
                for (int i = 0; i < stack.classes.length; i++) {
                    out.string(stack.classes[i]);
                    out.string(stack.methods[i]);
                    out.u4(stack.lines[i]);
                }
            }
        }
        out.set4(countAt, count);
        return count == 0 ? null : out.toBytes();
    }
}
