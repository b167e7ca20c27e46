/** Does 7 pieces of work; 2 of them fail. */
public final class Work {
    private Work() {}

    public static void main(String[] arguments) {
        for (int size = 1; size <= 7; size++) {
            try {
                piece(size);
            } catch (IllegalStateException e) {
                // The work fails for two sizes.
            }
        }
    }

    static int piece(int size) {
        if (size % 3 == 0) {
            throw new IllegalStateException("size " + size);
        }
        return size * size;
    }
}
