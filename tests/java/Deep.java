import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Recurses until the stack is full, on a new thread each time, as often as a line says. */
public class Deep {
    static int dive(int depth, String name) {
        int below = depth + 1;
        return dive(below, name) + 1;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            int[] overflows = {0};
            for (int i = 0; i < Integer.parseInt(line); i++) {
                Runnable work = () -> {
                    try {
                        dive(0, "abc");
                    } catch (StackOverflowError expected) {
                        overflows[0]++;
                    }
                };
                Thread thread = new Thread(null, work, "deep", 256 << 10);
                thread.start();
                thread.join();
            }
            System.out.println("overflows " + overflows[0]);
        }
    }
}
