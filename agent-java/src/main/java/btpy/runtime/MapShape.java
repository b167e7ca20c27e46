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

    /** The cells of one stripe, with padding that separates the cache lines of stripes. */
    private static final int STRIDE = 16;
    private static final int MAX_BUCKETS = 1000;
    private static final int MAX_WINDOWS = 1000;
    private static final int MAX_VALUES = 100;

    /** The layouts by kind, as docs/runtime.md lists them. */
    private static final char[][] LAYOUTS = {
        {}, {'n'}, {'n', 'S', 'D'}, {'n', 'S', 'D'}, {'n', 'l', 'd'}, {'n', 'L', 'X'},
        {'n', 'S', 'D', 'l', 'd', 'L', 'X'}, {'S', 'D', 'l', 'L'}, {'S', 'D', 'l', 'd', 'L', 'X'},
        {'n'}, {'n'}, {'n'}, {'t'}, {'t'}, {'n'},
    };

    final int kind;
    /** The number of components of a key. */
    final int keys;
    /** For HIST; otherwise null. */
    final ExponentialBuckets exponential;
    /**
     * LHIST: min, max, step (bits of doubles). TSERIES: interval in ns, windows, operator. TOPK and SAMPLE_OF: the
     * number of values.
     */
    final long[] parameters;
    /** A letter of {@link Cells} for each cell. */
    final char[] layout;
    /** The cells that threads share exist once for each stripe. */
    final int stripeBits;
    final int stripes;
    /** The distance from the cells of one stripe to those of the next. */
    final int stride;
    /** The segments of one stripe. */
    final int segments;
    private final double low;
    private final double step;
    private final int buckets;

    /** @throws IllegalArgumentException if a number is out of range */
    MapShape(int id, int kind, int keys, int precision, long[] parameters) {
        if (kind < VALUE || kind > SAMPLE_OF || keys < 0 || keys > 255 || precision < 0
                || precision > ExponentialBuckets.MAX_SCALE) {
            throw new IllegalArgumentException("map " + id + ": kind " + kind + ", " + keys + " keys, precision " + precision);
        }
        this.kind = kind;
        this.keys = keys;
        this.exponential = kind == HIST ? ExponentialBuckets.of(precision) : null;
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
                return exponential.segments;
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

    /** Whether a thread may add samples of this kind to its own cells. */
    boolean hasOwners() {
        return kind >= COUNT && kind <= LHIST;
    }

    /** Whether all cells of a value are sums of numbers, or counts. */
    boolean isSum() {
        return kind >= COUNT && kind <= AVG;
    }

    /** Whether a value is one object, without cells or with only a time. */
    boolean holdsObject() {
        return kind == VALUE || kind == FIRST || kind == LAST;
    }

    /** Whether the segments are arrays of cells: buckets or registers. */
    boolean hasBuckets() {
        return kind == HIST || kind == LHIST || kind == DISTINCT;
    }

    /** The kind of a cell, by an index over cells and buckets. */
    char cell(int index) {
        return index < layout.length ? layout[index] : kind == DISTINCT ? 'r' : 'n';
    }

    /** The length of a window in ns of the wall clock. */
    long interval() {
        return parameters[0];
    }

    /** The operator that combines the samples of one window. */
    int operator() {
        return (int) parameters[2];
    }

    /**
     * Returns the bucket of a sample. Bucket 0 is below all other buckets, and also contains samples that are not a
     * number. The last bucket is above all other buckets.
     */
    int linearBucketOf(double sample) {
        double at = (sample - low) / step;
        return !(at >= 0) ? 0 : at >= buckets ? buckets + 1 : 1 + (int) at;
    }

    /** Returns initial cells that all threads share; null for a plain value. */
    long[] newCells() {
        if (kind == VALUE) {
            return null;
        }
        long[] cells = new long[stride * stripes];
        for (int stripe = 0; stripe < stripes; stripe++) {
            Cells.clear(layout, cells, stripe * stride);
        }
        return cells;
    }

    /** Returns initial cells of one thread. */
    Cells newOwnCells() {
        Cells cells = new Cells();
        cells.cells = new long[Cells.TAKEN + layout.length];
        Cells.clear(layout, cells.cells, 0);
        cells.segments = segments > 0 ? new Object[segments] : null;
        return cells;
    }

    /** An estimate of the initial memory of an entry without its key. */
    long entryBytes() {
        return 96 + (8L * stride + 4L * segments) * stripes + (hasOwners() ? 16 + 4L * Stripes.COUNT : 0);
    }

    /** An estimate of the initial memory of the cells of one thread. */
    long ownBytes() {
        return 40 + 8L * (Cells.TAKEN + layout.length) + 4L * segments;
    }

    /**
     * Returns the value that a script sees, from the merged cells of all threads; null if there is none yet, or if the
     * kind has no single value.
     */
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

    /** The number that {@code rate} uses: in a map of sums the sum, otherwise the number of samples. */
    double samples(long[] cells) {
        switch (kind) {
            case SUM:
                return cells[1] + Double.longBitsToDouble(cells[2]);
            case HIST:
            case LHIST:
                double sum = 0;
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
