package btpy.runtime;

/** A request of a handler to the event thread, at its position among the records. */
public final class Request {
    static final int PRINT_MAP = 0;
    public static final int EXIT = 1;
    public static final int SEND = 2;
    public static final int FLUSH = 1 << 14;

    private static final Memory MEMORY = Memory.instance();

    /** {@link #PRINT_MAP}, {@link #EXIT} or {@link #SEND}. */
    public final int kind;
    public final int template;
    /** The probe; −1 for a map. */
    public final int probe;
    /** The site; 0 for a map. */
    public final int site;
    /** The exit code or the event id. */
    public final int argument;
    /** The maps that are shown together: ids, with {@link #FLUSH} for a map whose content is taken. */
    public final int[] maps;
    /** System.nanoTime of the requesting thread. */
    public final long nanos;

    Request(int kind, int template, int probe, int site, int argument, int[] maps, long nanos) {
        this.kind = kind;
        this.template = template;
        this.probe = probe;
        this.site = site;
        this.argument = argument;
        this.maps = maps;
        this.nanos = nanos;
    }

    /** Requests printing of maps. The characters of {@code maps} are the elements of {@link #maps}. */
    public static void printMaps(Session session, int template, String maps) {
        put(session, PRINT_MAP, template, -1, 0, 0, maps);
    }

    public static void exit(Session session, int template, int probe, int site, int code) {
        put(session, EXIT, template, probe, site, code, "");
    }

    /** Requests a run of the hooks of an event on the event thread. */
    public static void send(Session session, int probe, int site, int event) {
        put(session, SEND, -1, probe, site, event, "");
    }

    private static void put(Session session, int kind, int template, int probe, int site, int argument, String maps) {
        long thread = Threads.id();
        long nanos = System.nanoTime();
        int count = Strings.length(maps) + 1 & ~1;
        int size = EventBuffer.HEADER + 8 + 4 * count;
        long cursor = session.events.claim(size, EventBuffer.NO_PROBE, EventBuffer.REQUEST, thread);
        if (cursor < 0) {
            int[] mapIds = new int[count];
            for (int i = 0; i < count; i++) {
                mapIds[i] = element(maps, i);
            }
            putLate(session, new Request(kind, template, probe, site, argument, mapIds, nanos));
            return;
        }
        long[] words = session.events.words(cursor);
        if (words != null) {
            try {
                Records.header(words, cursor, template, site, probe, nanos, thread);
                int start = EventBuffer.position(cursor);
                int at = Records.position(cursor);
                Values.put4(words, start, size);
                Values.put4(words, at, kind);
                Values.put4(words, at + 4, argument);
                for (int i = 0; i < count; i++) {
                    Values.put4(words, at + 8 + 4 * i, element(maps, i));
                }
                EventBuffer.commit(words, start);
            } catch (Throwable interruption) {
                int mark = (int) (cursor & EventBuffer.POSITIONS) - 8 >> 3;
                words[mark] = (long) EventBuffer.PADDING << 32 | words[mark] & 0xFFFFFFFFL; // no call, because the stack may be at its end
                throw interruption;
            }
        }
    }

    private static int element(String maps, int i) {
        return i < Strings.length(maps) ? Strings.charAt(maps, i) : -1;
    }

    private static void putLate(Session session, Request late) {
        for (int i = 0; i < session.lateRequests.length; i++) {
            long offset = Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * i;
            if (MEMORY.compareAndSetReference(session.lateRequests, offset, null, late)) {
                return;
            }
        }
        Probe owner = session.probe(late.probe);
        if (owner != null) {
            owner.lose(Probe.FULL);
        }
    }

    /** Called by the event thread. @return a request that did not fit into the buffers, or null */
    static Request takeLate(Session session) {
        Object[] all = session.lateRequests;
        for (int i = 0; i < all.length; i++) {
            Object late = all[i];
            if (late != null) {
                all[i] = null;
                return (Request) late;
            }
        }
        return null;
    }
}
