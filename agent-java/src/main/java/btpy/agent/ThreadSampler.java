package btpy.agent;

import btpy.runtime.AgentThread;
import btpy.runtime.SampledStack;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.util.Arrays;
import java.util.List;

/**
 * Samples the platform threads of the application at a steady rate, on the event thread.
 *
 * <p>A busy thread is sampled once for each period of processor time that it has used, when it is seen running. So the
 * processor time of its samples adds up to the time that it used, at every rate. With {@code waiting}, every thread is
 * sampled at each look. A look is one reading of the stacks of threads.
 *
 * <p>For the JVM, a thread in a native method is running, even while it waits for a connection. So in a native method
 * that may wait, a thread counts as running only if its processor time grows while the sampler looks at it.
 *
 * <p>The JVM stops all threads while it reads the stacks. If looks take more than their share of a core, their rate is
 * halved, and each sample counts twice.
 */
final class ThreadSampler {
    private static final long SECOND = 1_000_000_000L;

    /** The time between two searches for new threads. */
    private static final long SEARCH_NANOS = 100_000_000L;

    /** The largest part of the time that looks may take if the session has no budget of its own. */
    private static final double MOST_SHARE = 0.5;

    /** The number of looks after which the rate is adjusted. */
    private static final int LOOKS_PER_ADJUSTMENT = 16;

    private static final long LONGEST_PERIOD_NANOS = SECOND;

    /** Threads of the JVM whose Java stacks say nothing about the application. */
    private static final List<String> JVM_THREADS = Arrays.asList(
        "Reference Handler", "Finalizer", "Signal Dispatcher", "Common-Cleaner", "Attach Listener", "Notification Thread");

    /** How the names of native methods begin that may wait: of the JDK, of Netty's transports, of other libraries. */
    private static final String[] WAITING_NATIVES = {
        "accept", "connect", "epollWait", "ioUring", "kevent", "poll", "read", "receive", "recv", "select",
        "socketAccept", "socketConnect", "socketRead", "wait"
    };

    private final ThreadMXBean threads;
    private final long period;
    private final boolean waiting;
    private final int frames;
    private final double share;

    /** The sorted ids of the threads, and for each the processor time up to which it was sampled. */
    private long[] ids = {};
    private long[] sampledNanos = {};
    private long searchedNanos;
    private long dueNanos;
    /** The number of periods between two looks. */
    private int stride = 1;
    /** The cost in ns of the cheapest look since the last adjustment. More expensive looks waited for a processor. */
    private long cost = Long.MAX_VALUE;
    private int looks;

    /**
     * @param share the part of a core that looks may take; 0: unbounded
     * @throws IllegalArgumentException if this JVM does not measure the processor time of threads
     */
    ThreadSampler(int perSecond, boolean waiting, int frames, double share) {
        java.lang.management.ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        if (!(bean instanceof ThreadMXBean) || !bean.isThreadCpuTimeSupported() || !bean.isThreadCpuTimeEnabled()) {
            throw new IllegalArgumentException("this JVM does not measure the processor time of threads");
        }
        threads = (ThreadMXBean) bean;
        period = SECOND / perSecond;
        this.waiting = waiting;
        this.frames = frames;
        this.share = share > 0 && share < MOST_SHARE ? share : MOST_SHARE;
        dueNanos = System.nanoTime();
        search(dueNanos, true);
    }

    /** The time in ns from {@code now} until the next look is due. */
    long nanosUntilDue(long now) {
        return dueNanos - now;
    }

    /**
     * Adds a call for each sample to {@code calls} if a look is due. {@code now} is System.nanoTime.
     *
     * @return null, or a description of how the rate has changed
     */
    String look(Hook hook, long now, List<Hook.Call> calls) {
        if (now - dueNanos < 0) {
            return null;
        }
        long intervalNanos = period * stride;
        long skippedLooks = (now - dueNanos) / intervalNanos;
        dueNanos += intervalNanos * (1 + skippedLooks);
        if (now - searchedNanos >= SEARCH_NANOS) {
            search(now, false);
        }
        long[] usedNanos = threads.getThreadCpuTime(ids);
        int[] chosen = choose(usedNanos);
        if (chosen.length > 0) {
            sample(hook, chosen, usedNanos, (int) Math.min(1 << 20, stride * (1 + skippedLooks)), calls);
        }
        return pace(System.nanoTime() - now);
    }

