package btpy.runtime;

/** A unit of work, such as a request. It knows no thread and no object of the application. */
final class Flow {
    /** Stands for the work of a task that was handed over outside of any flow. */
    static final Flow NONE = new Flow(0, null);

    /** A flow that begins inside of more flows than this has no values of the outer ones. */
    private static final int MOST_OUTER = 16;

    final long id;
    /** The number of the flow in which this one began; 0: none. */
    final long parent;
    final long began = System.nanoTime();
    /** The flow in which this one began, if it is not too deep. */
    final Flow outer;
    private final int depth;
    final SharedValues values = new SharedValues(0);

    Flow(long id, Flow outer) {
        this.id = id;
        this.parent = outer == null ? 0 : outer.id;
        this.outer = outer == null || outer.depth >= MOST_OUTER ? null : outer;
        this.depth = this.outer == null ? 0 : outer.depth + 1;
    }
}
