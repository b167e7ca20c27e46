import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;

/** Code that other tools fail to trace without a message. Each line of standard input runs all of it once. */
public final class Silent {
    private final int seen;

    Silent(int first) {
        this(String.valueOf(first));
    }

    Silent(String first) {
        super();
        seen = new ArrayList<>(first.length()).size() + first.length();
    }

    int step(int n) {
        return n + seen;
    }

    synchronized int locked(int n) {
        return n * 2;
    }

    native int unavailable(int n);

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            Silent silent = new Silent(line.length());
            System.out.println("sum " + (silent.step(7) + silent.locked(11)));
        }
    }
}
