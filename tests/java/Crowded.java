/** Fills its heap and leaves a given number of KiB free, reports that, and waits for the end of its input. */
public final class Crowded {
    private static Object[] kept = {};

    private Crowded() {}

    static final class Work {
        private Work() {}

        static int step(int i) {
            return i + 1;
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("calls " + Work.step(1));
        Object room = new byte[Integer.parseInt(arguments[0]) << 10];
        try {
            while (true) {
                kept = new Object[] {new byte[16 << 10], kept};
            }
        } catch (OutOfMemoryError full) {
            room = null;
        }
        System.out.println("ready");
        System.in.read();
        System.out.println("calls " + Work.step(kept.length));
    }
}
