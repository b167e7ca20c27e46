package btpy.runtime;

/** The fixed part of a map, from its declaration: keys, the kind of its values, and their {@link Cells}. */
final class MapShape {
    static final int VALUE = 0;
    static final int COUNT = 1;
    static final int SUM = 2;
    static final int AVG = 3;
    static final int MIN = 4;
    static final int MAX = 5;
    static final int STATS = 6;
    static final int HIST = 7;
    static final int LHIST = 8;
    static final int TSERIES = 9;
    static final int TOPK = 10;
    static final int DISTINCT = 11;
    static final int FIRST = 12;
    static final int LAST = 13;
    static final int SAMPLE_OF = 14;

    /** Cells of one stripe, with what keeps its neighbour's cache lines apart. */
    private static final int STRIDE = 16;
    /** Bits of the mantissa of a double, as they are stored. */
    private static final int MANTISSA = 52;
    private static final int MAX_BUCKETS = 1000;
    private static final int MAX_WINDOWS = 1000;
    private static final int MAX_VALUES = 100;

    /** By kind, as docs/runtime.md lists them. */
    private static final char[][] LAYOUTS = {
        {}, {'n'}, {'n', 'S', 'D'}, {'n', 'S', 'D'}, {'n', 'l', 'd'}, {'n', 'L', 'X'},
        {'n', 'S', 'D', 'l', 'd', 'L', 'X'}, {'S', 'D', 'l', 'L', 'g'}, {'S', 'D', 'l', 'd', 'L', 'X'},
        {'n'}, {'n'}, {'n'}, {'t'}, {'t'}, {'n'},
    };

    final int kind;
    /** Components of a key. */
    final int keys;
    /** HIST: 2 to the power of it buckets have one power of two. */
    final int precision;
    /** LHIST: min, max, step (bits of doubles). TSERIES: interval in ns, windows, operator. TOPK and SAMPLE_OF: how many. */
    final long[] parameters;
    /** A letter of {@link Cells} for each cell. */
    final char[] layout;
    /** The cells that threads share are there once for each stripe. */
    final int stripeBits;
    final int stripes;
    /** From the cells of one stripe to those of the next. */
    final int stride;
    /** Of one stripe. */
    final int segments;
    private final double low;
    private final double step;
    private final int buckets;

    /** @throws IllegalArgumentException when a number is out of range */
    MapShape(int id, int kind, int keys, int precision, long[] parameters) {
        if (kind < VALUE || kind > SAMPLE_OF || keys < 0 || keys > 255 || precision < 0 || precision > 8) {
            throw new IllegalArgumentException("map " + id + ": kind " + kind + ", " + keys + " keys, precision " + precision);
        }
        this.kind = kind;
        this.keys = keys;
        this.precision = precision;
        this.parameters = parameters;
        this.layout = LAYOUTS[kind];
        this.low = kind == LHIST ? Double.longBitsToDouble(parameter(0)) : 0;
        this.step = kind == LHIST ? Double.longBitsToDouble(parameter(2)) : 1;
        this.buckets = kind == LHIST ? (int) Math.round((Double.longBitsToDouble(parameter(1)) - low) / step) : 0;
        check(id);
        int cpus = Math.min(16, Runtime.getRuntime().availableProcessors());
        boolean striped = keys == 0 && hasOwners() && cpus > 1;
        this.stripeBits = striped ? 32 - Integer.numberOfLeadingZeros(cpus - 1) : 0;
        this.stripes = 1 << stripeBits;
        this.stride = striped ? STRIDE : layout.length;
        this.segments = segments();
    }

    private long parameter(int index) {
        return index < parameters.length ? parameters[index] : 0;
    }

    private void check(int id) {
        boolean right = true;
        switch (kind) {
            case LHIST:
                right = step > 0 && buckets >= 1 && buckets <= MAX_BUCKETS;
                break;
            case TSERIES:
                right = parameter(0) >= 1_000_000 && parameter(1) >= 1 && parameter(1) <= MAX_WINDOWS
                        && parameter(2) >= Windows.SUM && parameter(2) <= Windows.COUNT;
                break;
            case TOPK:
            case SAMPLE_OF:
                right = parameter(0) >= 1 && parameter(0) <= MAX_VALUES;
                break;
            default:
                break;
        }
        if (!right) {
            throw new IllegalArgumentException("map " + id + ": parameters of kind " + kind);
        }
    }

    private int segments() {
        switch (kind) {
            case HIST:
                return (((64 - precision) << precision) + Cells.SEGMENT - 1) / Cells.SEGMENT;
            case LHIST:
                return (buckets + 2 + Cells.SEGMENT - 1) / Cells.SEGMENT;
            case TSERIES:
                return (int) parameter(1);
            case TOPK:
                return SpaceSaving.counters((int) parameter(0));
            case DISTINCT:
                return HyperLogLog.CELLS / Cells.SEGMENT;
            case SAMPLE_OF:
                return (int) parameter(0);
            default:
                return 0;
        }
    }

