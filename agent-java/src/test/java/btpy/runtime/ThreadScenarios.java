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

    /** One thread changes its id 200,000 times, and uses all tables of the runtime whose keys are threads. */
    private void manyThreads() throws Exception {
        open(new Limits(256 << 10, 200, 2, 20, 20, 32));
        session.addMap(0, MapShape.COUNT, 0, 2, 1, new long[0]);
        final long offset = MEMORY.fieldOffset(Thread.class, "tid");
        Thread many = new Thread("many") {
            @Override
            public void run() {
                long ownValue = MEMORY.getLong(this, offset);
                long usedIds = 0;
                for (int i = 0; i < 200_000; i++) {
                    if (i == 100_000) {
                        usedIds = usedAfterCollection();
                    }
                    MEMORY.putLong(this, offset, 1_000_000L + i);
                    Session enteredSession = enterGuarded(site(1), 1);
                    enteredSession.map(0).count(enteredSession.map(0).slot());
                    Depths.leave(site(1), 1, Depths.enter(site(1), 1));
                    emit(0, i);
                    leave();
                    if (i % 500 == 0) {
                        session.drain(target);
                    }
                }
                MEMORY.putLong(this, offset, ownValue);
                fact("grown", Math.max(0, usedAfterCollection() - usedIds));
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
        int[] counts = new int[2];
        keep(1_000_000, 20_000, counts);
        fact("kept", counts[0]);
        fact("refused", counts[1]);
        long now = System.nanoTime();
        session.drain(target, now); // both threads have ended
        keep(2_000_000, 8_000, counts = new int[2]);
        fact("kept-again", counts[0]);
        final Object[] results = new Object[3];
        final CyclicBarrier barrier = new CyclicBarrier(2);
        Thread waitingThread = new Thread() {
            @Override
            public void run() {
                try {
                    ThreadValues values = ThreadValues.toChange(session, 3, 1, 777);
                    ThreadValues.setReal(values, 1, 2.5);
                    ThreadValues.set(values, 2, this, session);
                    barrier.await();
                    barrier.await();
                    results[0] = ThreadValues.boxedReal(ThreadValues.now(session), 1);
                    results[1] = ThreadValues.value(ThreadValues.now(session), 2);
                    ThreadValues.clear(ThreadValues.now(session));
                    results[2] = ThreadValues.boxedReal(ThreadValues.now(session), 1);
                } catch (Exception error) {
                    results[0] = error;
                }
            }
        };
        waitingThread.start();
        barrier.await();
        for (int i = 1; i < 4; i++) {
            session.drain(target, now + i * 2_000_000_000L); // the thread is still alive
        }
        barrier.await();
        waitingThread.join();
        fact("of-a-live-thread", results[0]);
        fact("object", results[1] != null && !(results[1] instanceof Thread));
        fact("cleared", results[2] == null);
        session.drain(target, now + 8_000_000_000L);
        keep(3_000_000, 8_000, counts = new int[2]);
        fact("kept-at-last", counts[0]);
        finish();
    }

    /**
     * Changes values of threads as {@code thread.n += 1} does. One thread acts as {@code count} threads: it takes one
     * id after the other.
     */
    private void keep(final long first, final int count, final int[] counts) throws Exception {
        final long offset = MEMORY.fieldOffset(Thread.class, "tid");
        Thread many = new Thread() {
            @Override
            public void run() {
                long ownValue = MEMORY.getLong(this, offset);
                for (long tid = first; tid < first + count; tid++) {
                    MEMORY.putLong(this, offset, tid);
                    ThreadValues values = ThreadValues.toChange(session, 3, 1, 777);
                    ThreadValues.addNumber(values, 0, tid);
                    ThreadValues.addNumber(values, 0, 1);
                    counts[ThreadValues.has(ThreadValues.now(session), 0) ? 0 : 1]++;
                }
                MEMORY.putLong(this, offset, ownValue);
            }
        };
        many.start();
        many.join();
    }

    private static long usedAfterCollection() {
        long smallest = Long.MAX_VALUE;
        for (int i = 0; i < 3; i++) {
            System.gc();
            smallest = Math.min(smallest, Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory());
        }
        return smallest;
    }
}
