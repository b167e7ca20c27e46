import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.TimeUnit;

/**
 * Handles requests whose work a framework hands over to other threads. No request waits for its work, so the queues
 * hold work of all requests at the same time. {@code handle} begins a request, and {@code work} runs for it, both with
 * the number of the request.
 */
public class HandingOver {
    interface HandOver {
        void run(Runnable work) throws Exception;
    }

    /** A way to hand work over, and the number of times that it runs the work of a request. */
    private static final class Kind {
        final int pieces;
        final HandOver handOver;

        Kind(int pieces, HandOver handOver) {
            this.pieces = pieces;
            this.handOver = handOver;
        }
    }

    private final Map<String, Kind> kinds = new LinkedHashMap<>();
    private static volatile CountDownLatch pending;

    void kind(String name, int pieces, HandOver handOver) {
        kinds.put(name, new Kind(pieces, handOver));
    }

    static void work(String kind, int request) {
        Thread.yield();
    }

    private static final class Later implements Delayed {
        final long at;
        final Runnable task;

        Later(long at, Runnable task) {
            this.at = at;
            this.task = task;
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(at - System.nanoTime(), TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            return Long.compare(at, ((Later) other).at);
        }
    }

    private static final DelayQueue<Later> LATER = new DelayQueue<>();

    /** Runs a task on a thread that works for no request. No library knows the queue of this thread. */
    static void later(long milliseconds, Runnable task) {
        LATER.add(new Later(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(milliseconds), task));
    }

    private static void runLater() {
        try {
            while (true) {
                LATER.take().task.run();
                work("after others", -1);
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    /** A piece of the work of a request. */
    static final class Piece implements Runnable {
        final String kind;
        final int request; // below 0: it is done for no request
        private final CountDownLatch latch = pending;

        private Piece(String kind, int request) {
            this.kind = kind;
            this.request = request;
        }

        @Override
        public void run() {
            work(kind, request);
            latch.countDown();
        }
    }

    void handle(String kind, int request) throws Exception {
        kinds.get(kind).handOver.run(new Piece(kind, request));
    }

    void outside(String kind) throws Exception {
        kinds.get(kind).handOver.run(new Piece(kind, -1));
    }

    private void handleAll(String kind, int requests, int clients) throws Exception {
        pending = new CountDownLatch((requests + clients) * kinds.get(kind).pieces);
        List<Thread> threads = new ArrayList<>();
        for (int client = 0; client < clients; client++) {
            int first = client;
            Thread thread = new Thread(() -> {
                try {
                    for (int request = first; request < requests; request += clients) {
                        handle(kind, request);
                    }
                    outside(kind);
                } catch (Throwable failure) {
                    failure.printStackTrace();
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (!pending.await(20, TimeUnit.SECONDS)) {
            System.err.println(kind + ": " + pending.getCount() + " pieces of work do not run");
        }
    }

    /** For each line of the standard input, handles its number of requests on its number of threads, in each way. */
    void serve() throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        Thread others = new Thread(HandingOver::runLater);
        others.setDaemon(true);
        others.start();
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            List<String> handled = new ArrayList<>();
            for (Map.Entry<String, Kind> kind : kinds.entrySet()) {
                handleAll(kind.getKey(), Integer.parseInt(words[0]), Integer.parseInt(words[1]));
                handled.add(kind.getKey() + "=" + kind.getValue().pieces);
            }
            System.out.println("handled " + String.join(",", handled));
        }
        System.exit(0);
    }
}
