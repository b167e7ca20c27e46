package btpy.agent;

import java.lang.reflect.Method;

/** A handler that runs on the event thread after an event. */
final class Hook {
    /** A probe or the client has sent an event. */
    static final int EVENT = 0;
    static final int CLASS_LOADED = 1;
    static final int MEMORY_LOW = 2;
    /** Probes have failed. */
    static final int PROBE_FAILED = 3;
    /** A thread uses a processor. */
    static final int THREAD_BUSY = 4;
    /** A thread exists. */
    static final int THREAD_SEEN = 5;

    final int probe;
    final int kind;
    /** Id of the event. */
    final int event;
    /** The patterns of classes being loaded; null for other kinds. */
    final Watch classes;
    /** Null for other kinds than {@link #MEMORY_LOW}. */
    final MemoryPools pools;
    /** Null for other kinds than {@link #THREAD_BUSY} and {@link #THREAD_SEEN}. */
    final ThreadSampler sampler;
    /**
     * Pairs of a packed position and a line number, ascending: the beginnings of the lines of the script, or for a
     * sampler only the place of the probe.
     */
    private final int[] lines;
    final int site;
    private final Method fire;

    Hook(int probe, int kind, int event, Watch classes, MemoryPools pools, ThreadSampler sampler, int[] lines, int site, Method fire) {
        this.probe = probe;
        this.kind = kind;
        this.event = event;
        this.classes = classes;
        this.pools = pools;
        this.sampler = sampler;
        this.lines = lines;
        this.site = site;
        this.fire = fire;
    }

    /** The method {@code fire} of a handler class, with any parameters; null if the class has none. */
    static Method fire(Class<?> handler) {
        for (Method method : handler.getDeclaredMethods()) {
            if (method.getName().equals("fire")) {
                return method;
            }
        }
        return null;
    }

    /** The position of the probe in the script, 0 if it is not known. */
    int position() {
        return lines.length > 0 ? lines[0] : 0;
    }

    /** The line of a position in the script, 0 when it has none. */
    int line(int position) {
        int line = 0;
        for (int i = 0; i + 1 < lines.length && position != 0 && lines[i] <= position; i += 2) {
            line = lines[i + 1];
        }
        return line;
    }

    /** A call of the handler with its arguments. */
    Call call(Object... facts) {
        Object[] arguments = new Object[facts.length + 1];
        arguments[0] = site;
        System.arraycopy(facts, 0, arguments, 1, facts.length);
        return new Call(fire, arguments);
    }

    /** A handler that is due. */
    static final class Call {
        final Method fire;
        final Object[] arguments;

        Call(Method fire, Object... arguments) {
            this.fire = fire;
            this.arguments = arguments;
        }
    }
}
