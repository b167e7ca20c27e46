package btpy.runtime;

/**
 * Stores samples by interval of the wall clock, for a given number of the last intervals: a ring of windows, each
 * {@code {epoch, n, a, b}}. An epoch is the number of the interval since 1970, so that the windows of several JVMs
 * coincide.
 */
final class Windows {
    static final int SUM = 0;
    static final int AVG = 1;
    static final int MIN = 2;
    static final int MAX = 3;
    static final int COUNT = 4;
    static final int SIZE = 4;

    /** The kinds of the cells n, {@code a} and {@code b} for each operator, as in {@link Cells}. */
    private static final char[][] CELLS = {{'n', 'S', 'D'}, {'n', 'S', 'D'}, {'n', 'l', 'd'}, {'n', 'L', 'X'}, {'n', 'S', 'D'}};

    private static final Memory MEMORY = Memory.instance();

    private Windows() {}

    static char[] cells(int operator) {
        return CELLS[operator];
    }

    /**
     * Returns the window of an epoch, which replaces the older window at the same place. Returns null if the epoch is
     * older than all windows.
     */
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
            long[] newWindow = new long[SIZE];
            newWindow[0] = epoch;
            for (int i = 1; i < SIZE; i++) {
                newWindow[i] = Cells.initial(CELLS[operator][i - 1]);
            }
            MEMORY.compareAndSetReference(ring, offset, window, newWindow);
        }
    }
}
