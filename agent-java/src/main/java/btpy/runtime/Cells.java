package btpy.runtime;

/**
 * Numbers to which samples are added. All threads add to shared cells by atomic operations. A cell with an owner is
 * changed only by one thread, without atomic operations; another cell stores the part that a flush has taken.
 *
 * <p>A letter is the kind of a cell: S sum of longs, D of doubles, l smallest long, d smallest double, L largest long,
 * X largest double, n number of samples, t time, r registers. Doubles are stored as their bits.
 */
class Cells {
    static final int SEGMENT_BITS = 6;
    /** The number of cells in a segment. */
    static final int SEGMENT = 1 << SEGMENT_BITS;
    /** In cells with an owner, the distance from a sum to its taken part. */
    static final int TAKEN = 8;

    private static final Memory MEMORY = Memory.instance();
    private static final long POSITIVE_INFINITY = 0x7FF0000000000000L;
    private static final long NEGATIVE_INFINITY = 0xFFF0000000000000L;

    /** The cells by stripe; null for a plain value. */
    long[] cells;
    /**
     * Values that need more than a few cells, allocated at first use. Buckets or registers: segments of cells, by
     * stripe. Windows, counters and values: one element each.
     */
    Object[] segments;

    /** Returns the size in bytes of the allocated segments. */
    static long segmentBytes(Cells cells) {
        long bytes = 0;
        for (int i = 0; cells.segments != null && i < cells.segments.length; i++) {
            bytes += cells.segments[i] instanceof long[] ? 16 + 8 * ((long[]) cells.segments[i]).length : 0;
        }
        return bytes;
    }

    /** Sets cells of the layout to their initial values. */
    static void clear(char[] layout, long[] cells, int from) {
        for (int i = 0; i < layout.length; i++) {
            cells[from + i] = initial(layout[i]);
        }
    }

    static long initial(char cell) {
        switch (cell) {
            case 'l':
                return Long.MAX_VALUE;
            case 'd':
                return POSITIVE_INFINITY;
            case 'L':
                return Long.MIN_VALUE;
            case 'X':
                return NEGATIVE_INFINITY;
            default:
                return 0;
        }
    }

    /** Adds to a cell. With {@code own}, only this thread writes to it. */
    static void bump(long[] cells, long offset, long delta, boolean own) {
        if (own) {
            MEMORY.putLongRelease(cells, offset, MEMORY.getLong(cells, offset) + delta);
        } else {
            MEMORY.getAndAddLong(cells, offset, delta);
        }
    }

    static void add(long[] cells, long offset, double delta) {
        long value;
        do {
            value = MEMORY.getLongVolatile(cells, offset);
        } while (!MEMORY.compareAndSetLong(
                cells, offset, value, Double.doubleToRawLongBits(Double.longBitsToDouble(value) + delta)));
    }

    static void lower(long[] cells, long offset, long sample) {
        long smallest = MEMORY.getLongVolatile(cells, offset);
        while (sample < smallest && !MEMORY.compareAndSetLong(cells, offset, smallest, sample)) {
            smallest = MEMORY.getLongVolatile(cells, offset);
        }
    }

    static void raise(long[] cells, long offset, long sample) {
        long largest = MEMORY.getLongVolatile(cells, offset);
        while (sample > largest && !MEMORY.compareAndSetLong(cells, offset, largest, sample)) {
            largest = MEMORY.getLongVolatile(cells, offset);
        }
    }

    static void lower(long[] cells, long offset, double sample) {
        long smallest = MEMORY.getLongVolatile(cells, offset);
        while (sample < Double.longBitsToDouble(smallest)
                && !MEMORY.compareAndSetLong(cells, offset, smallest, Double.doubleToRawLongBits(sample))) {
            smallest = MEMORY.getLongVolatile(cells, offset);
        }
    }

    static void raise(long[] cells, long offset, double sample) {
        long largest = MEMORY.getLongVolatile(cells, offset);
        while (sample > Double.longBitsToDouble(largest)
                && !MEMORY.compareAndSetLong(cells, offset, largest, Double.doubleToRawLongBits(sample))) {
            largest = MEMORY.getLongVolatile(cells, offset);
        }
    }

    /**
     * Adds a sample to three cells: the number n, then a sum, minimum or maximum of integral samples, and the same for
     * floating samples. The sample is counted last, so that a firing that is interrupted here counts as an error and
     * not as a sample.
     */
    static void combine(char[] layout, long[] cells, long first, long sample, long weight, boolean own) {
        if (layout[1] == 'S') {
            bump(cells, first + 8, sample * weight, own);
        } else if (layout[1] == 'l') {
            lower(cells, first + 8, sample);
        } else {
            raise(cells, first + 8, sample);
        }
        bump(cells, first, weight, own);
    }

    static void combine(char[] layout, long[] cells, long first, double sample, long weight, boolean own) {
        if (layout[1] == 'S') {
            add(cells, first + 16, sample * weight);
        } else if (layout[1] == 'l') {
            lower(cells, first + 16, sample);
        } else {
            raise(cells, first + 16, sample);
        }
        bump(cells, first, weight, own);
    }

    /** Returns the value of a shared cell. With {@code take}, resets it to {@code first}. */
    static long read(long[] cells, int index, long first, boolean take) {
        long offset = Memory.LONG_BASE + 8L * index;
        long value;
        do {
            value = MEMORY.getLongVolatile(cells, offset);
        } while (take && value != first && !MEMORY.compareAndSetLong(cells, offset, value, first));
        return value;
    }

    /** Returns the value of a cell that has an owner. */
    static long readOwn(long[] cells, char kind, int index, boolean take) {
        return kind == 'n' || kind == 'S'
                ? readOwn(cells, index, TAKEN, take)
                : read(cells, index, initial(kind), take);
    }

    /** Returns the part of a sum that its owner has added since it was last taken. */
    static long readOwn(long[] cells, int index, int toTaken, boolean take) {
        long offset = Memory.LONG_BASE + 8L * (index + toTaken);
        long takenSum;
        long value;
        do {
            takenSum = MEMORY.getLongVolatile(cells, offset); // read first, because the sum includes the taken part
            value = MEMORY.getLongVolatile(cells, Memory.LONG_BASE + 8L * index);
        } while (take && !MEMORY.compareAndSetLong(cells, offset, takenSum, value));
        return value - takenSum;
    }

    static long merge(char cell, long a, long b) {
        switch (cell) {
            case 'D':
                return Double.doubleToRawLongBits(Double.longBitsToDouble(a) + Double.longBitsToDouble(b));
            case 'l':
                return Math.min(a, b);
            case 'L':
            case 't':
                return Math.max(a, b);
            case 'd':
                return Double.doubleToRawLongBits(Math.min(Double.longBitsToDouble(a), Double.longBitsToDouble(b)));
            case 'X':
                return Double.doubleToRawLongBits(Math.max(Double.longBitsToDouble(a), Double.longBitsToDouble(b)));
            case 'r':
                return HyperLogLog.merge(a, b);
            default:
                return a + b;
        }
    }
}
