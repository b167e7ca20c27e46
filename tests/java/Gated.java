import java.util.Arrays;

/** Waits for a line, then runs the program named by its first argument. */
public final class Gated {
    private Gated() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        System.out.flush();
        for (int c = System.in.read(); c != '\n'; c = System.in.read()) {
            continue;
        }
        Class.forName(arguments[0]).getMethod("main", String[].class)
            .invoke(null, (Object) Arrays.copyOfRange(arguments, 1, arguments.length));
    }
}
