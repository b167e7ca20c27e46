package btpy.runtime;

/**
 * Samples by the interval of the wall clock in which they came, for the last so many intervals: a ring of windows, each {@code
 * {epoch, n, a, b}}. An epoch is the number of the interval since 1970, so that the windows of several JVMs lie on each other.
 */
final class Windows {
    static final int SUM = 0;
    static final int AVG = 1;
    static final int MIN = 2;
    static final int MAX = 3;
    static final int COUNT = 4;
    static final int SIZE = 4;

    /** {@code a} and {@code b} combined by the operator, as in {@link Cells}. */
    private static final char[][] CELLS = {{'n', 'S', 'D'}, {'n', 'S', 'D'}, {'n', 'l', 'd'}, {'n', 'L', 'X'}, {'n', 'S', 'D'}};

    private static final Memory MEMORY = Memory.instance();

    private Windows() {}

    static char[] cells(int operator) {
        return CELLS[operator];
    }

    /** The window of the epoch, in place of the one that it follows; null when the epoch is older than all windows. */
    static long[] of(Object[] ring, long epoch, int operator) {
        int at = (int) (epoch % ring.length);
        long offset = Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * at;
        while (true) {
            long[] window = (long[]) MEMORY.getReferenceVolatile(ring, offset);
            if (window != null && window[0] == epoch) {
                return window;
            }
            if (window != null && window[0] > epoch) {
                return null;
            }
            long[] fresh = new long[SIZE];
            fresh[0] = epoch;
            for (int i = 1; i < SIZE; i++) {
                fresh[i] = Cells.initial(CELLS[operator][i - 1]);
            }
            MEMORY.compareAndSetReference(ring, offset, window, fresh);
        }
    }
}
