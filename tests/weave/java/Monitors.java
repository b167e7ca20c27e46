/** Enters monitors often enough to be compiled. */
public class Monitors {
    static int blocks(Object one, Object other, int n) {
        synchronized (one) {
            synchronized (other) {
                if (n < 0) {
                    throw new IllegalArgumentException();
                }
                return n;
            }
        }
    }

    public static void main(String[] args) {
        long sum = 0;
        for (int i = 0; i < 30011; i++) {
            sum += blocks(args, Monitors.class, i);
        }
        System.out.println(sum);
        Recorder.report(System.err);
    }
}
