package btpy.runtime;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;

/**
 * Takes snapshots of the platform threads of the application on a thread of the agent, and paces itself: samples take at most one
 * hundredth of the time, however many threads there are.
 *
 * <p>A sample asks all threads for their state, which stops none, and for the stacks of a few of them, which the JVM takes at one
 * safepoint. Nothing is woven, no lock of the application is taken, and no setting of the JVM is changed.
 */
final class ThreadSnapshots {
    private static final int SHARE = 100;
    private static final ThreadMXBean BEAN = ManagementFactory.getThreadMXBean();

    private long samples;
    private long notBefore;
    private long last;
    private long began;
    private long took;

    /** Whether it may take a sample now; {@link #end} follows. */
    boolean begin(long now) {
        if (samples > 0 && now - notBefore < 0) {
            return false;
        }
        began = now;
        return true;
    }

    /** @return nanoseconds since the sample before, which this one stands for; 0 for the first */
    long end(long now) {
        long interval = samples == 0 ? 0 : began - last;
        // The first sample loads classes, and the system may take the processor away in the middle of any other one: the
        // shorter one of the last two tells what a sample costs.
        long before = took;
        took = now - began;
        long cost = samples == 0 ? 0 : samples == 1 ? took : Math.min(took, before);
        notBefore = now + SHARE * cost;
        last = began;
        samples++;
        return interval;
    }

    /** All platform threads but the agent's, without stacks; a thread that has ended is null. */
    static ThreadInfo[] states() {
        ThreadInfo[] threads = BEAN.getThreadInfo(BEAN.getAllThreadIds());
        for (int i = 0; i < threads.length; i++) {
            if (threads[i] != null && threads[i].getThreadName().startsWith("btpy-")) {
                threads[i] = null;
            }
        }
        return threads;
    }

    /** The same of some threads, with {@code frames} frames at most, all at one moment. */
    static ThreadInfo[] stacks(long[] threads, int frames) {
        return BEAN.getThreadInfo(threads, frames);
    }
}