    /** Returns the indices of the threads whose stacks will be read. */
    private int[] choose(long[] usedNanos) {
        int[] places = new int[ids.length];
        int count = 0;
        for (int i = 0; i < ids.length; i++) {
            if (usedNanos[i] >= 0 && (waiting || usedNanos[i] - sampledNanos[i] >= period)) {
                places[count++] = i;
            }
        }
        return Arrays.copyOf(places, count);
    }

    private void sample(Hook hook, int[] places, long[] usedNanos, int looksMissed, List<Hook.Call> calls) {
        long[] chosenIds = new long[places.length];
        for (int i = 0; i < chosenIds.length; i++) {
            chosenIds[i] = ids[places[i]];
        }
        ThreadInfo[] infos = threads.getThreadInfo(chosenIds, frames);
        for (int i = 0; i < chosenIds.length; i++) {
            ThreadInfo info = infos[i];
            if (info == null || info.getStackTrace().length == 0 || JVM_THREADS.contains(info.getThreadName())) {
                continue;
            }
            long time = usedNanos[places[i]] - sampledNanos[places[i]];
            long weight = looksMissed;
            if (!waiting) {
                if (!isRunning(info)) {
                    continue; // the thread has stopped; its time counts when the sampler next sees it running
                }
                weight = time / period;
                time = weight * period;
            }
            sampledNanos[places[i]] += time;
            SampledStack stack = new SampledStack(chosenIds[i], info.getThreadName(), info.getStackTrace());
            calls.add(hook.call(stack, weight, chosenIds[i], info.getThreadName(), false, info.getThreadState().name(),
                    time / weight));
        }
    }

    private boolean isRunning(ThreadInfo info) {
        if (info.getThreadState() != Thread.State.RUNNABLE) {
            return false;
        }
        StackTraceElement top = info.getStackTrace()[0];
        if (!top.isNativeMethod() || !mayWait(top.getMethodName())) {
            return true;
        }
        long usedNanos = threads.getThreadCpuTime(info.getThreadId());
        return threads.getThreadCpuTime(info.getThreadId()) > usedNanos;
    }

    private static boolean mayWait(String nativeMethod) {
        for (String beginning : WAITING_NATIVES) {
            if (nativeMethod.startsWith(beginning)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Adds new threads and forgets threads that have ended. With {@code first}, the earlier processor time is not
     * sampled.
     */
    private void search(long now, boolean first) {
        searchedNanos = now;
        long[] threadIds = threads.getAllThreadIds();
        Arrays.sort(threadIds);
        long[] otherIds = new long[threadIds.length];
        int count = 0;
        for (long id : threadIds) {
            if (!AgentThread.isOne(id)) {
                otherIds[count++] = id;
            }
        }
        otherIds = Arrays.copyOf(otherIds, count);
        long[] newSampledNanos = new long[count];
        long[] usedNanos = first ? threads.getThreadCpuTime(otherIds) : newSampledNanos;
        for (int i = 0; i < count; i++) {
            int place = Arrays.binarySearch(ids, otherIds[i]);
            newSampledNanos[i] = place >= 0 ? sampledNanos[place] : Math.max(0, usedNanos[i]);
        }
        ids = otherIds;
        sampledNanos = newSampledNanos;
    }

    /** Halves the rate if looks take too much time, and raises it again, up to the requested rate, if they take less. */
    private String pace(long nanos) {
        cost = Math.min(cost, nanos);
        if (++looks < LOOKS_PER_ADJUSTMENT) {
            return null;
        }
        long cheapest = cost;
        cost = Long.MAX_VALUE;
        looks = 0;
        long intervalNanos = period * stride;
        if (cheapest > share * intervalNanos && intervalNanos * 2 <= LONGEST_PERIOD_NANOS) {
            stride *= 2;
        } else if (stride > 1 && cheapest < share * intervalNanos / 4) {
            stride /= 2;
        } else {
            return null;
        }
        return "one look at the threads takes " + cheapest / 1000 + " us, there is one every " + period * stride / 1_000_000 + " ms";
    }
}
