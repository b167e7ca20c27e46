import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Exceptions that end threads, and failures of futures: the program reads some of them. */
public final class Dying {
    private Dying() {}

    static final class Broken extends RuntimeException {
        Broken(String message) {
            super(message);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Thread.setDefaultUncaughtExceptionHandler((where, what) -> {});
        Gate.await();
        for (int i = 0; i < 7; i++) {
            Thread thread = new Thread(Dying::die, "worker-" + i);
            thread.start();
            thread.join();
        }
        for (int i = 0; i < 3 && arguments.length > 0; i++) {
            Thread thread = (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class)
                    .invoke(null, (Runnable) Dying::die);
            thread.join();
        }
        tasks();
        stages(arguments.length > 0);
        System.out.println("done");
        System.out.flush();
        Gate.pass();
    }

    private static void die() {
        throw new Broken("the thread ends");
    }

    private static Integer fail() {
        throw new Broken("no result");
    }

    private static Integer failStage() {
        throw new Broken("no stage");
    }

    /** 13 tasks fail, and the program reads 5 of the exceptions. */
    private static void tasks() throws Exception {
        ExecutorService pool = Executors.newSingleThreadExecutor();
        for (int i = 0; i < 13; i++) {
            Future<?> future = pool.submit((Callable<Integer>) Dying::fail);
            if (i < 5) {
                try {
                    future.get();
                } catch (ExecutionException e) {
                    // The program ignores the exception.
                }
            }
        }
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.MINUTES);
    }

    /** 17 stages fail. The program reads 3 by join(), 2 by handle() and 2 that stages have passed on; 11 promises fail, too. */
    private static void stages(boolean now) throws Exception {
        for (int i = 0; i < 17; i++) {
            CompletableFuture<Integer> future = CompletableFuture.supplyAsync(Dying::failStage);
            if (i < 3) {
                try {
                    future.join();
                } catch (CompletionException e) {
                    // The program ignores the exception.
                }
            } else if (i < 5) {
                future.handle((result, failure) -> 1).join();
            } else if (i < 7) {
                future.thenApply(result -> result + 1).thenApply(result -> result * 2).exceptionally(failure -> 1).get();
            } else {
                while (!future.isDone()) {
                    Thread.onSpinWait();
                }
            }
        }
        for (int i = 0; i < 11; i++) {
            new CompletableFuture<Integer>().completeExceptionally(new IllegalStateException("promised " + i));
        }
        if (now) {
            CompletableFuture<Integer> promise = new CompletableFuture<>();
            promise.completeExceptionally(new Broken("read at once"));
            CompletableFuture.class.getMethod("exceptionNow").invoke(promise);
        }
    }
}
