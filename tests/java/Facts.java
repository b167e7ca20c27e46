import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Calls a method and prints the facts about each call: thread, times by both clocks, durations. Tests compare records with them. */
public class Facts {
    /**
     * The number of the call, then the times of its beginning and end by {@code System.nanoTime}, measured inside of {@link
     * #step}.
     */
    static long[] inside;

    static long step(String name, long number) throws InterruptedException {
        long begun = System.nanoTime();
        Thread.sleep(1);
        inside = new long[] {number, begun, System.nanoTime()};
        if (number % 7 == 3) {
            throw new IllegalStateException("refused " + number);
        }
        return name.length() + number;
    }

    private static void call(int calls) {
        StringBuilder report = new StringBuilder();
        Thread thread = Thread.currentThread();
        report.append("thread ").append(thread.getId()).append('\n');
        for (int i = 0; i < calls; i++) {
            long before = System.currentTimeMillis();
            long begun = System.nanoTime();
            boolean failed = false;
            try {
                step("abc", i);
            } catch (IllegalStateException | InterruptedException expected) {
                failed = true;
            }
            long outer = System.nanoTime() - begun;
            long after = System.currentTimeMillis();
            report.append("step ").append(i).append(' ').append(before).append(' ').append(after).append(' ');
            report.append(inside[2] - inside[1]).append(' ').append(outer).append(' ').append(failed).append('\n');
        }
        System.out.print(report);
        System.out.println("called");
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            int calls = Integer.parseInt(line);
            Thread thread = new Thread(() -> call(calls), "clerk \u03a9 7");
            thread.start();
            thread.join();
        }
    }
}
