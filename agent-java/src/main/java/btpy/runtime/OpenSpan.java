package btpy.runtime;

/** A span that has begun and not ended: one activation of a method of a probe with {@code span(…)}. */
final class OpenSpan {
    final long id;
    /** The trace of the application's span in which this span began; null: this span belongs to a trace of btpy. */
    final String traceId;
    /** The application's span that was current; null: there was none. */
    final String applicationSpan;
    /** The span of btpy that is the parent; null: {@link #applicationSpan} is the parent. */
    final OpenSpan parent;
    /** The flags of W3C Trace Context. */
    final int flags;
    /** The innermost span of btpy below this span on the thread, whether or not it is the parent. */
    final OpenSpan outer;
    /** The spans of btpy below this span on the thread. */
    final int depth;
    private boolean taken;

    OpenSpan(long id, String traceId, String applicationSpan, OpenSpan parent, int flags, OpenSpan outer) {
        this.id = id;
        this.traceId = traceId;
        this.applicationSpan = applicationSpan;
        this.parent = parent;
        this.flags = flags;
        this.outer = outer;
        this.depth = outer == null ? 0 : outer.depth + 1;
    }

    /** Whether this is the first call: a span is written once. */
    boolean take() {
        boolean first = !taken;
        taken = true;
        return first;
    }

    /** The outermost span of btpy among the ancestors of this span. */
    OpenSpan root() {
        OpenSpan root = this;
        while (root.parent != null) {
            root = root.parent;
        }
        return root;
    }
}
