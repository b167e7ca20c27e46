import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

/** Handles requests, each on its own thread, as the lines of its standard input say. */
public class Requests {
    private final ThreadLocal<Integer> current = new ThreadLocal<>();
    private final ConcurrentHashMap<Integer, Integer> known = new ConcurrentHashMap<>();

    int handle(int id, int steps) {
        current.set(id);
        int sum = 0;
        for (int i = 1; i <= steps; i++) {
            sum += step(current.get(), i);
        }
        current.remove();
        return sum;
    }

    int step(int id, int amount) {
        known.merge(id, amount, Integer::sum);
        Thread.yield();
        return amount;
    }

    void deep(int levels) {
        if (levels > 0) {
            deep(levels - 1);
        } else {
            endless(0);
        }
    }

    int endless(int depth) {
        return endless(depth + 1) + 1;
    }

    int[] allocate(int size) {
        return new int[size];
    }

    private static Thread start(boolean virtual, Runnable task) throws Exception {
        if (virtual) {
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
        }
        Thread thread = new Thread(task);
        thread.start();
        return thread;
    }

    public static void main(String[] arguments) throws Exception {
        Requests requests = new Requests();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "platform":
                case "virtual":
                    int steps = Integer.parseInt(words[2]);
                    List<Thread> threads = new ArrayList<>();
                    for (int i = 0; i < Integer.parseInt(words[1]); i++) {
                        int id = i;
                        threads.add(start(words[0].equals("virtual"), () -> requests.handle(id, steps)));
                    }
                    for (Thread thread : threads) {
                        thread.join();
                    }
                    System.out.println("handled " + threads.size());
                    break;
                case "overflow":
                    int overflows = 0;
                    for (int i = 0; i < Integer.parseInt(words[1]); i++) {
                        try {
                            requests.deep(i);
                        } catch (StackOverflowError expected) {
                            overflows++;
                        }
                    }
                    System.out.println("overflows " + overflows);
                    break;
                case "exhaust":
                    int failures = 0;
                    for (int i = 0; i < Integer.parseInt(words[1]); i++) {
                        try {
                            requests.allocate(Integer.MAX_VALUE);
                        } catch (OutOfMemoryError expected) {
                            failures++;
                        }
                    }
                    System.out.println("failures " + failures);
                    break;
                default:
                    return;
            }
        }
    }
}
