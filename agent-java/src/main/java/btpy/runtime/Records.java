package btpy.runtime;

/**
 * Writes the records of handlers into the buffers of their session. A handler calls {@link #begin}, {@link #words},
 * {@link #end}, {@link #position}, then for each value a {@code put} method, which takes a position and returns the
 * next one, and at last {@link #commit}. A cursor below 0 means that the record was dropped and counted. If {@link
 * #words} returns no array, there is nothing to write, and the handler calls nothing more.
 *
 * <p>These methods throw only errors that may interrupt a thread anywhere: a stack overflow, a full heap, a stopped
 * thread. The handler then abandons the record with {@link #abandon}, or by its own code if the stack has no space for
 * a call.
 */
public final class Records {
    private static final Memory MEMORY = Memory.instance();
    /** The position of a record whose values took more space than their bound. Nothing can be written after it. */
    private static final int OVERRUN = 1 << 30;

    /** The maximum number of bytes that {@link #put} uses for one value, at all limits. */
    private static final int MAX_VALUE = 32 << 10;

    private Records() {}

    /**
     * Begins a record.
     *
     * @param bound a bound on the bytes of the values
     * @return the cursor of the record
     */
    public static long begin(Session session, int template, int probe, int site, int bound) {
        if (session.budget.holdsBack()) {
            Probe owner = session.probe(probe);
            if (owner != null && !owner.prints()) {
                return EventBuffer.DROPPED_FULL;
            }
        }
        return begin(session, template, probe, site, bound, Threads.id(), Threads.name());
    }

    /** Begins a record for the thread that was sampled. {@code sampledStack} is a {@link SampledStack}. */
    public static long beginOfSample(Session session, int template, int probe, int site, int bound,
            Object sampledStack) {
        SampledStack stack = (SampledStack) sampledStack;
        return begin(session, template, probe, site, bound, stack.id, stack.name);
    }

    private static long begin(Session session, int template, int probe, int site, int bound, long thread, String name) {
        long nanos = System.nanoTime();
        if (!session.names.knows(thread, name) && ship(session, thread, name, nanos)) {
            session.names.learn(thread, name);
        }
        // Adds the end mark, and rejects a bound that has overflowed.
        long cursor = bound < 0 ? EventBuffer.DROPPED_LARGE : session.events.claim(EventBuffer.HEADER + bound + 1, probe, 0, thread);
        if (cursor < 0) {
            Probe owner = session.probe(probe);
            if (owner != null) {
                owner.lose(cursor == EventBuffer.DROPPED_LARGE ? Probe.LARGE : Probe.FULL);
            }
            return cursor;
        }
        // No call from the claim to here: a stack overflow may occur in any call, and the handler would not know the
        // record.
        EventBuffer.Ring ring = session.events.rings[(int) (cursor >>> EventBuffer.POSITION_BITS) & (1 << EventBuffer.RING_BITS) - 1];
        if (!Memory.BIG_ENDIAN && ring.name == (cursor & ~EventBuffer.POSITIONS)) {
            int place = (int) (cursor & EventBuffer.POSITIONS);
            long[] words = ring.chunks[place - 8 >>> EventBuffer.CHUNK_SHIFT];
            int at = (place & EventBuffer.MAX_CHUNK_BYTES - 1) >> 3;
            words[at] = (long) template << 32;
            words[at + 1] = (long) probe << 32 | site & 0xFFFFFFFFL;
            words[at + 2] = nanos;
            words[at + 3] = thread;
        } else {
            header(words(session, cursor), cursor, template, site, probe, nanos, thread);
        }
        return cursor;
    }

    /** @return the array of the record; null if the record was dropped or its ring was abandoned in the meantime */
    public static long[] words(Session session, long begin) {
        return begin < 0 ? null : session.events.words(begin);
    }

    /** The position of the first value in the array. */
    public static int position(long begin) {
        return EventBuffer.position(begin) + EventBuffer.HEADER;
    }

    /** The end of the space of a record with this bound. Its last byte is reserved for the end mark. */
    public static int end(long begin, int bound) {
        return position(begin) + bound + 1;
    }

    /** Writes the header of a record without its size. */
    static void header(long[] words, long cursor, int template, int site, int probe, long nanos, long thread) {
        if (words != null) {
            int at = EventBuffer.position(cursor);
            Values.put4(words, at + 4, template);
            Values.put4(words, at + 8, site);
            Values.put4(words, at + 12, probe);
            Values.put8(words, at + 16, nanos);
            Values.put8(words, at + 24, thread);
        }
    }

    /** Writes the name of this thread as a separate record. @return false if the buffer is full */
    private static boolean ship(Session session, long thread, String name, long nanos) {
        if (name == null) {
            return true;
        }
        int bound = Values.string(name, session.limits.chars, null, 0, Integer.MAX_VALUE);
        long cursor = session.events.claim(EventBuffer.HEADER + bound + 1, EventBuffer.NO_PROBE, 0, thread);
        if (cursor < 0) {
            return false;
        }
        long[] words = session.events.words(cursor);
        if (words != null) {
            try {
                header(words, cursor, -1, 0, -1, nanos, thread);
                int at = position(cursor);
                commit(session, Values.string(name, session.limits.chars, words, at, at + bound), words, cursor, end(cursor, bound));
            } catch (Throwable interruption) {
                int mark = (int) (cursor & EventBuffer.POSITIONS) - 8 >> 3;
                words[mark] = (long) EventBuffer.PADDING << 32 | words[mark] & 0xFFFFFFFFL; // no call, because the stack may be at its end
                throw interruption;
            }
        }
        return true;
    }

