package btpy.runtime;

/**
 * A piece of the work of a flow: what one thread does for it, from the moment when a task was handed over until the
 * task is done. The first run of a flow was not handed over.
 */
final class Run {
    /** Stands for the work of a task that was handed over outside of any flow. */
    static final Run NONE = new Run(null, null, 0);

    final Flow flow;
    /** The run that handed the task over; null: the flow began with this run. */
    final Run origin;
    final long handedOver;

    // Written by the thread of the run.

    private long tid;
    private String thread;
    private long began;
    private long ended;
    /** The number of the run in the flow, from 1; 0: the flow has too many runs. */
    int number;
    /** The previous run of the same flow. */
    Run previousRun;

    Run(Flow flow, Run origin, long now) {
        this.flow = flow;
        this.origin = origin;
        this.handedOver = now;
    }

    /** Returns the run of a task that the thread of this run hands over. */
    Run handOver() {
        return new Run(flow, this, System.nanoTime());
    }

    /**
     * Returns another piece of work for the same flow, which begins later. Called on the run that represents the flow
     * of an object.
     */
    Run continueFlow() {
        return new Run(flow, origin, handedOver);
    }

    /** Called when this thread begins with the task. */
    void begin() {
        tid = Threads.id();
        thread = Threads.name();
        began = System.nanoTime();
        flow.add(this);
    }

    /** Ends the run, if it began with a task. */
    void end() {
        if (origin != null && ended == 0) {
            ended = System.nanoTime();
        }
    }

    FlowRun toFlowRun(long now) {
        FlowRun result = new FlowRun();
        result.number = number;
        Run parent = origin;
        while (parent != null && parent.number == 0) {
            parent = parent.origin;
        }
        result.by = parent == null ? 0 : parent.number;
        result.thread = thread;
        result.tid = tid;
        result.handedOver = handedOver;
        result.began = began;
        long end = ended;
        result.running = end == 0;
        result.ended = end == 0 ? now : end;
        return result;
    }
}
