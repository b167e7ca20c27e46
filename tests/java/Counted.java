import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Set;
import java.util.TreeSet;

/** Carries out the lines of its standard input, so that a test knows the number of calls of each method. */
public class Counted {
    interface Shape {
        double area(double side);
    }

    /** Loaded only by the command {@code late}. */
    static class Square implements Shape {
        @Override
        public double area(double side) {
            return side * side;
        }
    }

    int calls;

    int step(String name, int number) {
        calls++;
        if (number % 7 == 3) {
            throw new IllegalStateException("refused " + number);
        }
        return name.length() + number;
    }

    native void unavailable();

    public static void main(String[] arguments) throws Exception {
        Counted counted = new Counted();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "call":
                    int refused = 0;
                    for (int i = 0; i < Integer.parseInt(words[1]); i++) {
                        try {
                            counted.step("abc", i);
                        } catch (IllegalStateException e) {
                            refused++;
                        }
                    }
                    System.out.println("called " + words[1] + " refused " + refused);
                    break;
                case "late":
                    Shape shape = (Shape) Class.forName("Counted$Square").getDeclaredConstructor().newInstance();
                    double sum = 0;
                    for (int i = 0; i < Integer.parseInt(words[1]); i++) {
                        sum += shape.area(i);
                    }
                    System.out.println("sum " + (long) sum);
                    break;
                case "forever":
                    Thread thread = new Thread(() -> {
                        for (int i = 0; ; i++) {
                            try {
                                counted.step("abc", i % 7 == 3 ? 4 : i);
                                if (i % 1000 == 0) {
                                    Thread.sleep(1); // leaves the processor to the client
                                }
                            } catch (IllegalStateException | InterruptedException e) {
                                // this loop ignores the exceptions of the traced method
                            }
                        }
                    });
                    thread.setDaemon(true);
                    thread.start();
                    System.out.println("running");
                    break;
                case "threads":
                    Set<String> names = new TreeSet<>();
                    for (Thread each : Thread.getAllStackTraces().keySet()) {
                        if (each.getName().startsWith("btpy")) {
                            names.add(each.getName());
                        }
                    }
                    System.out.println("threads " + names);
                    break;
                case "halt":
                    Runtime.getRuntime().halt(3);
                    break;
                default:
                    System.out.println("? " + line);
            }
        }
    }
}
