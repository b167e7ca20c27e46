package btpy.runtime;

/**
 * Finds a known stack of a thread by the raw trace that the JVM stores in a new {@code Throwable}: two numbers and a
 * class for each frame, without names. Walking the frames takes several times as long.
 *
 * <p>HotSpot's {@code backtrace} is an array of short[] numbers of methods, int[] bytecode indexes (upper half) and
 * versions of the method, Object[] classes, and at 4 the next array, of 32 frames each. A {@code backtrace} of another
 * form is not used.
 *
 * <p>A trace is stored with as many frames as determine the result. A stored trace keeps the classes of its frames
 * loaded, so all traces are forgotten every few seconds. Concurrent threads may overwrite each other's traces.
 */
final class StackLookup {
    private static final Memory MEMORY = Memory.instance();
    private static final long BACKTRACE = MEMORY.fieldOffset(Throwable.class, "backtrace");
    private static final int METHODS = 0;
    private static final int POSITIONS = 1;
    private static final int CLASSES = 2;
    private static final int NEXT = 4;
    private static final int CHUNK = 32;

    private static final int SIZE = 1024;
    private static final int WINDOW = 4;
    /**
     * The approximate number of btpy's frames at the top of a trace. Frames after the requested frames are not part of
     * the hash.
     */
    private static final int OWN_FRAMES = 2;
    /** The largest number of frames of a stored trace. */
    private static final int MOST_FRAMES = 256;
    private static final long KEPT_NANOS = 5_000_000_000L;
    private static final long FACTOR = 0x9E3779B97F4A7C15L;

    private volatile Trace[] traces = new Trace[0];
    private long forgottenNanos;

    /** A trace and its result for a key. */
    private static final class Trace {
        final int hash;
        final int key;
        final short[] methods;
        final int[] positions;
        final Object[] classes;
        /** Whether the trace ends after these frames. */
        final boolean whole;
        final Object result;

        Trace(int hash, int key, Object[] chunk, int count, boolean whole, Object result) {
            this.hash = hash;
            this.key = key;
            this.methods = new short[count];
            this.positions = new int[count];
            this.classes = new Object[count];
            this.whole = whole;
            this.result = result;
            for (int from = 0; from < count; from += CHUNK, chunk = (Object[]) chunk[NEXT]) {
                int length = Math.min(CHUNK, count - from);
                System.arraycopy(chunk[METHODS], 0, methods, from, length);
                System.arraycopy(chunk[POSITIONS], 0, positions, from, length);
                System.arraycopy(chunk[CLASSES], 0, classes, from, length);
            }
        }

        boolean fits(Object[] chunk) {
            int count = methods.length;
            for (int from = 0; from < count; from += CHUNK) {
                if (chunk == null) {
                    return false;
                }
                Object[] itsClasses = (Object[]) chunk[CLASSES];
                int length = Math.min(CHUNK, count - from);
                for (int i = 0; i < length; i++) {
                    if (itsClasses[i] != classes[from + i]) {
                        return false;
                    }
                }
                if (!hasNumbers(from, length, (short[]) chunk[METHODS], (int[]) chunk[POSITIONS])) {
                    return false;
                }
                if (length < CHUNK) {
                    return !whole || itsClasses[length] == null;
                }
                chunk = (Object[]) chunk[NEXT];
            }
            return !whole || chunk == null || ((Object[]) chunk[CLASSES])[0] == null;
        }

        /** Compares four frames at a time while there are four. */
        private boolean hasNumbers(int from, int length, short[] itsMethods, int[] itsPositions) {
            int i = 0;
            for (; i + 4 <= length; i += 4) {
                if (fourMethods(methods, from + i) != fourMethods(itsMethods, i)
                        || twoPositions(positions, from + i) != twoPositions(itsPositions, i)
                        || twoPositions(positions, from + i + 2) != twoPositions(itsPositions, i + 2)) {
                    return false;
                }
            }
            for (; i < length; i++) {
                if (itsMethods[i] != methods[from + i] || itsPositions[i] != positions[from + i]) {
                    return false;
                }
            }
            return true;
        }
    }

    private static long fourMethods(short[] methods, int from) {
        return MEMORY.getLongUnaligned(methods, Memory.SHORT_BASE + 2L * from);
    }

    private static long twoPositions(int[] positions, int from) {
        return MEMORY.getLongUnaligned(positions, Memory.INT_BASE + 4L * from);
    }