    /** Returns a complete record with the name of a thread. Only agent threads call this. */
    static byte[] threadName(Session session, long thread, String name) {
        int bound = Values.string(name, session.limits.chars, null, 0, Integer.MAX_VALUE);
        int size = EventBuffer.HEADER + bound + 1 + 7 & ~7;
        long[] words = new long[size / 8];
        Values.put4(words, 0, size);
        header(words, 0, -1, 0, -1, System.nanoTime(), thread);
        int end = Values.string(name, session.limits.chars, words, EventBuffer.HEADER, size);
        Values.put1(words, end, Values.END);
        byte[] record = new byte[size];
        MEMORY.copy(words, Memory.LONG_BASE, record, Memory.BYTE_BASE, size);
        return record;
    }

    /** Whether the error may interrupt a thread anywhere, so that the value that was being read is not the cause. */
    private static boolean isInterruption(Throwable t) {
        return t instanceof VirtualMachineError || t instanceof ThreadDeath;
    }

    /**
     * Discards an open record after an error in a handler.
     *
     * @param begin below 0 if no record was begun, or if the last record was committed
     */
    public static void abandon(Session session, long[] words, long begin) {
        long[] record = words != null ? words : words(session, begin);
        if (record != null) {
            EventBuffer.abandon(record, EventBuffer.position(begin), Threads.id());
        }
    }

    public static int putInt(int at, long[] words, int end, int value) {
        if (at + 5 >= end) {
            return OVERRUN;
        }
        Values.put1(words, at, Values.INT);
        Values.put4(words, at + 1, value);
        return at + 5;
    }

    public static int putLong(int at, long[] words, int end, long value) {
        return put8(at, words, end, Values.LONG, value);
    }

    public static int putDouble(int at, long[] words, int end, double value) {
        // The raw bits: the method is native, and so not traceable, on every JDK. NaN bits are preserved.
        return put8(at, words, end, Values.DOUBLE, Double.doubleToRawLongBits(value));
    }

    private static int put8(int at, long[] words, int end, int tag, long bits) {
        if (at + 9 >= end) {
            return OVERRUN;
        }
        Values.put1(words, at, tag);
        Values.put8(words, at + 1, bits);
        return at + 9;
    }

    public static int putBoolean(int at, long[] words, int end, int value) {
        if (at + 1 >= end) {
            return OVERRUN;
        }
        Values.put1(words, at, value != 0 ? Values.TRUE : Values.FALSE);
        return at + 1;
    }

    public static int putChar(int at, long[] words, int end, int value) {
        if (at + 3 >= end) {
            return OVERRUN;
        }
        Values.put1(words, at, Values.CHAR);
        Values.put2(words, at + 1, value);
        return at + 3;
    }

    public static int put(Session session, int at, long[] words, int end, Object value) {
        if (at + 1 >= end) {
            return OVERRUN;
        }
        int next;
        try {
            next = Values.simple(session, value, words, at, end - 1);
            if (next == Values.NOT_SIMPLE) {
                next = values(session, value, words, end - 1).write(unwrap(value), at);
            }
        } catch (Throwable failure) {
            if (isInterruption(failure)) {
                throw failure;
            }
            next = Values.NO_ROOM;
        }
        if (next < 0) {
            Values.put1(words, at, Values.UNREADABLE);
            next = at + 1;
        }
        return next;
    }

    private static Values values(Session session, Object value, long[] words, int end) {
        return new Values(session, words, end, value instanceof Shown ? ((Shown) value).depth : session.limits.depth);
    }

    private static Object unwrap(Object value) {
        return value instanceof Shown ? ((Shown) value).value : value;
    }

    public static int bound(Session session, Object value) {
        try {
            int size = Values.simple(session, value, null, 0, Integer.MAX_VALUE);
            if (size != Values.NOT_SIMPLE) {
                return size;
            }
            int limit = session.events.maxRecord() / 2 < MAX_VALUE ? session.events.maxRecord() / 2 : MAX_VALUE;
            size = values(session, value, null, limit).write(unwrap(value), 0);
            return size < 0 ? 1 : size;
        } catch (Throwable failure) {
            if (isInterruption(failure)) {
                throw failure;
            }
            return 1;
        }
    }

    /** @param at the position after the last value */
    public static void commit(Session session, int at, long[] words, long begin, int end) {
        int start = EventBuffer.position(begin);
        if (at >= end) {
            Probe owner = session.probe(EventBuffer.discard(words, start));
            if (owner != null) {
                owner.lose(Probe.LARGE);
            }
            return;
        }
        Values.put1(words, at, Values.END);
        Values.put4(words, start, at + 1 - start + 7 & ~7);
        EventBuffer.commit(words, start);
    }

    /** Writes a complete record. */
    static void write(Session session, int template, int probe, int site, Object first, Object second) {
        int bound = bound(session, first) + bound(session, second);
        long begin = begin(session, template, probe, site, bound);
        long[] words = words(session, begin);
        if (words != null) {
            try {
                int end = end(begin, bound);
                int at = put(session, position(begin), words, end, first);
                commit(session, put(session, at, words, end, second), words, begin, end);
            } catch (Throwable interruption) {
                abandon(session, words, begin);
                throw interruption;
            }
        }
    }
}
