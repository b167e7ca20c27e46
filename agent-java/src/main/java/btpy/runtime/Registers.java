package btpy.runtime;

/**
 * How many different values: HyperLogLog (Flajolet et al. 2007) with 2^{@link #BITS} registers of one byte, eight in a cell. The
 * standard error of the estimate is 1.04 / √2048 = 2.3 %; few values are counted by the registers that are still empty.
 */
final class Registers {
    static final int BITS = 11;
    static final int CELLS = 1 << BITS - 3;

    private static final Memory MEMORY = Memory.instance();

    private Registers() {}

    /** The cell of the register that a value with this hash belongs to. */
    static int cell(long hash) {
        return (int) (hash >>> 64 - BITS) >>> 3;
    }

    static void add(long[] cells, int at, long hash) {
        int shift = 8 * ((int) (hash >>> 64 - BITS) & 7);
        long rank = Long.numberOfLeadingZeros(hash << BITS | 1L << BITS - 1) + 1;
        long offset = Memory.LONG_BASE + 8L * at;
        while (true) {
            long now = MEMORY.getLongVolatile(cells, offset);
            if (rank <= (now >>> shift & 0xFF)
                    || MEMORY.compareAndSetLong(cells, offset, now, now & ~(0xFFL << shift) | rank << shift)) {
                return;
            }
        }
    }

    /** Two cells as one. */
    static long merge(long a, long b) {
        long result = 0;
        for (int shift = 0; shift < 64; shift += 8) {
            result |= Math.max(a >>> shift & 0xFF, b >>> shift & 0xFF) << shift;
        }
        return result;
    }

    /** {@code cells} from index {@code from}. */
    static long estimate(long[] cells, int from) {
        int registers = 1 << BITS;
        double sum = 0;
        int empty = 0;
        for (int i = 0; i < registers; i++) {
            long rank = cells[from + (i >>> 3)] >>> 8 * (i & 7) & 0xFF;
            sum += Double.longBitsToDouble(1023 - rank << 52);
            empty += rank == 0 ? 1 : 0;
        }
        double estimate = 0.7213 / (1 + 1.079 / registers) * registers * registers / sum;
        return Math.round(estimate <= 2.5 * registers && empty > 0 ? registers * Math.log((double) registers / empty) : estimate);
    }
}
