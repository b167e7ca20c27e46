package btpy.runtime;

/**
 * The most frequent values of a stream, in fixed memory: Space-Saving (Metwally, Agrawal, El Abbadi 2005), in sets of
 * eight counters.
 *
 * <p>The hash of a value selects one set. If the value has a counter in this set, the counter increases. Otherwise the
 * value takes a free counter, or replaces the least frequent value of the set. In this case its counter starts at the
 * count of the replaced value, and this count is its {@link Counter#error}. So a value was seen at least
 * {@code count − error} times and at most {@code count} times. A value without a counter was seen at most as often as
 * the least frequent value in its set.
 *
 * <p>A thread that removes a counter first freezes it by making its count negative. An addition to a frozen counter has
 * no effect and is repeated, so that every addition counts exactly once.
 */
final class SpaceSaving {
    private static final Memory MEMORY = Memory.instance();
    private static final long COUNT = MEMORY.fieldOffset(Counter.class, "count");
    private static final int SET = 8;
    private static final int TRIES = 64;
    private static final long FROZEN = Long.MIN_VALUE;
    /** Set together with {@link #FROZEN} if no thread is about to put a successor in the place of the counter. */
    private static final long TAKEN = 1L << 62;

    static final class Counter {
        /** The value in the form of {@link Keys#store}. */
        final Object value;
        final int hash;
        final long error;
        /** The number of additions. Code changes it with atomic operations at its field offset. */
        long count;

        Counter(Object value, int hash, long error, long count) {
            this.value = value;
            this.hash = hash;
            this.error = error;
            this.count = count;
        }
    }

    private SpaceSaving() {}

    /** The number of counters, a power of two, that is needed to find the {@code n} most frequent values. */
    static int counters(int n) {
        return Math.max(8 * SET, Integer.highestOneBit(8 * n - 1) << 1);
    }

    static void add(Object[] counters, Object value, int limit, long weight) {
        int hash = Keys.hash(value, limit);
        int first = (hash ^ hash >>> 16) * SET & counters.length - 1;
        Object stored = null;
        for (int attempt = 0; attempt < TRIES; attempt++) {
            int free = -1;
            Counter smallest = null;
            long smallestCount = 0;
            int smallestAt = 0;
            Counter match = null;
            int matchAt = 0;
            for (int at = first; at < first + SET; at++) {
                Counter counter = (Counter) MEMORY.getReferenceVolatile(counters, offset(at));
                if (counter == null) {
                    free = at;
                    break;
                }
                if (counter.hash == hash && Keys.same(counter.value, value, limit)) {
                    match = counter;
                    matchAt = at;
                    break;
                }
                long count = MEMORY.getLongVolatile(counter, COUNT);
                if (count >= 0 && (smallest == null || count < smallestCount)) {
                    smallest = counter;
                    smallestCount = count;
                    smallestAt = at;
                }
            }
            if (match != null) {
                long oldCount = MEMORY.getAndAddLong(match, COUNT, weight);
                if (oldCount >= 0) {
                    return;
                }
                if ((oldCount & TAKEN) != 0) { // the thread that took the counter has not freed its place yet
                    MEMORY.compareAndSetReference(counters, offset(matchAt), match, null);
                }
                continue;
            }
            if (stored == null) {
                stored = Keys.store(value, limit);
            }
            if (free >= 0) {
                if (MEMORY.compareAndSetReference(counters, offset(free), null, new Counter(stored, hash, 0, weight))) {
                    return;
                }
            } else if (smallest != null
                    && MEMORY.compareAndSetLong(smallest, COUNT, smallestCount, smallestCount + FROZEN)) {
                MEMORY.compareAndSetReference(
                        counters, offset(smallestAt), smallest,
                                new Counter(stored, hash, smallestCount, smallestCount + weight));
                return;
            }
        }
    }

    /**
     * Returns the counter at a place, or null. With {@code take}, frees the place, and the counter keeps its values.
     * Late additions still change the removed counter before they are repeated elsewhere.
     */
    static Counter at(Object[] counters, int at, boolean take) {
        Counter counter = (Counter) MEMORY.getReferenceVolatile(counters, offset(at));
        while (take && counter != null) {
            long count = MEMORY.getLongVolatile(counter, COUNT);
            if (count < 0) {
                return null; // another thread is about to put a successor here, which includes this count
            }
            if (MEMORY.compareAndSetLong(counter, COUNT, count, count + FROZEN + TAKEN)) {
                MEMORY.compareAndSetReference(counters, offset(at), counter, null);
                return new Counter(counter.value, counter.hash, counter.error, count);
            }
        }
        return counter;
    }

    /**
     * The largest number of times that a value without a counter may have been seen: the largest of the smallest counts
     * of all full sets.
     */
    static long unseen(Object[] counters) {
        long largest = 0;
        for (int first = 0; first < counters.length; first += SET) {
            long smallest = Long.MAX_VALUE;
            for (int at = first; at < first + SET; at++) {
                Counter counter = (Counter) MEMORY.getReferenceVolatile(counters, offset(at));
                smallest = Math.min(smallest, counter == null ? 0 : count(counter));
            }
            largest = Math.max(largest, smallest);
        }
        return largest;
    }

    static long count(Counter counter) {
        long count = MEMORY.getLongVolatile(counter, COUNT);
        return count & TAKEN - 1;
    }

    private static long offset(int at) {
        return Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * at;
    }
}
