package app;

import btpy.runtime.Session;
import btpy.runtime.Stack;

/** Application code whose stacks the scenarios read. */
public final class StackProbe {
    private final Session session;

    public StackProbe(Session session) {
        this.session = session;
    }

    public static Object capture(StackProbe probe, int depth, int frames) {
        return depth == 0 ? Stack.here(probe.session, frames) : capture(probe, depth - 1, frames);
    }

    public static String frame(StackProbe probe, int index) {
        return Stack.frameHere(probe.session, index);
    }

    public static String frame(StackProbe probe, int depth, int index) {
        return depth == 0 ? Stack.frameHere(probe.session, index) : frame(probe, depth - 1, index);
    }

    /** An exception whose methods must not be called. */
    public static final class Liar extends RuntimeException {
        private static final long serialVersionUID = 1L;

        @Override
        public synchronized StackTraceElement[] getStackTrace() {
            throw new AssertionError("getStackTrace of an application's exception");
        }
    }

    public static Throwable fail() {
        return new Liar();
    }
}
