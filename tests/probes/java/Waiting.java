import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** Threads that wait for locks of java.util.concurrent a known number of times. */
public final class Waiting {
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static final ReentrantReadWriteLock BOTH = new ReentrantReadWriteLock();
    private static final Semaphore PERMITS = new Semaphore(0);
    private static final Object MONITOR = new Object();
    private static int entered;

    private Waiting() {}

    public static void main(String[] arguments) throws Exception {
        Thread.currentThread().setName("holder");
        Gate.await();
        for (int i = 0; i < 13; i++) {
            LOCK.lock();
            Thread waiter = started("waiter", Waiting::throughTheLock);
            blocked(waiter);
            LOCK.unlock();
            waiter.join();
        }
        for (int i = 0; i < 7; i++) {
            BOTH.writeLock().lock();
            Thread reader = started("reader", Waiting::throughTheReadLock);
            blocked(reader);
            BOTH.writeLock().unlock();
            reader.join();
        }
        for (int i = 0; i < 5; i++) {
            Thread taker = started("taker", Waiting::takeAPermit);
            blocked(taker);
            PERMITS.release();
            taker.join();
        }
        for (int i = 0; i < 1009; i++) {
            throughTheLock();
        }
        for (int i = 0; i < 11; i++) {
            throughTheMonitor();
        }
        System.out.println("done");
        System.out.flush();
        Gate.pass();
    }

    private static void throughTheLock() {
        LOCK.lock();
        LOCK.unlock();
    }

    private static void throughTheReadLock() {
        BOTH.readLock().lock();
        BOTH.readLock().unlock();
    }

    private static void throughTheMonitor() {
        synchronized (MONITOR) {
            entered++;
        }
    }

    private static void takeAPermit() {
        PERMITS.acquireUninterruptibly();
    }

    private static Thread started(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.start();
        return thread;
    }

    /** Returns once the thread is parked. */
    private static void blocked(Thread thread) {
        while (thread.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
    }
}
