import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * Handles several requests at a time. Their work runs on other threads. {@code handle} begins a request, and {@code
 * work} runs for it, both with the number of the request.
 */
public class HandOvers {
    interface HandOver {
        void run(Runnable work) throws Exception;
    }

    static final ExecutorService POOL = Executors.newFixedThreadPool(5);
    static final ScheduledExecutorService SCHEDULED = Executors.newScheduledThreadPool(3);
    static final ForkJoinPool FORKS = new ForkJoinPool(4);
    /** A pool whose thread was started by no request, and works for no request. */
    static final ExecutorService OTHERS = Executors.newSingleThreadExecutor();
    static final Timer TIMER = new Timer(true);
    static final Map<String, HandOver> KINDS = new LinkedHashMap<>();

    static class Halves extends RecursiveAction {
        final int size;
        final Runnable work;

        Halves(int size, Runnable work) {
            this.size = size;
            this.work = work;
        }

        @Override
        protected void compute() {
            if (size == 1) {
                work.run();
            } else {
                invokeAll(new Halves(size / 2, work), new Halves(size - size / 2, work));
            }
        }
    }

    static {
        KINDS.put("thread", work -> {
            Thread thread = new Thread(work);
            thread.start();
            thread.join();
        });
        KINDS.put("own thread", work -> {
            Thread thread = new Thread() {
                @Override
                public void run() {
                    work.run();
                }
            };
            thread.start();
            thread.join();
        });
        KINDS.put("execute", work -> await(done -> POOL.execute(() -> {
            work.run();
            done.countDown();
        })));
        KINDS.put("submit", work -> POOL.submit(work).get());
        KINDS.put("invokeAll", work -> POOL.invokeAll(Arrays.asList(callable(work), callable(work))).get(1).get());
        KINDS.put("completion service", work -> {
            ExecutorCompletionService<Void> service = new ExecutorCompletionService<>(POOL);
            service.submit(callable(work));
            service.take();
        });
        KINDS.put("schedule", work -> SCHEDULED.schedule(work, 1, TimeUnit.MILLISECONDS).get());
        KINDS.put("execute scheduled", work -> await(done -> SCHEDULED.execute(() -> {
            work.run();
            done.countDown();
        })));
        KINDS.put("timer", work -> await(done -> TIMER.schedule(new TimerTask() {
            @Override
            public void run() {
                work.run();
                done.countDown();
            }
        }, 1)));
        KINDS.put("fork join submit", work -> FORKS.submit(work).get());
        KINDS.put("fork join execute", work -> await(done -> FORKS.execute(() -> {
            work.run();
            done.countDown();
        })));
        KINDS.put("fork join tasks", work -> FORKS.invoke(new Halves(8, work)));
        KINDS.put("common pool", work -> ForkJoinPool.commonPool().invoke(new Halves(8, work)));
        KINDS.put("parallel stream", work -> IntStream.range(0, 8).parallel().forEach(i -> work.run()));
        KINDS.put("parallel stream in a pool",
                work -> FORKS.submit(() -> IntStream.range(0, 8).parallel().forEach(i -> work.run())).get());
        KINDS.put("runAsync", work -> CompletableFuture.runAsync(work).get());
        KINDS.put("runAsync in a pool", work -> CompletableFuture.runAsync(work, POOL).get());
        KINDS.put("supplyAsync", work -> CompletableFuture.supplyAsync(() -> {
            work.run();
            return 1;
        }, POOL).thenApplyAsync(one -> {
            work.run();
            return 2;
        }).thenAcceptAsync(two -> work.run(), POOL).get());
        KINDS.put("composed", work -> CompletableFuture.supplyAsync(() -> 1)
                .thenComposeAsync(one -> CompletableFuture.runAsync(work), POOL)
                .handleAsync((none, failure) -> {
                    work.run();
                    return 1;
                }).whenCompleteAsync((one, failure) -> work.run(), POOL).get());
        KINDS.put("combined", work -> CompletableFuture.runAsync(() -> {}, POOL)
                .runAfterBothAsync(CompletableFuture.runAsync(() -> {}), work)
                .runAfterEitherAsync(new CompletableFuture<>(), work, POOL).get());
        KINDS.put("completed by others", work -> {
            CompletableFuture<Void> future = new CompletableFuture<>();
            CompletableFuture<Void> all =
                    CompletableFuture.allOf(future.thenRunAsync(work), future.thenRunAsync(work, POOL));
            OTHERS.submit(() -> future.complete(null));
            all.get();
        });
        KINDS.put("stages", work -> {
            CompletableFuture<Integer> one = new CompletableFuture<>();
            CompletableFuture<Integer> other = new CompletableFuture<>();
            CompletableFuture<Void> all = CompletableFuture.allOf(
                    one.thenRun(work).thenAccept(none -> work.run()),
                    one.thenCombine(other, (a, b) -> a + b).thenApply(sum -> {
                        work.run();
                        return sum;
                    }),
                    one.runAfterBoth(other, work).whenComplete((none, failure) -> work.run()),
                    other.thenCompose(number -> {
                        work.run();
                        return one;
                    }).handle((number, failure) -> {
                        work.run();
                        return 1;
                    }),
                    one.thenApply(number -> 1 / 0).exceptionally(failure -> {
                        work.run();
                        return 1;
                    }));
            OTHERS.submit(() -> one.complete(1));
            OTHERS.submit(() -> other.complete(2));
            all.get();
        });
        if (!System.getProperty("java.specification.version").matches("1.8|11|17")) {
            KINDS.put("virtual", work -> {
                Thread thread =
                        (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work);
                thread.join();
            });
            KINDS.put("virtual in an executor", work -> virtual().submit(work).get());
            KINDS.put("structured", work -> structured(work::run));
            KINDS.put("structured in another", work -> structured(() -> {
                work.run();
                structured(work::run);
            }));
        }
    }

