package btpy.runtime;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;

/**
 * Takes snapshots of the platform threads of the application on a thread of the agent, and limits its own rate: samples
 * take at most one hundredth of the time, with any number of threads.
 *
 * <p>A sample reads the states of all threads without stopping any. It also takes the stacks of a few threads: the JVM
 * reads these at one safepoint. Nothing is woven, no lock of the application is taken, and no setting of the JVM is
 * changed.
 */
final class ThreadSnapshots {
    private static final int SHARE = 100;
    private static final ThreadMXBean BEAN = ManagementFactory.getThreadMXBean();

    private long samples;
    private long notBefore;
    private long lastNanos;
    private long began;
    private long lastCost;

    /** Whether the agent may take a sample now. If so, the caller must call {@link #end} after the sample. */
    boolean begin(long now) {
        if (samples > 0 && now - notBefore < 0) {
            return false;
        }
        began = now;
        return true;
    }

    /** @return the nanoseconds since the previous sample, which this sample represents; 0 for the first */
    long end(long now) {
        long interval = samples == 0 ? 0 : began - lastNanos;
        // The first sample loads classes, and the system may deschedule the thread during any other sample. So
        // the shorter of the last two samples gives the cost of a sample.
        long previousCost = lastCost;
        lastCost = now - began;
        long cost = samples == 0 ? 0 : samples == 1 ? lastCost : Math.min(lastCost, previousCost);
        notBefore = now + SHARE * cost;
        lastNanos = began;
        samples++;
        return interval;
    }

    /** Returns all platform threads except the agent's, without stacks. An element is null if its thread has ended. */
    static ThreadInfo[] states() {
        ThreadInfo[] threads = BEAN.getThreadInfo(BEAN.getAllThreadIds());
        for (int i = 0; i < threads.length; i++) {
            if (threads[i] != null && threads[i].getThreadName().startsWith("btpy-")) {
                threads[i] = null;
            }
        }
        return threads;
    }

    /** Returns some threads with at most {@code frames} frames, all at one moment. */
    static ThreadInfo[] stacks(long[] threads, int frames) {
        return threads.length == 0 ? new ThreadInfo[0] : BEAN.getThreadInfo(threads, frames);
    }
}
