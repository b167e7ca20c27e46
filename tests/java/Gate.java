import java.io.IOException;

/** Lets a program wait until the test that started it writes a line. */
final class Gate {
    private Gate() {}

    /** Prints {@code ready}, then blocks until a line comes on stdin. */
    static void await() {
        System.out.println("ready");
        System.out.flush();
        pass();
    }

    /** Blocks until a line comes on stdin, or stdin ends. */
    static void pass() {
        try {
            int read;
            do {
                read = System.in.read();
            } while (read != '\n' && read != -1);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
