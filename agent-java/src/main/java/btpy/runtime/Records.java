package btpy.runtime;

/**
 * How handlers write records into the buffers of their session: {@link #begin}, {@link #words}, a {@code put} for each value, {@link
 * #commit}. Between them go a cursor and the array that it points into, so that the array is looked for once. A cursor below 0 says that
 * the record was dropped and counted; without an array the others do nothing. Nothing throws.
 */
public final class Records {
    /** Cursor of a record whose values took more room than they said they would. */
    private static final long OVERRUN = EventBuffer.DROPPED_LARGE;

    /** Bytes that {@link #put} takes for one value at most, whatever the limits. */
    private static final int MAX_VALUE = 32 << 10;

    private Records() {}

    /** @param bound on the bytes of the values */
    public static long begin(Session session, int template, int probe, int site, int bound) {
        if (session.budget.holdsBack()) {
            Probe found = session.probe(probe);
            if (found != null && !found.prints()) {
                return EventBuffer.DROPPED_FULL;
            }
        }
        long thread = Threads.id();
        long nanos = System.nanoTime();
        String name = Threads.name();
        if (!session.names.knows(thread, name) && ship(session, thread, name, nanos)) {
            session.names.learn(thread, name);
        }
        // The end mark, and a bound that is wrong by all that an int can be.
        long cursor = bound < 0 ? EventBuffer.DROPPED_LARGE : session.events.claim(EventBuffer.HEADER + bound + 1, probe, 0, thread);
        if (cursor < 0) {
            Probe found = session.probe(probe);
            if (found != null) {
                found.lose(cursor == EventBuffer.DROPPED_LARGE ? Probe.LARGE : Probe.FULL);
            }
            return cursor;
        }
        return header(session, cursor, template, site, probe, nanos, thread);
    }

    /** @return the array of the record; null: the record was dropped, or its ring given up meanwhile */
    public static long[] words(Session session, long begin) {
        return begin < 0 ? null : session.events.words(begin);
    }

    /** Writes what each record begins with. @return the cursor behind it */
    static long header(Session session, long cursor, int template, int site, int probe, long nanos, long thread) {
        long[] words = session.events.words(cursor);
        if (words != null) {
            int at = EventBuffer.position(cursor);
            Values.put4(words, at + 4, template);
            Values.put4(words, at + 8, site);
            Values.put4(words, at + 12, probe);
            Values.put8(words, at + 16, nanos);
            Values.put8(words, at + 24, thread);
        }
        return cursor + EventBuffer.HEADER;
    }

    /** The name of this thread, as a record of its own. @return false when there was no room */
    private static boolean ship(Session session, long thread, String name, long nanos) {
        if (name == null) {
            return true;
        }
        int bound = Values.string(name, session.limits.chars, null, 0, Integer.MAX_VALUE);
        long cursor = session.events.claim(EventBuffer.HEADER + bound + 1, EventBuffer.NO_PROBE, 0, thread);
        if (cursor < 0) {
            return false;
        }
        long begin = header(session, cursor, -1, 0, -1, nanos, thread);
        long[] words = session.events.words(begin);
        int at = EventBuffer.position(begin);
        if (words != null) {
            int next = Values.string(name, session.limits.chars, words, at, at + bound);
            commit(session, words, begin, begin + (next - at));
        }
        return true;
    }

    /** Room for {@code bytes} at the cursor, apart from the end mark. */
    private static boolean fits(long cursor, int bytes) {
        return EventBuffer.position(cursor) + bytes < EventBuffer.end(cursor);
    }

    public static long putInt(long[] words, long cursor, int value) {
        if (cursor < 0 || !fits(cursor, 5)) {
            return OVERRUN;
        }
        int at = EventBuffer.position(cursor);
        Values.put1(words, at, Values.INT);
        Values.put4(words, at + 1, value);
        return cursor + 5;
    }

    public static long putLong(long[] words, long cursor, long value) {
        return put8(words, cursor, Values.LONG, value);
    }

    public static long putDouble(long[] words, long cursor, double value) {
        // Raw: native, and so not traceable, on every JDK; NaN bits are kept as they are.
        return put8(words, cursor, Values.DOUBLE, Double.doubleToRawLongBits(value));
    }

    private static long put8(long[] words, long cursor, int tag, long bits) {
        if (cursor < 0 || !fits(cursor, 9)) {
            return OVERRUN;
        }
        int at = EventBuffer.position(cursor);
        Values.put1(words, at, tag);
        Values.put8(words, at + 1, bits);
        return cursor + 9;
    }

    public static long putBoolean(long[] words, long cursor, int value) {
        if (cursor < 0 || !fits(cursor, 1)) {
            return OVERRUN;
        }
        Values.put1(words, EventBuffer.position(cursor), value != 0 ? Values.TRUE : Values.FALSE);
        return cursor + 1;
    }

    public static long putChar(long[] words, long cursor, int value) {
        if (cursor < 0 || !fits(cursor, 3)) {
            return OVERRUN;
        }
        int at = EventBuffer.position(cursor);
        Values.put1(words, at, Values.CHAR);
        Values.put2(words, at + 1, value);
        return cursor + 3;
    }

    public static long put(Session session, long[] words, long cursor, Object value) {
        if (cursor < 0 || !fits(cursor, 1)) {
            return OVERRUN;
        }
        if (words == null) {
            return cursor;
        }
        int at = EventBuffer.position(cursor);
        int end = EventBuffer.end(cursor) - 1;
        int next;
        try {
            next = Values.simple(session, value, words, at, end);
            if (next == Values.NOT_SIMPLE) {
                next = values(session, value, words, end).write(shown(value), at);
            }
        } catch (Throwable unreadable) {
            next = Values.NO_ROOM;
        }
        if (next < 0) {
            Values.put1(words, at, Values.UNREADABLE);
            next = at + 1;
        }
        return cursor + (next - at);
    }

    private static Values values(Session session, Object value, long[] words, int end) {
        return new Values(session, words, end, value instanceof Shown ? ((Shown) value).depth : session.limits.depth);
    }

    private static Object shown(Object value) {
        return value instanceof Shown ? ((Shown) value).value : value;
    }

    public static int bound(Session session, Object value) {
        try {
            int size = Values.simple(session, value, null, 0, Integer.MAX_VALUE);
            if (size != Values.NOT_SIMPLE) {
                return size;
            }
            int most = session.events.maxRecord() / 2 < MAX_VALUE ? session.events.maxRecord() / 2 : MAX_VALUE;
            size = values(session, value, null, most).write(shown(value), 0);
            return size < 0 ? 1 : size;
        } catch (Throwable unreadable) {
            return 1;
        }
    }

    public static void commit(Session session, long[] words, long begin, long end) {
        if (words == null) {
            return;
        }
        int start = EventBuffer.position(begin) - EventBuffer.HEADER;
        int at = EventBuffer.position(end);
        if (end < 0 || at < EventBuffer.position(begin) || at >= EventBuffer.end(begin)) {
            Probe found = session.probe(EventBuffer.discard(words, start));
            if (found != null) {
                found.lose(Probe.LARGE);
            }
            return;
        }
        Values.put1(words, at, Values.END);
        Values.put4(words, start, at + 1 - start + 7 & ~7);
        EventBuffer.commit(words, start);
    }

    /** A whole record. */
    static void write(Session session, int template, int probe, int site, Object first, Object second) {
        long begin = begin(session, template, probe, site, bound(session, first) + bound(session, second));
        long[] words = words(session, begin);
        if (words != null) {
            commit(session, words, begin, put(session, words, put(session, words, begin, first), second));
        }
    }
}
