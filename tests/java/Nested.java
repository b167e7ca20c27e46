import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Calls in calls, as often as a line says, with the time in known places. */
public final class Nested {
    interface Step {
        int take(int n);
    }

    static final class Slow implements Step {
        @Override
        public int take(int n) {
            return quick(n) + sleep(8);
        }
    }

    private Nested() {}

    static int outer(Step step, int n) {
        int sum = quick(n);
        for (int i = 0; i < 3; i++) {
            sum += middle(step, i);
        }
        if (n == 1) {
            throw new IllegalStateException("first");
        }
        return sum;
    }

    static int middle(Step step, int n) {
        return step.take(n) + quick(n);
    }

    static int quick(int n) {
        return n + 1;
    }

    static int sleep(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return millis;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            int times = Integer.parseInt(line);
            for (int i = 0; i < times; i++) {
                try {
                    outer(new Slow(), i);
                } catch (IllegalStateException e) {
                    // what the traced method throws is no concern of this loop
                }
                Thread.sleep(400); // what is looked into next is timed by then
            }
            System.out.println("called " + times);
        }
    }
}
