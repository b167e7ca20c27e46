package btpy.runtime;

/** A value that is to be shown to a depth of its own: {@code show(x, depth)}. */
final class Shown {
    final Object value;
    final int depth;

    Shown(Object value, int depth) {
        this.value = value;
        this.depth = depth;
    }
}
