import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;

/** A thread that waits for futures, and for other objects. It always begins to wait before there is a result. */
public final class Awaiting {
    private static final ExecutorService POOL = Executors.newSingleThreadExecutor(work -> new Thread(work, "worker-1"));

    private Awaiting() {}

    public static void main(String[] arguments) throws Exception {
        Gate.await();
        for (int i = 0; i < 13; i++) {
            join();
        }
        for (int i = 0; i < 7; i++) {
            task();
        }
        for (int i = 0; i < 3; i++) {
            giveUp();
        }
        for (int i = 0; i < 2; i++) {
            giveUpTask();
        }
        for (int i = 0; i < 17; i++) {
            CompletableFuture.completedFuture(i).join();
        }
        for (int i = 0; i < 5; i++) {
            takeABreak();
        }
        for (int i = 0; i < 11; i++) {
            passBy(poll());
        }
        POOL.shutdown();
        POOL.awaitTermination(1, TimeUnit.MINUTES);
        System.out.println("done");
        System.out.flush();
        Gate.pass();
    }

    /** Runs the work when the main thread waits. */
    private static void whenItWaits(Runnable work) {
        Thread main = Thread.currentThread();
        POOL.execute(() -> {
            while (main.getState() != Thread.State.WAITING && main.getState() != Thread.State.TIMED_WAITING) {
                Thread.onSpinWait();
            }
            work.run();
        });
    }

    private static void join() {
        CompletableFuture<Integer> future = new CompletableFuture<>();
        whenItWaits(() -> future.complete(1));
        future.join();
    }

    private static void task() throws Exception {
        CountDownLatch begin = new CountDownLatch(1);
        Thread main = Thread.currentThread();
        Future<Integer> future = POOL.submit(() -> {
            begin.await();
            while (main.getState() != Thread.State.WAITING) {
                Thread.onSpinWait();
            }
            return 1;
        });
        begin.countDown();
        future.get();
    }

    private static void giveUp() throws Exception {
        try {
            new CompletableFuture<Integer>().get(2, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            // the expected result
        }
    }

    private static void giveUpTask() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        Future<?> future = POOL.submit(() -> {
            end.await();
            return null;
        });
        try {
            future.get(2, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            end.countDown();
        }
    }

    private static void takeABreak() {
        LockSupport.parkNanos(2_000_000);
    }

    private static Integer poll() throws Exception {
        return new LinkedBlockingQueue<Integer>().poll(2, TimeUnit.MILLISECONDS);
    }

    /** The thread gets its permit before it parks, so it does not wait. */
    private static void passBy(Integer nothing) {
        LockSupport.unpark(Thread.currentThread());
        LockSupport.park();
    }
}
