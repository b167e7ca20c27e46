import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * Early is loaded and not initialised. A reflective look at its public constructors would load Late, and a look at the
 * other constructor would load Never. "call N" calls a method of Early and one of Late.
 */
public final class Linked {
    static class Late {
        static int hit() {
            return 1;
        }
    }

    static class Never {
        static int hit() {
            return 1;
        }
    }

    static class Early {
        public Early(Late late) {
        }

        Early(Never never) {
        }

        static int hit() {
            return 1;
        }
    }

    private Linked() {
    }

    public static void main(String[] arguments) throws Exception {
        Class.forName("Linked$Early", false, Linked.class.getClassLoader());
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int sum = 0;
            for (int left = Integer.parseInt(line.split(" ")[1]); left > 0; left--) {
                sum += Early.hit() + Late.hit();
            }
            System.out.println("called " + sum);
        }
    }
}
