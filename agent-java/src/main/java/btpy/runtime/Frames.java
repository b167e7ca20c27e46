package btpy.runtime;

import java.lang.reflect.Method;
import java.util.Arrays;

/** The frames of a stack before it is stored in the table. */
class Frames {
    private static final Memory MEMORY = Memory.instance();
    private static final long BACKTRACE = MEMORY.fieldOffset(Throwable.class, "backtrace");
    private static final long DEPTH = MEMORY.fieldOffset(Throwable.class, "depth");
    private static final long TRACE = MEMORY.fieldOffset(Throwable.class, "stackTrace");
    private static final boolean WALKER = hasWalker();

    final int most;
    final String[] classes;
    final String[] methods;
    final int[] positions;
    int count;

    Frames(int most) {
        this.most = most;
        this.classes = new String[most];
        this.methods = new String[most];
        this.positions = new int[most];
    }

    private static boolean hasWalker() {
        try {
            Class.forName("java.lang.StackWalker", false, null);
            return true;
        } catch (ClassNotFoundException jdk8) {
            return false;
        }
    }

    static Frames current(int most) {
        return current(most, null, 0);
    }

    /**
     * Reads the frames of this thread. With a filter, counts only frames that the filter does not skip, up to frame {@code index}.
     */
    static Frames current(int most, FrameFilter filter, int index) {
        if (WALKER) {
            return WalkedFrames.walk(most, filter, index);
        }
        return trace(new Throwable().getStackTrace(), most, true);
    }

    /**
     * Reads the trace of {@code t} without calling it, because its class may override {@code getStackTrace}, which also
     * takes the monitor of {@code t}.
     */
    static Frames of(Throwable t, int most) {
        if (BACKTRACE < 0 || TRACE < 0) {
            return trace(callGetStackTrace(t), most, false);
        }
        StackTraceElement[] trace = copy(t).getStackTrace();
        if (trace.length == 0) { // another thread may have been unpacking the trace
            trace = copy(t).getStackTrace();
        }
        return trace(trace, most, false);
    }

    /** A Throwable of the agent with the raw trace of another Throwable. */
    private static final class Copy extends Throwable {
        private static final long serialVersionUID = 1L;

        @Override
        public Throwable fillInStackTrace() {
            return this;
        }
    }

    /** Whether the trace of {@code t} is as the JVM created it, neither unpacked nor replaced. */
    static boolean isRaw(Throwable t) {
        Object trace = TRACE < 0 ? null : MEMORY.getReference(t, TRACE);
        return trace instanceof StackTraceElement[] && ((StackTraceElement[]) trace).length == 0;
    }

    private static Throwable copy(Throwable t) {
        Throwable copy = new Copy();
        MEMORY.putReference(copy, TRACE, MEMORY.getReference(t, TRACE));
        if (DEPTH >= 0) {
            MEMORY.putInt(copy, DEPTH, MEMORY.getInt(t, DEPTH));
        }
        MEMORY.putReference(copy, BACKTRACE, MEMORY.getReference(t, BACKTRACE));
        return copy;
    }

    /** For JDK 8, in which the raw trace cannot be found. */
    private static StackTraceElement[] callGetStackTrace(Throwable t) {
        try {
            Method method = t.getClass().getMethod("getStackTrace");
            return method.getDeclaringClass() == Throwable.class ? t.getStackTrace() : new StackTraceElement[0];
        } catch (NoSuchMethodException impossible) {
            return new StackTraceElement[0];
        }
    }

    static Frames trace(StackTraceElement[] trace, int most, boolean cutOwn) {
        int first = 0;
        while (cutOwn && first < trace.length && isOwn(trace[first].getClassName())) {
            first++;
        }
        int count = trace.length - first < most ? trace.length - first : most;
        Frames frames = new Frames(count);
        for (int i = 0; i < count; i++) {
            StackTraceElement element = trace[first + i];
            frames.add(element.getClassName(), element.getMethodName(), ~Math.max(element.getLineNumber(), 0));
        }
        return frames;
    }

    static boolean isOwn(String className) {
        return className.startsWith("btpy.runtime.") || className.startsWith("btpy.handlers.");
    }

    final void add(String className, String method, int position) {
        classes[count] = className;
        methods[count] = method;
        positions[count++] = position;
    }

    /** Whether the last frame is in that class, at that bytecode index. */
    final boolean endWith(String className, int position) {
        return count > 0 && positions[count - 1] == position && classes[count - 1].equals(className);
    }

    /** Keeps the first {@code most} frames that the filter does not skip. Changes and returns this object. */
    final Frames without(FrameFilter filter, int most) {
        int keptCount = 0;
        for (int i = 0; i < count && keptCount < most; i++) {
            if (!filter.skips(classes[i])) {
                keep(i, keptCount++);
            }
        }
        count = keptCount;
        return this;
    }

    /** The position of frame {@code index}, counting only frames that the filter does not skip; −1 if there is none. */
    final int find(FrameFilter filter, int index) {
        int remaining = index;
        for (int i = 0; i < count; i++) {
            if (!filter.skips(classes[i]) && remaining-- == 0) {
                return i;
            }
        }
        return -1;
    }

    /** Returns {@code Class.method:line}; null past the end. */
    final String text(int frame) {
        return frame < 0 || frame >= count ? null : Stack.text(classes[frame], methods[frame], line(frame));
    }

    /** Copies frame {@code from} to position {@code to}. */
    void keep(int from, int to) {
        classes[to] = classes[from];
        methods[to] = methods[from];
        positions[to] = positions[from];
    }

    final int hash() {
        int hash = count;
        for (int i = 0; i < count; i++) {
            hash = 31 * (31 * (31 * hash + classes[i].hashCode()) + methods[i].hashCode()) + positions[i];
        }
        return hash ^ hash >>> 16;
    }

    final boolean isSame(Stack stack) {
        if (stack.classes.length != count) {
            return false;
        }
        for (int i = 0; i < count; i++) {
            if (stack.positions[i] != positions[i]
                    || !Strings.equal(stack.methods[i], methods[i])
                    || !Strings.equal(stack.classes[i], classes[i])) {
                return false;
            }
        }
        return true;
    }

    int line(int frame) {
        return ~positions[frame];
    }

    final Stack toStack(int id, int hash) {
        int[] lines = new int[count];
        for (int i = 0; i < count; i++) {
            lines[i] = line(i);
        }
        return new Stack(id, hash, Arrays.copyOf(classes, count), Arrays.copyOf(methods, count),
                Arrays.copyOf(positions, count), lines);
    }
}
