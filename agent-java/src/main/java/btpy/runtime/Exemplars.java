package btpy.runtime;

/**
 * Samples of one key of a map, each with the trace in which it was added: at most one for each power of two since the
 * map was read last. The first sample stays, so a later sample costs only a read of its place. Reading the map removes
 * the samples.
 */
final class Exemplars {
    /** The indexes of the numbers of an exemplar: 1 if the sample is a double, its bits, ns since 1970, and the ids. */
    private static final int IS_DOUBLE = 0;
    private static final int SAMPLE = 1;
    private static final int NANOS = 2;
    private static final int TRACE = 3;
    private static final int SPAN = 5;
    private static final int NUMBERS = 6;
    /** The number of places: one for each power of two. Samples that differ by a factor of 2^32 share a place. */
    private static final int PLACES = 32;
    private static final int HALF = 16;

    private static final Memory MEMORY = Memory.instance();
    private static final long EXEMPLARS = MEMORY.fieldOffset(Entry.class, "exemplars");

    /** An estimate of the memory of all exemplars of a key. */
    static final int BYTES = 16 + PLACES * (Memory.REFERENCE_SCALE + 16 + 8 * NUMBERS);

    private Exemplars() {}

    /** The place of a sample of this size. */
    static int place(long sample) {
        return 64 - Long.numberOfLeadingZeros(sample < 0 ? ~sample : sample) & PLACES - 1;
    }

    /** Whether the entry needs an exemplar at the place. */
    static boolean isOpen(Entry entry, int place) {
        Object[] exemplars = entry.exemplars;
        return exemplars == null || exemplars[place] == null;
    }

    /** @param trace 32 hexadecimal digits @param span 16 hexadecimal digits */
    static long[] of(boolean isDouble, long sample, long nanos, String trace, String span) {
        long[] exemplar = new long[NUMBERS];
        exemplar[IS_DOUBLE] = isDouble ? 1 : 0;
        exemplar[SAMPLE] = sample;
        exemplar[NANOS] = nanos;
        exemplar[TRACE] = hexadecimal(trace, 0);
        exemplar[TRACE + 1] = hexadecimal(trace, HALF);
        exemplar[SPAN] = hexadecimal(span, 0);
        return exemplar;
    }

    private static long hexadecimal(String text, int from) {
        long number = 0;
        for (int i = from; i < from + HALF; i++) {
            char c = Strings.charAt(text, i);
            number = number << 4 | (c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
        }
        return number;
    }

    /**
     * Stores the exemplar, unless the place already has an exemplar. @return whether memory was allocated, because it
     * is the first exemplar of the entry
     */
    static boolean add(Entry entry, int place, long[] exemplar) {
        boolean isFirst = entry.exemplars == null
                && MEMORY.compareAndSetReference(entry, EXEMPLARS, null, new Object[PLACES]);
        Object[] exemplars = (Object[]) MEMORY.getReferenceVolatile(entry, EXEMPLARS);
        MEMORY.compareAndSetReference(exemplars, offset(place), null, exemplar);
        return isFirst;
    }

    /** Takes the exemplars of the entry, and writes each after the index of the entry in the content. @return their number */
    static int take(Entry entry, int index, Output out) {
        Object[] exemplars = (Object[]) MEMORY.getReferenceVolatile(entry, EXEMPLARS);
        int count = 0;
        for (int place = 0; exemplars != null && place < PLACES; place++) {
            long[] exemplar = (long[]) MEMORY.getReferenceVolatile(exemplars, offset(place));
            if (exemplar == null || !MEMORY.compareAndSetReference(exemplars, offset(place), exemplar, null)) {
                continue;
            }
            out.u4(index);
            for (int i = 0; i < NUMBERS; i++) {
                out.u8(exemplar[i]);
            }
            count++;
        }
        return count;
    }

    private static long offset(int place) {
        return Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * place;
    }
}
