package btpy.runtime;

import java.util.Arrays;

/**
 * The stacks of a session in a bounded open-addressing table, one object each. The id of a stack is its index in the
 * table.
 */
final class StackTable {
    private static final Memory MEMORY = Memory.instance();
    private static final int SIZE = 8192;
    private static final int WINDOW = 64;
    /** The size in bytes at which a message is large enough. */
    private static final int AT_ONCE = 64 << 10;

    /** The number of frames that are searched for one that a filter does not skip. */
    static final int MOST_SEARCHED = 256;
    /** The number of filters that are kept. Further filters are created at each use. */
    private static final int MOST_FILTERS = 32;
    private static final int DECIDING = 30;

    // Keys of stored results. The key of a stack is its number of frames. The key of a frame consists of one of these
    // constants, a filter, and the index of the frame.
    private static final int FRAME_KEY = 1 << 30;
    private static final int EXCEPTION_KEY = 1 << 29;
    private static final int FILTER_SHIFT = 12;
    private static final int MOST_INDEX = 1 << FILTER_SHIFT;
    /** The stored result if the frame does not exist. */
    private static final Object NO_FRAME = new Object();

    private static final long FILTERS = MEMORY.fieldOffset(StackTable.class, "filters");
    private static final long STACKS = MEMORY.fieldOffset(StackTable.class, "stacks");
    private static final Object[] NONE = {};

    /** Empty until the first stack. */
    private volatile Object[] stacks = NONE;
    private final StackLookup lookup = new StackLookup();
    private volatile FrameFilter[] filters = {};
    /** Whether a stack that a record uses has not been shipped yet. */
    private volatile boolean unshipped;

    /**
     * Returns the stack of this thread without the frames of btpy at its top, at most {@code most} frames.
     *
     * @param throwable an exception that the caller created as close to the probe as possible, because the JVM walks
     * every frame in between
     */
    Stack current(Throwable throwable, int most) {
        Object[] trace = StackLookup.of(throwable);
        Object result = trace == null ? null : lookup.find(trace, most, most);
        if (result == null) {
            Frames frames = Frames.current(most);
            result = intern(frames);
            if (trace != null) {
                lookup.remember(trace, most, most, result, frames, most);
            }
        }
        return (Stack) result;
    }

    /**
     * Returns one frame as {@link Stack#text}. If {@code isHere}, it is a frame of this thread, not counting frames of
     * btpy, and {@code throwable} is that of {@link #current}; otherwise it is a frame of the exception.
     */
    String frame(Throwable throwable, boolean isHere, int index) {
        Object[] trace = isHere || Frames.isRaw(throwable) ? StackLookup.of(throwable) : null;
        int key = (isHere ? FRAME_KEY : EXCEPTION_KEY) | index;
        Object result = trace == null ? null : lookup.find(trace, key, index);
        if (result == null) {
            Frames frames = isHere ? Frames.current(index + 1) : Frames.of(throwable, index + 1);
            result = frames.text(index);
            if (trace != null && result != null) {
                lookup.remember(trace, key, index, result, isHere ? frames : null, index + 1);
            }
        }
        return (String) result;
    }

    /** Returns frame {@code index} as the method above, counting only frames that the globs do not skip. */
    String frame(Throwable throwable, boolean isHere, int index, String globs) {
        FrameFilter filter = filter(globs);
        boolean isStored = filter.number != 0 && index < MOST_INDEX && (isHere || Frames.isRaw(throwable));
        Object[] trace = isStored ? StackLookup.of(throwable) : null;
        int key = (isHere ? FRAME_KEY : EXCEPTION_KEY) | filter.number << FILTER_SHIFT | index;
        Object result = trace == null ? null : lookup.find(trace, key, DECIDING);
        if (result == null) {
            Frames frames = isHere ? Frames.current(MOST_SEARCHED, filter, index) : Frames.of(throwable, MOST_SEARCHED);
            int frame = frames.find(filter, index);
            result = frame < 0 ? NO_FRAME : frames.text(frame);
            if (trace != null) {
                lookup.remember(trace, key, DECIDING, result, isHere ? frames : null, decidingFrames(frames, frame));
            }
        }
        return result == NO_FRAME ? null : (String) result;
    }

    /**
     * Returns the first frame of a trace that the globs do not skip, or the first frame if they skip all. Returns null
     * if there is no frame.
     */
    String frame(StackTraceElement[] trace, String globs) {
        Frames frames = Frames.trace(trace, MOST_SEARCHED, false);
        int frame = frames.find(filter(globs), 0);
        return frames.text(frame < 0 ? 0 : frame);
    }

    /** The stack of the first {@code most} frames that the globs do not skip. */
    Stack without(Frames frames, String globs, int most) {
        return intern(frames.without(filter(globs), most));
    }

    /** The number of frames that determine the result: all up to the matching frame, or all frames if none matched. */
    private static int decidingFrames(Frames frames, int frame) {
        return frame >= 0 ? frame + 1 : frames.count == MOST_SEARCHED ? MOST_SEARCHED : frames.count + 1;
    }

    /** Returns the filter for these globs, which is stored unless there are too many. */
    private FrameFilter filter(String globs) {
        while (true) {
            FrameFilter[] filters = this.filters;
            for (FrameFilter filter : filters) {
                if (filter.globs == globs || filter.globs.equals(globs)) {
                    return filter;
                }
            }
            if (filters.length == MOST_FILTERS) {
                return new FrameFilter(globs, 0);
            }
            FrameFilter[] newFilters = Arrays.copyOf(filters, filters.length + 1);
            newFilters[filters.length] = new FrameFilter(globs, newFilters.length);
            MEMORY.compareAndSetReference(this, FILTERS, filters, newFilters);
        }
    }

    /** The event thread calls this from time to time. */
    void sweep(long now) {
        lookup.sweep(now);
    }

    Stack of(Throwable t, int most) {
        return intern(Frames.of(t, most));
    }

    Stack of(StackTraceElement[] trace, int most) {
        return intern(Frames.trace(trace, most, false));
    }

    /** Called for every stack that is written into a record or a map, before the record is committed. */
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
            Stack candidate = (Stack) stacks[at];
            if (candidate == null && Headroom.isScarce()) {
                break;
            }
            if (candidate == null) {
                Stack newStack = frames.toStack(at + 1, hash);
                if (MEMORY.compareAndSetReference(
                        stacks, Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * at, null, newStack)) {
                    return newStack;
                }
                candidate = (Stack) MEMORY.getReferenceVolatile(
                        stacks, Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * at);
            }
            if (candidate.hash == hash && frames.isSame(candidate)) {
                return candidate;
            }
        }
        return frames.toStack(0, hash);
    }

    /**
     * Marks every stack to be shipped again, for a client that has seen none. No other thread may take stacks at the same time.
     */
    void forgetShipped() {
        for (Object entry : stacks) {
            Stack stack = (Stack) entry;
            if (stack != null) {
                stack.shipped = false;
                unshipped = true;
            }
        }
    }

    /**
     * Called only by the event thread.
     * @return the payload of STACKS with some stacks that were not shipped before; null if all were
     */
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
