package btpy.runtime;

/**
 * The work of one thread for a flow that was handed over to it, as scripts read it. The names of the fields are part of
 * the language. Times are those of {@code System.nanoTime()}.
 */
final class FlowRun {
    /** The number of the run, from 1, in the order in which the runs began. */
    long number;
    /** The number of the run whose thread handed the task over; 0: the thread that began the flow. */
    long by;
    String thread;
    long tid;
    long handedOver;
    long began;
    long ended;
    /** Whether the thread still works for the flow; {@code ended} is then the current time. */
    boolean running;
}
