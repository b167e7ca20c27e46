import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/** Threads that are blocked on monitors, of a synchronized method and of a block, while one thread holds both. */
public final class Blocked {
    private static final Object LEDGER = new StringBuilder();
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static int entered;

    private Blocked() {}

    public static void main(String[] arguments) throws Exception {
        Thread.currentThread().setName("holder");
        Gate.await();
        hold();
        System.out.println("done");
        System.out.flush();
        Gate.pass();
    }

    private static synchronized void hold() throws Exception {
        List<Thread> threads = new ArrayList<>();
        synchronized (LEDGER) {
            LOCK.lock();
            start(threads, 7, Blocked::throughTheMethod);
            start(threads, 11, Blocked::throughTheBlock);
            start(threads, 5, Blocked::throughTheLock);
            System.out.println("blocked");
            System.out.flush();
            Gate.await();
            LOCK.unlock();
        }
        release(threads);
    }

    private static void release(List<Thread> threads) throws Exception {
        while (threads.stream().filter(Thread::isAlive).count() > 7) {
            Thread.sleep(1);
        }
    }

    private static void start(List<Thread> threads, int count, Runnable work) {
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(work, "waiter");
            thread.start();
            threads.add(thread);
            while (thread.getState() != Thread.State.BLOCKED && thread.getState() != Thread.State.WAITING) {
                Thread.onSpinWait();
            }
        }
    }

    private static synchronized void throughTheMethod() {
        entered++;
    }

    private static void throughTheBlock() {
        synchronized (LEDGER) {
            entered++;
        }
    }

    private static void throughTheLock() {
        LOCK.lock();
        LOCK.unlock();
    }
}
