import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Makes as many calls as a line says; their work runs on other threads in known places. */
public final class HandedOver {
    private static final ExecutorService SINGLE = Executors.newFixedThreadPool(1, task -> daemon(task, "single-1"));
    private static final ExecutorService SIDE = Executors.newFixedThreadPool(1, task -> daemon(task, "side-1"));

    private HandedOver() {}

    /** Three tasks of 17 ms run one after the other on one thread, and a task of 3 ms on another thread. */
    static int answer(int n) throws Exception {
        List<Future<Integer>> parts = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            parts.add(SINGLE.submit(() -> slow(n) + quick(n)));
        }
        parts.add(SIDE.submit(() -> nap(3)));
        int sum = 0;
        for (Future<Integer> part : parts) {
            sum += part.get();
        }
        return sum;
    }

    static int slow(int n) {
        return nap(13) + nap(4) + quick(n);
    }

    static int quick(int n) {
        return n + 1;
    }

    static int nap(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return millis;
    }

    private static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            int times = Integer.parseInt(line);
            for (int i = 0; i < times; i++) {
                answer(i);
            }
            System.out.println("called " + times);
        }
    }
}
