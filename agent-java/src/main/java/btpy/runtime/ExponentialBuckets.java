package btpy.runtime;

/**
 * The buckets of a distribution: those of OpenTelemetry's ExponentialHistogram, with base 2^(2^-scale), upper bounds that
 * belong to the bucket, and a bucket for zero. Whole numbers up to 2^(scale + 1) have their own bucket, so that a
 * reader sees them; each is a part of one bucket of OpenTelemetry. Bucket n of the negative numbers has the number
 * {@code n + 64 * segments / 2}.
 *
 * <p>docs/runtime.md has the formula, btpy/events/buckets.py the inverse.
 */
final class ExponentialBuckets {
    static final int MAX_SCALE = 6;
    /** The stored bits of the mantissa of a double. */
    private static final int MANTISSA = 52;
    private static final long MANTISSA_MASK = (1L << MANTISSA) - 1;
    private static final int BIAS = 1023;

    /** The bounds between 1 and 2 at the largest scale, 2^(i/64) for i from 1: the bits of the mantissa, rounded down. */
    static final long[] ROOTS = {
        0x02C9A3E778060L, 0x059B0D3158574L, 0x0874518759BC8L, 0x0B5586CF9890FL, 0x0E3EC32D3D1A2L, 0x11301D0125B50L,
        0x1429AAEA92DDFL, 0x172B83C7D517AL, 0x1A35BEB6FCB75L, 0x1D4873168B9AAL, 0x2063B88628CD6L, 0x2387A6E756238L,
        0x26B4565E27CDDL, 0x29E9DF51FDEE1L, 0x2D285A6E4030BL, 0x306FE0A31B715L, 0x33C08B26416FFL, 0x371A7373AA9CAL,
        0x3A7DB34E59FF6L, 0x3DEA64C123422L, 0x4160A21F72E29L, 0x44E086061892DL, 0x486A2B5C13CD0L, 0x4BFDAD5362A27L,
        0x4F9B2769D2CA6L, 0x5342B569D4F81L, 0x56F4736B527DAL, 0x5AB07DD485429L, 0x5E76F15AD2148L, 0x6247EB03A5584L,
        0x6623882552224L, 0x6A09E667F3BCCL, 0x6DFB23C651A2EL, 0x71F75E8EC5F73L, 0x75FEB564267C8L, 0x7A11473EB0186L,
        0x7E2F336CF4E62L, 0x82589994CCE12L, 0x868D99B4492ECL, 0x8ACE5422AA0DBL, 0x8F1AE99157736L, 0x93737B0CDC5E4L,
        0x97D829FDE4E4FL, 0x9C49182A3F090L, 0xA0C667B5DE564L, 0xA5503B23E255CL, 0xA9E6B5579FDBFL, 0xAE89F995AD3ADL,
        0xB33A2B84F15FAL, 0xB7F76F2FB5E46L, 0xBCC1E904BC1D2L, 0xC199BDD85529CL, 0xC67F12E57D14BL, 0xCB720DCEF9069L,
        0xD072D4A07897BL, 0xD5818DCFBA487L, 0xDA9E603DB3285L, 0xDFC97337B9B5EL, 0xE502EE78B3FF6L, 0xEA4AFA2A490D9L,
        0xEFA1BEE615A27L, 0xF50765B6E4540L, 0xFA7C1819E90D8L,
    };

    private static final ExponentialBuckets[] BY_SCALE = new ExponentialBuckets[MAX_SCALE + 1];

    static {
        for (int scale = 0; scale <= MAX_SCALE; scale++) {
            BY_SCALE[scale] = new ExponentialBuckets(scale);
        }
    }

    /** The segments of cells for all buckets. */
    final int segments;
    private final int scale;
    /** The greatest number that has its own bucket. */
    private final long greatestExact;
    /** The offset that is added to an index of OpenTelemetry, with the bias of the exponent of a double. */
    private final int offset;
    private final int negative;
    private final int shift;
    /**
     * The bounds. The index is the upper scale + 1 bits of the mantissa, which select a part with one bound at most.
     * The upper 12 bits of an element are the number of bounds below the part. The lower 52 are a number. Adding it to
     * a mantissa above the bound of the part makes the sum overflow into the upper bits.
     */
    private final long[] bounds;

    private ExponentialBuckets(int scale) {
        this.scale = scale;
        this.greatestExact = 2L << scale;
        this.offset = (int) greatestExact + 1 - (scale + 1 + BIAS << scale);
        int buckets = (int) greatestExact + 1 + (62 - scale << scale);
        this.segments = 2 * ((buckets + Cells.SEGMENT - 1) / Cells.SEGMENT);
        this.negative = segments / 2 * Cells.SEGMENT;
        this.shift = MANTISSA - scale - 1;
        this.bounds = new long[2 << scale];
        int below = 0;
        for (int part = 0; part < bounds.length; part++) {
            bounds[part] = (long) below << MANTISSA;
            if (below + 1 < 1 << scale) {
                long bound = ROOTS[(below + 1 << MAX_SCALE - scale) - 1];
                if (bound >>> shift == part) {
                    bounds[part] += (1L << MANTISSA) - bound;
                    below++;
                }
            }
        }
    }

    /** @throws IllegalArgumentException if there is no such scale */
    static ExponentialBuckets of(int scale) {
        if (scale < 0 || scale > MAX_SCALE) {
            throw new IllegalArgumentException("scale " + scale);
        }
        return BY_SCALE[scale];
    }

    /** Returns the bucket of a sample. */
    int of(long sample) {
        if (sample >= 0) {
            return ofPositive(sample);
        }
        return negative + ofPositive(sample == Long.MIN_VALUE ? Long.MAX_VALUE : -sample);
    }

    /**
     * The exponent and the mantissa are those of the greatest double below the sample, because the upper bound of a
     * bucket belongs to it.
     */
    private int ofPositive(long sample) {
        if (sample <= greatestExact) {
            return (int) sample;
        }
        double nearest = (double) sample;
        long bits = Double.doubleToRawLongBits(nearest) - 1;
        if (sample >>> MANTISSA + 1 != 0 && (long) nearest < sample) {
            bits++;
        }
        long mantissa = bits & MANTISSA_MASK;
        int boundIndex = (int) (bounds[(int) (mantissa >>> shift)] + mantissa >>> MANTISSA);
        return ((int) (bits >>> MANTISSA) << scale) + boundIndex + offset;
    }
}
