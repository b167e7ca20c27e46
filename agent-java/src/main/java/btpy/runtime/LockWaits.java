package btpy.runtime;

import java.lang.management.LockInfo;
import java.lang.management.ThreadInfo;
import java.util.HashMap;
import java.util.Map;

/**
 * Samples the threads that wait for a lock of another thread: monitors of {@code synchronized} methods and blocks, and
 * locks of java.util.concurrent that know their owner. Only the agent's event thread uses it.
 */
final class LockWaits {
    /**
     * The largest number of threads whose stacks a sample reads. If more threads are waiting, it reads some of them in
     * turn, and each represents several.
     */
    private static final int MAX_STACKS = 64;
    private static final int FRAMES = 128;
    private static final Object[] NONE = {};

    private final ThreadSnapshots snapshots = new ThreadSnapshots();
    /** By thread, the wait that the previous sample saw. */
    private Map<Long, Seen> seenWaits = new HashMap<Long, Seen>();
    private int turn;
    /** The number of waiting threads for which each sampled thread stands. */
    private long share = 1;

    private static final class Seen {
        final int lock;
        final long blocked;
        final long since;

        Seen(int lock, long blocked, long since) {
            this.lock = lock;
            this.blocked = blocked;
            this.since = since;
        }
    }

    /** A waiting thread, as scripts read it. The names of the fields are part of the language. */
    static final class Wait {
        String thread;
        long tid;
        /** The class of the lock. */
        String lock;
        /** The identity hash of the lock. */
        long id;
        /** Whether the lock is a monitor, and not a lock of java.util.concurrent. */
        boolean monitor;
        /** The place in the application at which the thread waits. */
        String site;
        Object stack;
        /** The thread that owns the lock; null if the JVM does not report it. */
        String owner;
        /** The code that the owner currently runs, as site and stack. */
        String ownerSite;
        Object ownerStack;
        /** Whether no earlier sample has seen this wait. */
        boolean first;
        /**
         * The nanoseconds of waiting for which the sample stands. Their sum over samples estimates the time of all
         * waits.
         */
        long sampled;
        /** The nanoseconds since a sample first saw the wait. */
        long waited;
    }

    /** @return {@code Wait} objects; empty if a sample would cost too much now */
    Object[] take(Session session, String skipped) {
        long now = System.nanoTime();
        if (!snapshots.begin(now)) {
            return NONE;
        }
        ThreadInfo[] waitingThreads = ThreadSnapshots.stacks(selectWaiting(ThreadSnapshots.states()), FRAMES);
        long interval = snapshots.end(System.nanoTime());
        Object[] waits = new Object[waitingThreads.length];
        Map<Long, ThreadInfo> owners = owners(waitingThreads);
        Map<Long, Seen> newWaits = new HashMap<Long, Seen>();
        int count = 0;
        for (ThreadInfo thread : waitingThreads) {
            if (isWaiting(thread)) {
                waits[count++] =
                        wait(session, skipped, thread, owners.get(thread.getLockOwnerId()), newWaits, now, interval);
            }
        }
        this.seenWaits = newWaits;
        return java.util.Arrays.copyOf(waits, count);
    }

    private static boolean isWaiting(ThreadInfo thread) {
        return thread != null
                && thread.getLockInfo() != null
                && (thread.getThreadState() == Thread.State.BLOCKED || thread.getLockOwnerId() >= 0);
    }

    private Wait wait(
            Session session,
            String skipped,
            ThreadInfo thread,
            ThreadInfo owner,
            Map<Long, Seen> newWaits,
            long now,
            long interval) {
        LockInfo lock = thread.getLockInfo();
        Seen lastWait = this.seenWaits.get(thread.getThreadId());
        boolean same = lastWait != null
                && lastWait.lock == lock.getIdentityHashCode()
                && lastWait.blocked == thread.getBlockedCount() + thread.getWaitedCount();
        long since = same ? lastWait.since : now;
        newWaits.put(
                thread.getThreadId(),
                new Seen(lock.getIdentityHashCode(), thread.getBlockedCount() + thread.getWaitedCount(), since));
        Wait wait = new Wait();
        wait.thread = thread.getThreadName();
        wait.tid = thread.getThreadId();
        wait.lock = lock.getClassName();
        wait.id = lock.getIdentityHashCode();
        wait.monitor = thread.getThreadState() == Thread.State.BLOCKED;
        wait.site = session.stacks.frame(thread.getStackTrace(), skipped);
        wait.stack = session.stacks.of(thread.getStackTrace(), session.limits.frames);
        wait.owner = owner == null ? thread.getLockOwnerName() : owner.getThreadName();
        if (owner != null) {
            wait.ownerSite = session.stacks.frame(owner.getStackTrace(), skipped);
            wait.ownerStack = session.stacks.of(owner.getStackTrace(), session.limits.frames);
        }
        wait.first = !same;
        wait.sampled = interval * share;
        wait.waited = now - since;
        return wait;
    }

    /** The ids of the waiting threads, at most {@link #MAX_STACKS}, and of the owners of their locks. */
    private long[] selectWaiting(ThreadInfo[] threads) {
        int count = 0;
        for (int i = 0; i < threads.length; i++) {
            if (isWaiting(threads[i])) {
                threads[count++] = threads[i];
            }
        }
        int limit = Math.min(count, MAX_STACKS);
        share = limit == 0 ? 1 : Math.max(1, (count + limit / 2) / limit);
        long[] ids = new long[2 * limit];
        int size = 0;
        for (int i = 0; i < limit; i++) {
            ThreadInfo thread = threads[(turn + i) % count];
            size = addId(ids, size, thread.getThreadId());
            if (thread.getLockOwnerId() >= 0) {
                size = addId(ids, size, thread.getLockOwnerId());
            }
        }
        turn = count > MAX_STACKS ? (turn + MAX_STACKS) % count : 0;
        return java.util.Arrays.copyOf(ids, size);
    }

    private static int addId(long[] ids, int size, long id) {
        for (int i = 0; i < size; i++) {
            if (ids[i] == id) {
                return size;
            }
        }
        ids[size] = id;
        return size + 1;
    }

    private static Map<Long, ThreadInfo> owners(ThreadInfo[] threads) {
        Map<Long, ThreadInfo> owners = new HashMap<Long, ThreadInfo>();
        for (ThreadInfo thread : threads) {
            if (thread != null) {
                owners.put(thread.getThreadId(), thread);
            }
        }
        return owners;
    }
}
