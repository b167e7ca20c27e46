import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.ref.Cleaner;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import sun.misc.Signal;

/**
 * Threads that wait, wake, initialise classes, start, end, collect garbage and receive signals, each a prime number of times. They begin
 * when a line comes on standard input. A watchdog ends the program and prints all stacks when a thread makes no progress for a second
 * (-Dstall.millis). The time in which the watchdog itself got no processor does not count.
 */
public final class Locking {
    private static final int TIMES = 211;

    /** A thread has stalled if it makes no progress for this time while threads without probes make progress. */
    private static final long STALL_MILLIS = Long.getLong("stall.millis", 1_000);

    /** If the watchdog gets a processor within this time, the machine itself has not stopped. */
    private static final long CONTROL_MILLIS = 50;

    private static final ConcurrentHashMap<String, Long> PROGRESS = new ConcurrentHashMap<>();
    private static final AtomicInteger CLEANED = new AtomicInteger();
    static final AtomicInteger INITIALISED = new AtomicInteger();

    interface Work {
        void step(int i) throws Exception;
    }

    private Locking() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        System.in.read();
        Thread dog = new Thread(Locking::watch, "watchdog");
        dog.setDaemon(true);
        dog.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook " + Finalized.class.getName())));
        Thread[] all = {
            loop("wait", Locking::waited), loop("initialise", Locking::initialise), loop("start", Locking::startAndEnd),
            loop("collect", Locking::collect), loop("load", Locking::load), loop("park", Locking::park),
            loop("log", Locking::log), loop("print", Locking::print), loop("lock", Locking::lock),
            loop("signal", Locking::signal),
        };
        for (Thread thread : all) {
            thread.join();
        }
        System.out.println("done initialised " + INITIALISED.get());
    }

    private static Thread loop(String name, Work work) {
        PROGRESS.put(name, System.nanoTime());
        Thread thread = new Thread(() -> {
            try {
                for (int i = 0; i < TIMES; i++) {
                    work.step(i);
                    PROGRESS.put(name, System.nanoTime());
                }
            } catch (Exception failed) {
                failed.printStackTrace();
            }
            PROGRESS.remove(name);
        }, name);
        thread.start();
        return thread;
    }

    /**
     * Sleeps for a moment, over and over. If a sleep takes much longer, the machine or a collection has stopped all threads; that time does
     * not count as a stall.
     */
    private static void watch() {
        long before = System.nanoTime();
        while (true) {
            LockSupport.parkNanos(CONTROL_MILLIS * 1_000_000L / 5);
            long now = System.nanoTime();
            long late = now - before;
            before = now;
            if (late > CONTROL_MILLIS * 1_000_000L) {
                PROGRESS.replaceAll((name, last) -> last + late);
            }
            PROGRESS.forEach((name, last) -> {
                if (now - last > STALL_MILLIS * 1_000_000L) {
                    stalled(name);
                }
            });
        }
    }

    private static void stalled(String name) {
        StringBuilder all = new StringBuilder("stalled: " + name + "\n");
        Thread.getAllStackTraces().forEach((thread, stack) -> {
            all.append(thread).append('\n');
            for (StackTraceElement frame : stack) {
                all.append("    at ").append(frame).append('\n');
            }
        });
        System.err.print(all);
        Runtime.getRuntime().halt(1);
    }

    static int waited(int i) {
        Object lock = new Object();
        synchronized (lock) {
            try {
                lock.wait(1);
            } catch (InterruptedException nobody) {
                return -1;
            }
        }
        return i;
    }

    private static void initialise(int i) throws Exception {
        Class.forName("Locking$Initialised", true, loader());
    }

    private static ClassLoader loader() {
        URL here = Locking.class.getProtectionDomain().getCodeSource().getLocation();
        return new URLClassLoader(new URL[] {here}, ClassLoader.getPlatformClassLoader());
    }

    /** Each class has a new loader, and two threads load it at once. */
    static final class Initialised {
        static final int VALUE;

        static {
            Thread other = new Thread(() -> { });
            other.start();
            VALUE = value();
            System.setProperty("initialised", String.valueOf(VALUE));
        }

        static int value() {
            return 7;
        }
    }

    private static void startAndEnd(int i) throws Exception {
        CountDownLatch ended = new CountDownLatch(2);
        for (int k = 0; k < 2; k++) {
            new Thread(ended::countDown).start();
        }
        ended.await();
        INITIALISED.incrementAndGet();
    }

    private static final Cleaner CLEANER = Cleaner.create();

    @SuppressWarnings("deprecation")
    static final class Finalized {
        @Override
        protected void finalize() {
            CLEANED.incrementAndGet();
        }
    }

    private static void collect(int i) throws Exception {
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        PhantomReference<Object> reference = new PhantomReference<>(new Object(), queue);
        CLEANER.register(new Object(), CLEANED::incrementAndGet);
        new Finalized();
        if (i % 20 == 0) {
            System.gc();
            queue.remove(100);
        }
        reference.clear();
    }

    private static void load(int i) throws Exception {
        ClassLoader shared = loader();
        Thread[] both = new Thread[2];
        for (int k = 0; k < both.length; k++) {
            both[k] = new Thread(() -> {
                try {
                    shared.loadClass("Locking$Initialised");
                } catch (ClassNotFoundException impossible) {
                    throw new AssertionError(impossible);
                }
            });
            both[k].start();
        }
        for (Thread thread : both) {
            thread.join();
        }
    }

    private static void park(int i) {
        Thread self = Thread.currentThread();
        Thread other = new Thread(() -> LockSupport.unpark(self));
        other.start();
        LockSupport.parkNanos(2_000_000_000L);
    }

    private static final Signal SIGNAL = new Signal("USR2");
    private static final Semaphore SIGNALLED = new Semaphore(0);

    /** The JVM's dispatcher starts a thread for each signal; this thread calls the handler. */
    private static void signal(int i) throws Exception {
        if (i == 0) {
            Signal.handle(SIGNAL, Locking::handle);
        }
        Signal.raise(SIGNAL);
        SIGNALLED.acquire();
    }

    /** Traced. */
    static void handle(Signal signal) {
        SIGNALLED.release();
    }

    private static final Logger LOGGER = Logger.getLogger("locking");

    private static void log(int i) {
        if (i == 0) {
            LOGGER.setUseParentHandlers(false);
            LOGGER.addHandler(new Handler() {
                @Override
                public synchronized void publish(LogRecord record) {
                    record.getMessage();
                }

                @Override
                public void flush() { }

                @Override
                public void close() { }
            });
        }
        LOGGER.info("step " + i);
    }

    private static void print(int i) {
        new PrintStream(new ByteArrayOutputStream(), true).println("line " + i);
        System.out.println("line " + i);
    }

    private static final ReentrantLock LOCK = new ReentrantLock();

    private static void lock(int i) throws Exception {
        Thread other = new Thread(() -> {
            LOCK.lock();
            LOCK.unlock();
        });
        LOCK.lock();
        try {
            other.start();
        } finally {
            LOCK.unlock();
        }
        other.join();
    }
}
