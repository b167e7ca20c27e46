import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;

/** Calls methods from several threads until it gets the order to stop, and prints the number of calls. */
public class Traffic {
    private static volatile boolean running;

    private long state;

    long serve(int number) {
        state += number;
        return state;
    }

    static class Other {
        int turn(int number) {
            return number ^ 1;
        }
    }

    private long calls() {
        Other other = new Other();
        long calls = 0;
        while (running || calls == 0) {
            serve((int) calls);
            other.turn((int) calls);
            calls++;
            if ((calls & 1023) == 0) {
                Thread.yield();
            }
        }
        return calls;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        new Other().turn(0); // loads the class Other
        System.out.println("ready");
        List<Thread> threads = new ArrayList<>();
        long[] calls = {};
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "start":
                    int count = Integer.parseInt(words[1]);
                    long[] counts = calls = new long[count];
                    running = true;
                    for (int i = 0; i < count; i++) {
                        int at = i;
                        Thread thread = new Thread(() -> counts[at] = new Traffic().calls(), "traffic-" + i);
                        threads.add(thread);
                        thread.start();
                    }
                    System.out.println("started");
                    break;
                case "stop":
                    running = false;
                    for (Thread each : threads) {
                        each.join();
                    }
                    threads.clear();
                    long sum = 0;
                    for (long own : calls) {
                        sum += own;
                    }
                    System.out.println("served " + sum);
                    break;
                case "call":
                    Traffic traffic = new Traffic();
                    for (int i = 0; i < Integer.parseInt(words[1]); i++) {
                        traffic.serve(i);
                        new Other().turn(i);
                    }
                    System.out.println("called " + words[1]);
                    break;
                default:
                    System.out.println("? " + line);
            }
        }
    }
}
