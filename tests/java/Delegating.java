import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Calls a method through its interface as many times as a line says. The method calls its own overload. */
public final class Delegating {
    interface Worker {
        void work(int millis);
    }

    static final class Sleeper implements Worker {
        @Override
        public void work(int millis) {
            work(millis, 2);
        }

        void work(int millis, int naps) {
            for (int i = 0; i < naps; i++) {
                nap(millis);
            }
        }

        static void nap(int millis) {
            try {
                Thread.sleep(millis);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private Delegating() {}

    static void call(Worker worker) {
        worker.work(5);
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            for (int i = Integer.parseInt(line); i > 0; i--) {
                call(new Sleeper());
            }
        }
    }
}
