package btpy.runtime;

/**
 * A piece of the work of a flow: what one thread does for it, from the moment when a task was handed over until the task
 * is done. A flow begins with one that nobody handed over.
 */
final class Run {
    /** Stands for the work of a task that was handed over outside of any flow. */
    static final Run NONE = new Run(null, null, 0);

    final Flow flow;
    /** The run that handed the task over; null: the flow began with this one. */
    final Run by;
    final long handedOver;

    // Written by the thread of the run.

    private long tid;
    private String thread;
    private long began;
    private long ended;
    /** Its number in the flow, from 1; 0: the flow has too many. */
    int number;
    /** The run of the flow that began before this one. */
    Run before;

    Run(Flow flow, Run by, long now) {
        this.flow = flow;
        this.by = by;
        this.handedOver = now;
    }

    /** A task is handed over by the thread of this run. */
    Run handOver() {
        return new Run(flow, this, System.nanoTime());
    }

    /** Another piece of work for the same flow, which begins later. Called on what stands for the flow of an object. */
    Run again() {
        return new Run(flow, by, handedOver);
    }

    /** This thread begins with the task. */
    void begin() {
        tid = Threads.id();
        thread = Threads.name();
        began = System.nanoTime();
        flow.add(this);
    }

    /** Does nothing to a run that did not begin with a task. */
    void end() {
        if (by != null && ended == 0) {
            ended = System.nanoTime();
        }
    }

    FlowRun shown(long now) {
        FlowRun shown = new FlowRun();
        shown.number = number;
        Run parent = by;
        while (parent != null && parent.number == 0) {
            parent = parent.by;
        }
        shown.by = parent == null ? 0 : parent.number;
        shown.thread = thread;
        shown.tid = tid;
        shown.handedOver = handedOver;
        shown.began = began;
        long end = ended;
        shown.running = end == 0;
        shown.ended = end == 0 ? now : end;
        return shown;
    }
}
