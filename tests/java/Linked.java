import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Early is loaded and not initialised. A reflective look at its constructors would load Late. "call N" calls a method of each class. */
public final class Linked {
    static class Late {
        static int hit() {
            return 1;
        }
    }

    static class Early {
        Early(Late late) {
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
