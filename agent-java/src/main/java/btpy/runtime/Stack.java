package btpy.runtime;

/** A recorded call stack, without the frames of btpy at its top. Equal stacks of a session are one object. */
public final class Stack {
    /** The id on the wire; 0 if the table was full and the stack has no definition. */
    final int id;
    final int hash;
    /** The binary names of the classes. */
    final String[] classes;
    final String[] methods;
    /** Distinguishes frames of one method: the bytecode index, or the complement of the line if only the line is known. */
    final int[] positions;
    /** 0 if the line is unknown. */
    final int[] lines;
    /** Set by the event thread. Other threads may see it late, which only costs a search. */
    boolean shipped;

    Stack(int id, int hash, String[] classes, String[] methods, int[] positions, int[] lines) {
        this.id = id;
        this.hash = hash;
        this.classes = classes;
        this.methods = methods;
        this.positions = positions;
        this.lines = lines;
    }

    /** Returns {@code Class.method:line}. */
    static String text(String className, String method, int line) {
        String place = className.concat(".").concat(method);
        return line > 0 ? place.concat(":").concat(Integer.toString(line)) : place;
    }

    // Handlers call the methods below.

    /** Returns the stack of this thread, at most {@code most} frames. */
    public static Object here(Session session, int most) {
        return session.stacks.current(new Throwable(), frames(session, most));
    }

    /** Returns the stack of a Throwable; null for null. */
    public static Object of(Session session, Object throwable, int most) {
        return throwable == null ? null : session.stacks.of((Throwable) throwable, frames(session, most));
    }

    /** Like {@link #here}, without the frames that the globs skip ({@link FrameFilter}). */
    public static Object hereWithout(Session session, int most, String globs) {
        return session.stacks.without(Frames.current(session.limits.frames), globs, frames(session, most));
    }

    public static Object ofWithout(Session session, Object throwable, int most, String globs) {
        return throwable == null
                ? null
                : session.stacks.without(
                        Frames.of((Throwable) throwable, session.limits.frames), globs, frames(session, most));
    }

    /** Returns one frame of this thread, as {@code Class.method:line}; null past the end. */
    public static String frameHere(Session session, int index) {
        return index < 0 || index >= session.limits.frames ? null : session.stacks.frame(new Throwable(), true, index);
    }

    public static String frameOf(Session session, Object throwable, int index) {
        return throwable == null || index < 0 || index >= session.limits.frames
                ? null
                : session.stacks.frame((Throwable) throwable, false, index);
    }

    /**
     * As {@link #frameHere}, but counts only frames whose class matches none of the globs {@code globs}. Frameworks
     * may have many frames, so {@link StackTable#MOST_SEARCHED} frames are searched.
     */
    public static String frameHereWithout(Session session, int index, String globs) {
        return index < 0 ? null : session.stacks.frame(new Throwable(), true, index, globs);
    }

    public static String frameOfWithout(Session session, Object throwable, int index, String globs) {
        return throwable == null || index < 0 ? null
                : session.stacks.frame((Throwable) throwable, false, index, globs);
    }

    private static int frames(Session session, int requestedFrames) {
        return requestedFrames < 0 ? 0 : requestedFrames < session.limits.frames ? requestedFrames
                : session.limits.frames;
    }
}
