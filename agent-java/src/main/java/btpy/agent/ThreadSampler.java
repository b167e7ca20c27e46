package btpy.agent;

import btpy.runtime.AgentThread;
import btpy.runtime.SampledStack;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.util.Arrays;
import java.util.List;

/**
 * Samples the platform threads of the application at a steady rate, from the event thread.
 *
 * <p>A busy thread is sampled once for each period of processor time that it has used, when it is seen running: the processor time that
 * its samples stand for adds up to what it used, whatever the rate of looks. With {@code waiting}, every thread is sampled at each look.
 *
 * <p>The JVM stops all threads for as long as it takes to read the stacks. Where looks take more than their share of a core, there are
 * half as many, and each sample stands for twice as much.
 */
final class ThreadSampler {
    private static final long SECOND = 1_000_000_000L;

    /** Between two searches for new threads. */
    private static final long SEARCH_NANOS = 100_000_000L;

    /** A look costs at most this part of the time between two, where the session has no budget of its own. */
    private static final double MOST_SHARE = 0.5;

    /** Looks after which the rate is judged. */
    private static final int JUDGED = 16;

    private static final long LONGEST_PERIOD_NANOS = SECOND;

    /** Threads of the JVM that have a Java stack which says nothing of the application. */
    private static final List<String> OF_THE_JVM = Arrays.asList(
        "Reference Handler", "Finalizer", "Signal Dispatcher", "Common-Cleaner", "Attach Listener", "Notification Thread");

    private final ThreadMXBean threads;
    private final long period;
    private final boolean waiting;
    private final int frames;
    private final double share;

    /** Sorted; with the processor time up to which each was sampled. */
    private long[] ids = {};
    private long[] sampled = {};
    private long searched;
    private long due;
    /** How many periods there are between two looks now. */
    private int stride = 1;
    /** ns, of the cheapest look since the rate was judged last: others waited for a processor. */
    private long cost = Long.MAX_VALUE;
    private int looks;

    /**
     * @param share of a core that looks may take; 0: unbounded
     * @throws IllegalArgumentException when this JVM does not measure the processor time of threads
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
        due = System.nanoTime();
        search(due, true);
    }

    /** ns from {@code now} until the next look is due. */
    long nanosUntilDue(long now) {
        return due - now;
    }

    /**
     * Hands on a call for each sample, if a look is due; {@code now}: System.nanoTime.
     *
     * @return null, or how the rate has changed
     */
    String look(Hook hook, long now, List<Hook.Call> calls) {
        if (now - due < 0) {
            return null;
        }
        long apart = period * stride;
        long skipped = (now - due) / apart;
        due += apart * (1 + skipped);
        if (now - searched >= SEARCH_NANOS) {
            search(now, false);
        }
        long[] used = threads.getThreadCpuTime(ids);
        int[] chosen = chosen(used);
        if (chosen.length > 0) {
            sample(hook, chosen, used, (int) Math.min(1 << 20, stride * (1 + skipped)), calls);
        }
        return pace(System.nanoTime() - now);
    }

    /** Places of the threads whose stacks are to be read. */
    private int[] chosen(long[] used) {
        int[] places = new int[ids.length];
        int count = 0;
        for (int i = 0; i < ids.length; i++) {
            if (used[i] >= 0 && (waiting || used[i] - sampled[i] >= period)) {
                places[count++] = i;
            }
        }
        return Arrays.copyOf(places, count);
    }

    private void sample(Hook hook, int[] places, long[] used, int looksMissed, List<Hook.Call> calls) {
        long[] wanted = new long[places.length];
        for (int i = 0; i < wanted.length; i++) {
            wanted[i] = ids[places[i]];
        }
        ThreadInfo[] found = threads.getThreadInfo(wanted, frames);
        for (int i = 0; i < wanted.length; i++) {
            ThreadInfo info = found[i];
            if (info == null || info.getStackTrace().length == 0 || OF_THE_JVM.contains(info.getThreadName())) {
                continue;
            }
            long time = used[places[i]] - sampled[places[i]];
            long weight = looksMissed;
            if (!waiting) {
                if (info.getThreadState() != Thread.State.RUNNABLE) {
                    continue; // it has stopped since: its time counts when it is seen running
                }
                weight = time / period;
                time = weight * period;
            }
            sampled[places[i]] += time;
            SampledStack stack = new SampledStack(wanted[i], info.getThreadName(), info.getStackTrace());
            calls.add(hook.call(stack, weight, wanted[i], info.getThreadName(), false, info.getThreadState().name(), time / weight));
        }
    }

    /** Finds new threads and forgets those that have ended. {@code first}: what they have used before is not sampled. */
    private void search(long now, boolean first) {
        searched = now;
        long[] found = threads.getAllThreadIds();
        Arrays.sort(found);
        long[] others = new long[found.length];
        int count = 0;
        for (long id : found) {
            if (!AgentThread.isOne(id)) {
                others[count++] = id;
            }
        }
        others = Arrays.copyOf(others, count);
        long[] before = new long[count];
        long[] used = first ? threads.getThreadCpuTime(others) : before;
        for (int i = 0; i < count; i++) {
            int place = Arrays.binarySearch(ids, others[i]);
            before[i] = place >= 0 ? sampled[place] : Math.max(0, used[i]);
        }
        ids = others;
        sampled = before;
    }

    /** Looks less often where looks take too much, and as often as was asked for when they no longer do. */
    private String pace(long nanos) {
        cost = Math.min(cost, nanos);
        if (++looks < JUDGED) {
            return null;
        }
        long cheapest = cost;
        cost = Long.MAX_VALUE;
        looks = 0;
        long apart = period * stride;
        if (cheapest > share * apart && apart * 2 <= LONGEST_PERIOD_NANOS) {
            stride *= 2;
        } else if (stride > 1 && cheapest < share * apart / 4) {
            stride /= 2;
        } else {
            return null;
        }
        return "one look at the threads takes " + cheapest / 1000 + " us, there is one every " + period * stride / 1_000_000 + " ms";
    }
}
