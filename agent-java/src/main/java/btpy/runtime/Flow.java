package btpy.runtime;

/** A unit of work, such as a request. It knows no object of the application. */
final class Flow {
    /** The largest number of runs on other threads that a flow remembers. */
    static final int MOST_RUNS = 256;

    private static final Memory MEMORY = Memory.instance();
    private static final long RUNS = MEMORY.fieldOffset(Flow.class, "runs");
    private static final long LAST = MEMORY.fieldOffset(Flow.class, "last");
    /** A flow inside more outer flows than this has no values of the outer flows. */
    private static final int MOST_OUTER = 16;

    private static final Object[] NO_RUNS = {};

    final long id;
    /** The number of the flow in which this flow began; 0: it began in no flow. */
    final long parent;
    final long began = System.nanoTime();
    /** The flow in which this flow began, if it is not too deep. */
    final Flow outer;
    private final int depth;
    final SharedValues values = new SharedValues(0);
    /** The work of the thread that began this flow. */
    final Run first;
    private long runs;
    /** The run that began last, the head of a linked list. */
    private volatile Run last;

    Flow(long id, Flow outer) {
        this.id = id;
        this.parent = outer == null ? 0 : outer.id;
        this.outer = outer == null || outer.depth >= MOST_OUTER ? null : outer;
        this.depth = this.outer == null ? 0 : outer.depth + 1;
        this.first = new Run(this, null, began);
    }

    /** Remembers a run that begins, if there are not too many. */
    void add(Run run) {
        long number = MEMORY.getAndAddLong(this, RUNS, 1) + 1;
        if (number > MOST_RUNS) {
            return;
        }
        run.number = (int) number;
        Run previousRun;
        do {
            previousRun = last;
            run.previousRun = previousRun;
        } while (!MEMORY.compareAndSetReference(this, LAST, previousRun, run));
    }

    /** @return {@link FlowRun} objects, in the order in which they began */
    Object[] runs() {
        Run newest = last;
        int count = 0;
        for (Run run = newest; run != null; run = run.previousRun) {
            count++;
        }
        if (count == 0) {
            return NO_RUNS;
        }
        Object[] result = new Object[count];
        long now = System.nanoTime();
        for (Run run = newest; count > 0; run = run.previousRun) {
            result[--count] = run.toFlowRun(now);
        }
        return result;
    }
}
