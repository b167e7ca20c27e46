import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Makes as many nested calls as a line says ("TIMES" or "TIMES FIRST"); they spend their time in known places. */
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
            String[] words = line.split(" ");
            int times = Integer.parseInt(words[0]);
            int first = words.length == 1 ? 0 : Integer.parseInt(words[1]);
            for (int i = first; i < first + times; i++) {
                try {
                    outer(new Slow(), i);
                } catch (IllegalStateException e) {
                    // this loop ignores the exceptions of the traced method
                }
            }
            System.out.println("called " + times);
        }
    }
}
