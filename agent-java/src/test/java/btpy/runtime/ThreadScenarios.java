package btpy.runtime;

import java.io.File;
import java.util.concurrent.CyclicBarrier;

/** Scenarios of the values that the runtime stores for each thread. */
final class ThreadScenarios extends Scenarios {
    ThreadScenarios(File directory) {
        super(directory);
        add("threads", this::manyThreads);
        add("names", this::threadNames);
        add("thread-values", this::threadValues);
    }

    /** One thread takes 200,000 ids, in all tables that the runtime has by thread. */
    private void manyThreads() throws Exception {
        open(new Limits(256 << 10, 200, 2, 20, 20, 32));
        session.addMap(0, MapShape.COUNT, 0, 2, 1, new long[0]);
        final long offset = MEMORY.fieldOffset(Thread.class, "tid");
        Thread many = new Thread("many") {
            @Override
            public void run() {
                long own = MEMORY.getLong(this, offset);
                long used = 0;
                for (int i = 0; i < 200_000; i++) {
                    if (i == 100_000) {
                        used = usedAfterCollection();
                    }
                    MEMORY.putLong(this, offset, 1_000_000L + i);
                    Session entered = enterGuarded(site(1), 1);
                    entered.map(0).count(entered.map(0).slot());
                    Depths.leave(site(1), 1, Depths.enter(site(1), 1));
                    emit(0, i);
                    leave();
                    if (i % 500 == 0) {
                        session.drain(target);
                    }
                }
                MEMORY.putLong(this, offset, own);
                fact("grown", Math.max(0, usedAfterCollection() - used));
            }
        };
        many.start();
        many.join();
        session.drain(target);
        while (session.drain(target) > 0) {
            // drops the records
        }
        finish(0);
    }

    private void threadNames() throws Exception {
        open(defaults());
        Thread thread = new Thread("first") {
            @Override
            public void run() {
                emit(0, 1);
                emit(0, 2);
                setName("second");
                emit(0, 3);
                fact("tid", getId());
            }
        };
        thread.start();
        thread.join();
        fact("virtual", Threads.isVirtual());
        finish();
    }

    private void threadValues() throws Exception {
        open(defaults());
        fact("nothing", ThreadValues.now(session) == null);
        fact("absent", ThreadValues.boxedNumber(null, 0) == null && !ThreadValues.has(null, 31));
        int[] kept = new int[2];
        keep(1_000_000, 20_000, kept);
        fact("kept", kept[0]);
        fact("refused", kept[1]);
        long now = System.nanoTime();
        session.drain(target, now); // both threads have ended
        keep(2_000_000, 8_000, kept = new int[2]);
        fact("kept-again", kept[0]);
        final Object[] seen = new Object[3];
        final CyclicBarrier both = new CyclicBarrier(2);
        Thread waiting = new Thread() {
            @Override
            public void run() {
                try {
                    ThreadValues values = ThreadValues.toChange(session, 3, 1, 777);
                    ThreadValues.setReal(values, 1, 2.5);
                    ThreadValues.set(values, 2, this, session);
                    both.await();
                    both.await();
                    seen[0] = ThreadValues.boxedReal(ThreadValues.now(session), 1);
                    seen[1] = ThreadValues.value(ThreadValues.now(session), 2);
                    ThreadValues.clear(ThreadValues.now(session));
                    seen[2] = ThreadValues.boxedReal(ThreadValues.now(session), 1);
                } catch (Exception broken) {
                    seen[0] = broken;
                }
            }
        };
        waiting.start();
        both.await();
        for (int i = 1; i < 4; i++) {
            session.drain(target, now + i * 2_000_000_000L); // the thread is still alive
        }
        both.await();
        waiting.join();
        fact("of-a-live-thread", seen[0]);
        fact("object", seen[1] != null && !(seen[1] instanceof Thread));
        fact("cleared", seen[2] == null);
        session.drain(target, now + 8_000_000_000L);
        keep(3_000_000, 8_000, kept = new int[2]);
        fact("kept-at-last", kept[0]);
        finish();
    }

    /**
     * Changes values of threads as {@code thread.n += 1} does. One thread takes the ids of {@code count} threads, one
     * after the other.
     */
    private void keep(final long first, final int count, final int[] kept) throws Exception {
        final long offset = MEMORY.fieldOffset(Thread.class, "tid");
        Thread many = new Thread() {
            @Override
            public void run() {
                long own = MEMORY.getLong(this, offset);
                for (long tid = first; tid < first + count; tid++) {
                    MEMORY.putLong(this, offset, tid);
                    ThreadValues values = ThreadValues.toChange(session, 3, 1, 777);
                    ThreadValues.addNumber(values, 0, tid);
                    ThreadValues.addNumber(values, 0, 1);
                    kept[ThreadValues.has(ThreadValues.now(session), 0) ? 0 : 1]++;
                }
                MEMORY.putLong(this, offset, own);
            }
        };
        many.start();
        many.join();
    }

    private static long usedAfterCollection() {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 3; i++) {
            System.gc();
            least = Math.min(least, Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory());
        }
        return least;
    }
}
