package btpy.runtime;

import java.lang.management.LockInfo;
import java.lang.management.ThreadInfo;
import java.util.HashMap;
import java.util.Map;

/**
 * Which threads wait for a lock that another one holds, seen by sampling: monitors of {@code synchronized} methods and blocks, and
 * the locks of java.util.concurrent that know their owner. Agent's event thread only.
 */
final class LockWaits {
    /** Threads whose stacks a sample takes; of more it takes some in turn, and each stands for several. */
    private static final int MOST = 64;
    private static final int FRAMES = 128;
    private static final Object[] NONE = {};

    private final ThreadSnapshots snapshots = new ThreadSnapshots();
    /** By thread: the wait that the sample before has seen. */
    private Map<Long, Seen> seen = new HashMap<Long, Seen>();
    private int turn;
    /** How many waiting threads each one in the sample stands for. */
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

    /** A thread that waits, as scripts read it: the names of the fields are part of the language. */
    static final class Wait {
        String thread;
        long tid;
        /** Class of the lock. */
        String lock;
        /** Identity hash of the lock. */
        long id;
        /** Whether it is a monitor, and not a lock of java.util.concurrent. */
        boolean monitor;
        /** Where the application waits. */
        String site;
        Object stack;
        /** The thread that holds the lock; null where the JVM does not tell it. */
        String owner;
        /** The code that the owner runs now, as site and stack. */
        String ownerSite;
        Object ownerStack;
        /** No sample has seen this wait before. */
        boolean first;
        /** Nanoseconds of waiting that the sample stands for: the sum over samples estimates the time of all waits. */
        long sampled;
        /** Nanoseconds since a sample saw the wait first. */
        long waited;
    }

    /** @return {@code Wait} objects; empty while a sample would cost too much */
    Object[] take(Session session, String skipped) {
        long now = System.nanoTime();
        if (!snapshots.begin(now)) {
            return NONE;
        }
        ThreadInfo[] waiting = stacks(waiting(ThreadSnapshots.states()));
        long interval = snapshots.end(System.nanoTime());
        Object[] waits = new Object[waiting.length];
        Map<Long, ThreadInfo> owners = owners(waiting);
        Map<Long, Seen> seen = new HashMap<Long, Seen>();
        int count = 0;
        for (ThreadInfo thread : waiting) {
            if (isWaiting(thread)) {
                waits[count++] = wait(session, skipped, thread, owners.get(thread.getLockOwnerId()), seen, now, interval);
            }
        }
        this.seen = seen;
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
            Map<Long, Seen> seen,
            long now,
            long interval) {
        LockInfo lock = thread.getLockInfo();
        Seen before = this.seen.get(thread.getThreadId());
        boolean same = before != null
                && before.lock == lock.getIdentityHashCode()
                && before.blocked == thread.getBlockedCount() + thread.getWaitedCount();
        long since = same ? before.since : now;
        seen.put(
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

    /** Ids of the threads that wait, and of the owners of what they wait for; at most {@link #MOST} that wait. */
    private long[] waiting(ThreadInfo[] threads) {
        int count = 0;
        for (int i = 0; i < threads.length; i++) {
            if (isWaiting(threads[i])) {
                threads[count++] = threads[i];
            }
        }
        int most = Math.min(count, MOST);
        share = most == 0 ? 1 : Math.max(1, (count + most / 2) / most);
        long[] ids = new long[2 * most];
        int size = 0;
        for (int i = 0; i < most; i++) {
            ThreadInfo thread = threads[(turn + i) % count];
            size = with(ids, size, thread.getThreadId());
            if (thread.getLockOwnerId() >= 0) {
                size = with(ids, size, thread.getLockOwnerId());
            }
        }
        turn = count > MOST ? (turn + MOST) % count : 0;
        return java.util.Arrays.copyOf(ids, size);
    }

    private static int with(long[] ids, int size, long id) {
        for (int i = 0; i < size; i++) {
            if (ids[i] == id) {
                return size;
            }
        }
        ids[size] = id;
        return size + 1;
    }

    private static ThreadInfo[] stacks(long[] ids) {
        return ids.length == 0 ? new ThreadInfo[0] : ThreadSnapshots.stacks(ids, FRAMES);
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
