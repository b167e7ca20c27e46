import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Tasks in pools of the JDK: some wait, some are rejected, some throw; the program reads some of the exceptions. */
public final class Executing {
    private Executing() {}

    public static void main(String[] arguments) throws Exception {
        ThreadPoolExecutor orders = pool("orders", 1, new LinkedBlockingQueue<>());
        orders.prestartAllCoreThreads();
        Gate.await();
        execute(orders);
        reject();
        fail(orders);
        throwAway();
        schedule();
        fork();
        futures();
        share();
        if (arguments.length > 0) {
            virtual(Integer.parseInt(arguments[0]));
        }
        finish(orders);
        System.out.println("orders " + orders.getCompletedTaskCount());
        System.out.println("done");
        System.out.flush();
        Gate.pass();
    }

    private static ThreadPoolExecutor pool(String name, int threads, BlockingQueue<Runnable> queue) {
        return new ThreadPoolExecutor(threads, threads, 1, TimeUnit.MINUTES, queue, named(name));
    }

    private static ThreadFactory named(String name) {
        AtomicInteger number = new AtomicInteger();
        return task -> new Thread(task, name + "-" + number.incrementAndGet());
    }

    /** Starts a task of the pool that ends when the returned latch is open. */
    private static CountDownLatch block(ThreadPoolExecutor pool) throws InterruptedException {
        CountDownLatch first = new CountDownLatch(1);
        CountDownLatch begun = new CountDownLatch(1);
        pool.execute(() -> {
            begun.countDown();
            await(first);
        });
        begun.await();
        return first;
    }

    /** 31 tasks wait behind one that takes 200 ms; each takes 2 ms. */
    private static void execute(ThreadPoolExecutor orders) throws InterruptedException {
        CountDownLatch first = block(orders);
        for (int i = 0; i < 31; i++) {
            orders.execute(() -> sleep(2));
        }
        sleep(200);
        first.countDown();
    }

    /** A queue of 5 in a subclass of the pool: 7 tasks are rejected, and 3 more after the pool is shut down. */
    private static void reject() throws InterruptedException {
        ThreadPoolExecutor small = new ThreadPoolExecutor(
                1, 1, 1, TimeUnit.MINUTES, new ArrayBlockingQueue<>(5), named("small")) {
            @Override
            protected void beforeExecute(Thread thread, Runnable task) {
                // Without super.beforeExecute().
            }

            @Override
            protected void afterExecute(Runnable task, Throwable thrown) {
                super.afterExecute(task, thrown);
            }
        };
        CountDownLatch first = block(small);
        for (int i = 0; i < 5 + 7; i++) {
            offer(small);
        }
        first.countDown();
        finish(small);
        for (int i = 0; i < 3; i++) {
            offer(small);
        }
    }

    private static void offer(ThreadPoolExecutor small) {
        try {
            small.execute(() -> sleep(1));
        } catch (RejectedExecutionException e) {
            // There is no room.
        }
    }

    /** The program reads 3 of 11 exceptions in submitted tasks. */
    private static void fail(ThreadPoolExecutor orders) throws InterruptedException {
        for (int i = 0; i < 11; i++) {
            Future<?> future = orders.submit(broken("no order " + i));
            if (i < 3) {
                try {
                    future.get();
                    throw new AssertionError("the task has not failed");
                } catch (ExecutionException e) {
                    // The program reads the exception twice.
                }
                try {
                    future.get();
                } catch (ExecutionException e) {
                    // The program has already read this exception.
                }
            }
        }
    }

    private static Callable<String> broken(String message) {
        return () -> {
            throw new IllegalStateException(message);
        };
    }

    /** 2 tasks end their threads. */
    private static void throwAway() throws InterruptedException {
        ThreadPoolExecutor dying = new ThreadPoolExecutor(1, 1, 1, TimeUnit.MINUTES, new LinkedBlockingQueue<>(), task -> {
            Thread thread = new Thread(task, "dying");
            thread.setUncaughtExceptionHandler((dead, exception) -> {});
            return thread;
        });
        for (int i = 0; i < 2; i++) {
            dying.execute(() -> {
                throw new IllegalArgumentException("the thread ends");
            });
        }
        finish(dying);
    }

    /** 17 tasks with a delay, and one that is repeated until its 5th run fails. One more blocks the only thread. */
    private static void schedule() throws Exception {
        ScheduledExecutorService timers = Executors.newScheduledThreadPool(1, named("timers"));
        CountDownLatch ran = new CountDownLatch(17);
        for (int i = 0; i < 17; i++) {
            timers.schedule(ran::countDown, 20, TimeUnit.MILLISECONDS);
        }
        timers.execute(() -> sleep(150));
        ran.await();
        AtomicInteger runs = new AtomicInteger();
        CountDownLatch failed = new CountDownLatch(1);
        timers.scheduleAtFixedRate(() -> {
            if (runs.incrementAndGet() == 5) {
                failed.countDown();
                throw new UnsupportedOperationException("never again");
            }
        }, 1, 1, TimeUnit.MILLISECONDS);
        failed.await();
        finish(timers);
    }

    /** 19 tasks in a separate ForkJoinPool, each of which forks. */
    private static void fork() throws InterruptedException {
        ForkJoinPool forks = new ForkJoinPool(2);
        CountDownLatch ran = new CountDownLatch(19);
        for (int i = 0; i < 19; i++) {
            forks.execute(() -> {
                new Sum(1, 64).invoke();
                sleep(1);
                ran.countDown();
            });
        }
        ran.await();
        finish(forks);
    }

    /** 23 tasks in the common pool, and 13 in a pool that is passed to CompletableFuture. */
    private static void futures() throws InterruptedException {
        CountDownLatch ran = new CountDownLatch(23);
        for (int i = 0; i < 23; i++) {
            CompletableFuture.runAsync(() -> {
                sleep(1);
                ran.countDown();
            }, ForkJoinPool.commonPool());
        }
        ran.await();
        ExecutorService mails = pool("mails", 2, new LinkedBlockingQueue<>());
        for (int i = 0; i < 13; i++) {
            CompletableFuture.runAsync(() -> sleep(1), mails);
        }
        finish(mails);
    }

    /** Two threads submit one object at once, again and again. */
    private static void share() throws Exception {
        ThreadPoolExecutor shared = pool("shared", 2, new LinkedBlockingQueue<>());
        shared.prestartAllCoreThreads();
        Runnable nothing = () -> {};
        Thread other = new Thread(() -> submit(shared, nothing));
        other.start();
        submit(shared, nothing);
        other.join();
        finish(shared);
    }

    private static void submit(ThreadPoolExecutor pool, Runnable task) {
        for (int i = 0; i < 5003; i++) {
            pool.execute(task);
        }
    }

    private static void virtual(int count) throws Exception {
        for (int i = 0; i < count; i++) {
            Thread thread = (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class)
                    .invoke(null, (Runnable) () -> sleep(3));
            thread.join();
        }
    }

    private static void finish(ExecutorService pool) throws InterruptedException {
        pool.shutdown();
        if (!pool.awaitTermination(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException("the tasks do not end");
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void sleep(int milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static final class Sum extends RecursiveTask<Integer> {
        private final int from;
        private final int to;

        Sum(int from, int to) {
            this.from = from;
            this.to = to;
        }

        @Override
        protected Integer compute() {
            if (to - from < 4) {
                return to - from;
            }
            Sum left = new Sum(from, (from + to) / 2);
            left.fork();
            return new Sum((from + to) / 2, to).compute() + left.join();
        }
    }
}