    /** Returns the raw trace of a new Throwable; null if this JVM does not provide it. */
    static Object[] of(Throwable throwable) {
        Object trace = BACKTRACE < 0 ? null : MEMORY.getReference(throwable, BACKTRACE);
        if (!(trace instanceof Object[])) {
            return null;
        }
        Object[] chunk = (Object[]) trace;
        return chunk.length > NEXT
                        && chunk[METHODS] instanceof short[]
                        && ((short[]) chunk[METHODS]).length == CHUNK
                        && chunk[POSITIONS] instanceof int[]
                        && ((int[]) chunk[POSITIONS]).length == CHUNK
                        && chunk[CLASSES] instanceof Object[]
                ? chunk
                : null;
    }

    /**
     * Returns the stored result of a trace for a key; null if there is none. {@code decidingFrames}: as in {@link
     * #remember}.
     */
    Object find(Object[] trace, int key, int decidingFrames) {
        Trace[] traces = this.traces;
        if (traces.length > 0) {
            int hash = hash(trace, key, decidingFrames);
            for (int i = 0; i < WINDOW; i++) {
                Trace candidate = traces[hash + i & SIZE - 1];
                if (candidate != null && candidate.hash == hash && candidate.key == key && candidate.fits(trace)) {
                    return candidate.result;
                }
            }
        }
        return null;
    }

    /**
     * Stores {@code result}, which follows from the first {@code most} frames.
     *
     * @param decidingFrames the approximate number of frames that distinguish traces with this key, the same for all
     * traces
     * @param frames the same frames, from a walk of the stack at the place where the trace was taken; null if the trace
     * is that of an exception, and so contains all frames
     */
    void remember(Object[] trace, int key, int decidingFrames, Object result, Frames frames, int most) {
        int count = 0;
        int plainFrames = 0;
        boolean top = true;
        String name = "";
        int position = 0;
        for (Object[] chunk = trace; chunk != null; chunk = (Object[]) chunk[NEXT]) {
            for (int i = 0; i < CHUNK && plainFrames < most && ((Object[]) chunk[CLASSES])[i] != null; i++) {
                name = ((Class<?>) ((Object[]) chunk[CLASSES])[i]).getName();
                position = ((int[]) chunk[POSITIONS])[i] >>> 16;
                top = top && frames != null && Frames.isOwn(name);
                plainFrames += top || frames != null && maybeLeftOut(name) ? 0 : 1;
                count++;
            }
        }
        // A trace with fewer frames than requested is complete only if the JVM has not cut it
        // (-XX:MaxJavaStackTraceDepth).
        boolean whole = plainFrames < most;
        if (count > MOST_FRAMES || whole && frames != null && !frames.endWith(name, position)) {
            return;
        }
        Trace[] traces = this.traces;
        if (traces.length == 0) {
            traces = new Trace[SIZE];
            this.traces = traces;
        }
        int hash = hash(trace, key, decidingFrames);
        int place = hash & SIZE - 1;
        for (int i = 0; i < WINDOW && traces[place] != null; i++) {
            place = hash + i & SIZE - 1;
        }
        traces[place] = new Trace(hash, key, trace, count, whole, result);
    }

    /** Called by the event thread. */
    void sweep(long now) {
        if (now - forgottenNanos >= KEPT_NANOS) {
            forgottenNanos = now;
            traces = new Trace[0];
        }
    }

    /**
     * Hashes approximately the requested frames, four at a time, in three sums that the processor can compute in
     * parallel.
     */
    private static int hash(Object[] trace, int key, int decidingFrames) {
        short[] methods = (short[]) trace[METHODS];
        int[] positions = (int[]) trace[POSITIONS];
        int frameCount = decidingFrames + OWN_FRAMES;
        int count = frameCount < 4 ? 4 : frameCount < CHUNK ? frameCount & ~3 : CHUNK;
        long a = key;
        long b = 0;
        long c = 0;
        for (int i = 0; i < count; i += 4) {
            a = (a ^ fourMethods(methods, i)) * FACTOR;
            b = (b ^ twoPositions(positions, i)) * FACTOR;
            c = (c ^ twoPositions(positions, i + 2)) * FACTOR;
            a ^= a >>> 32;
        }
        long hash = Keys.mix64(a + 31 * (b ^ b >>> 32) + 961 * (c ^ c >>> 32));
        return (int) hash;
    }

    /** Whether a walk of the stack may omit the frame, because it belongs to reflection. */
    private static boolean maybeLeftOut(String className) {
        return className.startsWith("java.lang.reflect.")
                || className.startsWith("jdk.internal.reflect.")
                || className.startsWith("java.lang.invoke.");
    }
}