    /** The kinds whose samples a thread may add in cells of its own. */
    boolean hasOwners() {
        return kind >= COUNT && kind <= LHIST;
    }

    /** Whether all of its cells are sums, of numbers or of ones. */
    boolean isSum() {
        return kind >= COUNT && kind <= AVG;
    }

    /** Whether there is one object, and no cells, or only those that say when it came. */
    boolean holdsObject() {
        return kind == VALUE || kind == FIRST || kind == LAST;
    }

    /** Whether segments are cells. */
    boolean hasBuckets() {
        return kind == HIST || kind == LHIST || kind == DISTINCT;
    }

    /** The letter of the cell, counted through cells and buckets. */
    char cell(int index) {
        return index < layout.length ? layout[index] : kind == DISTINCT ? 'r' : 'n';
    }

    /** The interval of the wall clock, in ns, that is one window. */
    long interval() {
        return parameters[0];
    }

    /** How the samples of one window are combined. */
    int operator() {
        return (int) parameters[2];
    }

    /** 0: below all buckets, and not a number; the last: above them. */
    int linearBucketOf(double sample) {
        double at = (sample - low) / step;
        return !(at >= 0) ? 0 : at >= buckets ? buckets + 1 : 1 + (int) at;
    }

    /**
     * By the conversion to double: its exponent and the upper bits of its mantissa are the number of the bucket, but for where they begin
     * ({@code Long.numberOfLeadingZeros} is Java code and may be traced).
     */
    static int bucketOf(long v, int k) {
        if (v < 1L << k) {
            return (int) v;
        }
        if (v >>> MANTISSA + 1 != 0) { // would be rounded, maybe up into the next bucket
            return bucketOf(v >>> 63 - MANTISSA - 1, k) + (63 - MANTISSA - 1 << k);
        }
        return (int) (Double.doubleToRawLongBits((double) v) >>> MANTISSA - k) - (1022 + k << k);
    }

    /** The cells that all threads share, as they are before the first sample; null for a plain value. */
    long[] newCells() {
        if (kind == VALUE) {
            return null;
        }
        long[] made = new long[stride * stripes];
        for (int stripe = 0; stripe < stripes; stripe++) {
            Cells.clear(layout, made, stripe * stride);
        }
        return made;
    }

    /** The cells of one thread. */
    Cells newOwnCells() {
        Cells made = new Cells();
        made.cells = new long[Cells.TAKEN + layout.length];
        Cells.clear(layout, made.cells, 0);
        made.segments = segments > 0 ? new Object[segments] : null;
        return made;
    }

    /** What an entry takes when it is made, without its key; an estimate. */
    long entryBytes() {
        return 96 + (8L * stride + 4L * segments) * stripes + (hasOwners() ? 16 + 4L * Stripes.COUNT : 0);
    }

    /** What the cells of one thread take when they are made; an estimate. */
    long ownBytes() {
        return 40 + 8L * (Cells.TAKEN + layout.length) + 4L * segments;
    }

    /** The value that a script sees, of the cells of all threads as one; null where there is none yet, or it is no single value. */
    Object value(long[] cells) {
        if (kind > MAX && kind != DISTINCT || cells[0] == 0) {
            return null;
        }
        double inDoubles = cells.length < 3 ? 0 : Double.longBitsToDouble(cells[2]);
        switch (kind) {
            case COUNT:
                return Long.valueOf(cells[0]);
            case SUM:
                return cells[2] == 0 ? (Object) Long.valueOf(cells[1]) : (Object) Double.valueOf(cells[1] + inDoubles);
            case AVG:
                return Double.valueOf((cells[1] + inDoubles) / cells[0]);
            case DISTINCT:
                return Long.valueOf(HyperLogLog.estimate(cells, 1));
            case MIN:
                return inDoubles == Double.POSITIVE_INFINITY
                        ? (Object) Long.valueOf(cells[1])
                        : (Object) Double.valueOf(cells[1] == Long.MAX_VALUE ? inDoubles : Math.min(cells[1], inDoubles));
            default:
                return inDoubles == Double.NEGATIVE_INFINITY
                        ? (Object) Long.valueOf(cells[1])
                        : (Object) Double.valueOf(cells[1] == Long.MIN_VALUE ? inDoubles : Math.max(cells[1], inDoubles));
        }
    }

    /** What {@code rate} watches: the sum of a sum, else the number of samples. */
    double samples(long[] cells) {
        switch (kind) {
            case SUM:
                return cells[1] + Double.longBitsToDouble(cells[2]);
            case HIST:
            case LHIST:
                double sum = kind == HIST ? cells[4] : 0;
                for (int i = layout.length; i < cells.length; i++) {
                    sum += cells[i];
                }
                return sum;
            case FIRST:
            case LAST:
                return 0;
            default:
                return cells[0];
        }
    }
}
