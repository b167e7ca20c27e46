package btpy.runtime;

/** A value with its own depth of output: {@code show(x, depth)}. */
public final class Shown {
    final Object value;
    final int depth;

    private Shown(Object value, int depth) {
        this.value = value;
        this.depth = depth;
    }

    /** Clamps {@code depth} to its range. */
    public static Object of(Object value, int depth) {
        return value == null ? null : new Shown(value, depth < 0 ? 0 : depth > Limits.MAX_DEPTH ? Limits.MAX_DEPTH : depth);
    }
}
