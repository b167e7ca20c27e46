package btpy.runtime;

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
     * Returns one frame of this thread, as {@link Stack#frame} does, not counting frames of btpy. {@code throwable}:
     * from {@link #current}.
     */
    String frame(Throwable throwable, int index) {
        Object[] trace = StackLookup.of(throwable);
        int key = FRAME_KEY | index;
        Object result = trace == null ? null : lookup.find(trace, key, index);
        if (result == null) {
            Frames frames = Frames.current(index + 1);
            result = frames.text(index);
            if (trace != null && result != null) {
                lookup.remember(trace, key, index, result, frames, index + 1);
            }
        }
        return (String) result;
    }

    /** Returns one frame of an exception. */
    String exceptionFrame(Throwable t, int index) {
        Object[] trace = Frames.isRaw(t) ? StackLookup.of(t) : null;
        int key = EXCEPTION_KEY | index;
        Object result = trace == null ? null : lookup.find(trace, key, index);
        if (result == null) {
            result = Frames.of(t, index + 1).text(index);
            if (trace != null && result != null) {
                lookup.remember(trace, key, index, result, null, index + 1);
            }
        }
        return (String) result;
    }

    /**
     * Returns frame {@code index} of this thread, counting only frames that the globs do not skip. {@code throwable} is
     * that of {@link #current}.
     */
    String frame(Throwable throwable, int index, String globs) {
        FrameFilter[] filters = filtersWith(globs);
        int at = indexOf(filters, globs);
        Object[] trace = at < 0 || index >= MOST_INDEX ? null : StackLookup.of(throwable);
        int key = FRAME_KEY | at + 1 << FILTER_SHIFT | index;
        Object result = trace == null ? null : lookup.find(trace, key, DECIDING);
        if (result == null) {
            FrameFilter filter = at < 0 ? new FrameFilter(globs) : filters[at];
            Frames frames = Frames.current(MOST_SEARCHED, filter, index);
            int frame = frames.find(filter, index);
            result = textOf(frames, frame);
            if (trace != null) {
                lookup.remember(trace, key, DECIDING, result, frames, decidingFrames(frames, frame));
            }
        }
        return result == NO_FRAME ? null : (String) result;
    }

    /** Returns frame {@code index} of an exception, counting only frames that the globs do not skip. */
    String exceptionFrame(Throwable t, int index, String globs) {
        FrameFilter[] filters = filtersWith(globs);
        int at = indexOf(filters, globs);
        Object[] trace = at < 0 || index >= MOST_INDEX || !Frames.isRaw(t) ? null : StackLookup.of(t);
        int key = EXCEPTION_KEY | at + 1 << FILTER_SHIFT | index;
        Object result = trace == null ? null : lookup.find(trace, key, DECIDING);
        if (result == null) {
            FrameFilter filter = at < 0 ? new FrameFilter(globs) : filters[at];
            Frames frames = Frames.of(t, MOST_SEARCHED);
            int frame = frames.find(filter, index);
            result = textOf(frames, frame);
            if (trace != null) {
                lookup.remember(trace, key, DECIDING, result, null, decidingFrames(frames, frame));
            }
        }
        return result == NO_FRAME ? null : (String) result;
    }

    /**
     * Returns the first frame of a trace that the globs do not skip, or the first frame if they skip all. Returns null
     * if there is no frame.
     */
    String frame(StackTraceElement[] trace, String globs) {
        FrameFilter[] filters = filtersWith(globs);
        int at = indexOf(filters, globs);
        Frames frames = Frames.trace(trace, MOST_SEARCHED, false);
        int frame = frames.find(at < 0 ? new FrameFilter(globs) : filters[at], 0);
        return frames.text(frame < 0 ? 0 : frame);
    }

    /** The number of frames that determine the result: all up to the matching frame, or all frames if none matched. */
    private static int decidingFrames(Frames frames, int frame) {
        return frame >= 0 ? frame + 1 : frames.count == MOST_SEARCHED ? MOST_SEARCHED : frames.count + 1;
    }

    private static Object textOf(Frames frames, int frame) {
        return frame < 0 ? NO_FRAME : frames.text(frame);
    }

    /** Returns the filters, including the one for these globs unless there are too many. */
    private FrameFilter[] filtersWith(String globs) {
        while (true) {
            FrameFilter[] filters = this.filters;
            if (indexOf(filters, globs) >= 0 || filters.length == MOST_FILTERS) {
                return filters;
            }
            FrameFilter[] newFilters = new FrameFilter[filters.length + 1];
            System.arraycopy(filters, 0, newFilters, 0, filters.length);
            newFilters[filters.length] = new FrameFilter(globs);
            if (MEMORY.compareAndSetReference(this, FILTERS, filters, newFilters)) {
                return newFilters;
            }
        }
    }

    private static int indexOf(FrameFilter[] filters, String globs) {
        for (int i = 0; i < filters.length; i++) {
            if (filters[i].globs == globs || filters[i].globs.equals(globs)) {
                return i;
            }
        }
        return -1;
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