    interface Task {
        void run() throws Exception;
    }

    /** Runs the task in two forks of a StructuredTaskScope, whose preview API differs between Java 21 and 25. */
    private static void structured(Task task) throws Exception {
        Callable<Void> fork = () -> {
            task.run();
            return null;
        };
        Class<?> type = Class.forName("java.util.concurrent.StructuredTaskScope");
        boolean isJava21 = System.getProperty("java.specification.version").equals("21");
        Object scope = isJava21 ? type.getConstructor().newInstance() : type.getMethod("open").invoke(null);
        try {
            type.getMethod("fork", Callable.class).invoke(scope, fork);
            type.getMethod("fork", Callable.class).invoke(scope, fork);
            type.getMethod("join").invoke(scope);
        } finally {
            type.getMethod("close").invoke(scope);
        }
    }

    private static ExecutorService virtual;

    private static synchronized ExecutorService virtual() throws Exception {
        if (virtual == null) {
            virtual = (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        }
        return virtual;
    }

    private static Callable<Void> callable(Runnable work) {
        return () -> {
            work.run();
            return null;
        };
    }

    interface Waiting {
        void run(CountDownLatch done) throws Exception;
    }

    private static void await(Waiting waiting) throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        waiting.run(done);
        done.await();
    }

    static void work(String kind, int request) {
        Thread.yield();
    }

    /** The requests that wait for {@link #SHARED}, in the order in which it was queued. */
    static final Queue<Integer> WAITING = new ConcurrentLinkedQueue<>();
    static final Runnable SHARED = () -> work("shared", WAITING.remove());

    /** Handles requests while their only thread is busy. */
    private static void crowd(String kind, int requests) throws Exception {
        CountDownLatch gate = new CountDownLatch(1);
        OTHERS.submit(() -> {
            gate.await();
            return null;
        });
        for (int request = 0; request < requests; request++) {
            handle(kind, request);
        }
        System.out.println("waiting " + usedHeap());
        gate.countDown();
        OTHERS.submit(() -> {}).get();
    }

    private static long usedHeap() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    static void handle(String kind, int request) throws Exception {
        if (kind.equals("crowd")) {
            OTHERS.execute(() -> work(kind, request));
        } else if (kind.equals("shared")) {
            WAITING.add(request);
            OTHERS.execute(SHARED);
        } else {
            KINDS.get(kind).run(() -> work(kind, request));
        }
    }

    static void outside(String kind) throws Exception {
        KINDS.get(kind).run(() -> work(kind, -1));
    }

    private static void handleAll(String kind, int requests, int clients) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int client = 0; client < clients; client++) {
            int first = client;
            Thread thread = new Thread(() -> {
                try {
                    for (int request = first; request < requests; request += clients) {
                        handle(kind, request);
                    }
                    outside(kind);
                } catch (Exception failure) {
                    failure.printStackTrace(System.out);
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    public static void main(String[] arguments) throws Exception {
        OTHERS.submit(() -> {}).get();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            if (!Character.isDigit(words[0].charAt(0))) {
                crowd(words[0], Integer.parseInt(words[1]));
                System.out.println("queued " + words[1]);
                continue;
            }
            for (String kind : KINDS.keySet()) {
                handleAll(kind, Integer.parseInt(words[0]), Integer.parseInt(words[1]));
            }
            System.out.println("handled " + String.join(",", KINDS.keySet()));
        }
    }
}
