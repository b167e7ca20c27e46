import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;

/** Causes the events that the lines of its standard input name: threads that die, classes that load, memory in use. */
public class Happening {
    static class First {
        int number = 1;
    }

    static class Second extends First {
    }

    static class Boom extends RuntimeException {
        Boom(String message) {
            super(message);
        }
    }

    static final List<byte[]> kept = new ArrayList<>();

    static int step(Object value) {
        return value == null ? 0 : 1;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "die":
                    for (int i = 0; i < Integer.parseInt(words[1]); i++) {
                        int number = i;
                        Thread thread = new Thread(() -> {
                            if (number % 3 == 0) {
                                throw new Boom("boom " + number);
                            }
                            throw new IllegalStateException("state " + number);
                        }, "dying-" + i);
                        thread.setUncaughtExceptionHandler((dead, cause) -> { });
                        thread.start();
                        thread.join();
                    }
                    System.out.println("died");
                    break;
                case "load":
                    Class.forName("Happening$Second").getDeclaredConstructor().newInstance();
                    System.out.println("loaded");
                    break;
                case "fill":
                    for (int i = 0; i < Integer.parseInt(words[1]); i++) {
                        kept.add(new byte[1 << 20]);
                    }
                    System.gc();
                    System.out.println("filled");
                    break;
                case "step":
                    for (int i = 0; i < Integer.parseInt(words[1]); i++) {
                        step(i % 2 == 0 ? "text" : Integer.valueOf(i));
                    }
                    System.out.println("stepped");
                    break;
                default:
                    return;
            }
        }
    }
}
