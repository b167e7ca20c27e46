/** Makes garbage until its input has a line: most of its used heap is garbage. */
public final class Wasteful {
    private static final byte[][] RECENT = new byte[64][];

    private Wasteful() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        for (int i = 0; System.in.available() == 0; i++) {
            RECENT[i & RECENT.length - 1] = new byte[16 << 10];
            if ((i & 63) == 0) {
                Thread.sleep(1);
            }
        }
    }
}
