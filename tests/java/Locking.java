import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.ref.Cleaner;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/**
 * Everything of the JDK that waits, wakes, initialises, starts, ends and collects, a prime number of times each, in threads of its
 * own; told on standard input to begin. A watchdog ends it with the stacks of all threads when any of them stands still.
 */
public final class Locking {
    private static final int TIMES = 211;
    private static final long STALL_MILLIS = 20_000;

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
        };
        for (Thread each : all) {
            each.join();
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

    private static void watch() {
        while (true) {
            LockSupport.parkNanos(200_000_000L);
            PROGRESS.forEach((name, last) -> {
                if (System.nanoTime() - last > STALL_MILLIS * 1_000_000L) {
                    StringBuilder all = new StringBuilder("stalled: " + name + "\n");
                    Thread.getAllStackTraces().forEach((thread, stack) -> {
                        all.append(thread).append('\n');
                        for (StackTraceElement each : stack) {
                            all.append("    at ").append(each).append('\n');
                        }
                    });
                    System.err.print(all);
                    Runtime.getRuntime().halt(1);
                }
            });
        }
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

    /** In a loader of its own each time: two threads at once want it. */
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
        for (Thread each : both) {
            each.join();
        }
    }

    private static void park(int i) {
        Thread self = Thread.currentThread();
        Thread other = new Thread(() -> LockSupport.unpark(self));
        other.start();
        LockSupport.parkNanos(2_000_000_000L);
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
