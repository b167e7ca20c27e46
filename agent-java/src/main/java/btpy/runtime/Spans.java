package btpy.runtime;

/**
 * Spans of probes ({@code span("name", …)}): children of the trace context that is current when a method is entered, or
 * of a span of another probe that encloses the method and began in the same context. Without a context the outermost
 * span begins its own trace.
 *
 * <p>The woven method keeps its {@link OpenSpan} in a local variable. This table has the innermost span of each thread;
 * it is bounded, and nothing is kept in threads of the application. A span allocates its OpenSpan when the method is
 * entered and its ids as text when it ends, and takes no lock. If the table is full, a span has the application's span
 * as its parent.
 */
public final class Spans {
    private static final Memory MEMORY = Memory.instance();
    private static final long SPANS = MEMORY.fieldOffset(Session.class, "spans");
    private static final long NEXT = MEMORY.fieldOffset(Spans.class, "next");
    private static final int BITS = 10;

    private static final int SAMPLED = 1;
    private static final long GOLDEN = 0x9E3779B97F4A7C15L;

    private final ThreadTable threads = new ThreadTable(BITS);
    /** The index is the entry of the thread in {@link #threads}. */
    private final OpenSpan[] innermost = new OpenSpan[threads.values.length];
    private final long traces;
    private long next;

    private Spans(long traces, long first) {
        this.traces = traces;
        this.next = first;
    }

    // Handlers call the methods below.

    /**
     * Begins a span that encloses the spans of the calls of its method.
     *
     * @return an argument for the other methods; null: there is no span, because the probe is disabled, the thread is in a handler,
     * or the trace is not sampled
     */
    public static Object enter(int site, int probe) {
        return begin(site, probe, true);
    }

    /** Begins a span that may never be written, so it encloses no other span. @return as {@link #enter} */
    public static Object begin(int site, int probe) {
        return begin(site, probe, false);
    }

    /** Ends a span of {@link #enter}, even if spans above it have not ended. */
    public static void leave(int site, int probe, Object token) {
        Session session = Session.of(site);
        if (session != null && session.spans != null && token instanceof OpenSpan) {
            session.spans.close((OpenSpan) token);
        }
    }

    /** Whether the firing has a span that it has not written yet. */
    public static boolean take(Object token) {
        return token instanceof OpenSpan && ((OpenSpan) token).take();
    }

    /** 32 hexadecimal digits. */
    public static String traceId(Session session, Object token) {
        OpenSpan span = (OpenSpan) token;
        if (span.traceId != null) {
            return span.traceId;
        }
        char[] digits = new char[32];
        TraceLibrary.writeHex(session.spans.traces, digits, 0);
        TraceLibrary.writeHex(span.root().id, digits, 16);
        return new String(digits);
    }

    /** 16 hexadecimal digits. */
    public static String spanId(Session session, Object token) {
        return text(((OpenSpan) token).id);
    }

    /** 16 hexadecimal digits; null: the span has no parent. */
    public static String parentId(Session session, Object token) {
        OpenSpan span = (OpenSpan) token;
        return span.parent == null ? span.applicationSpan : text(span.parent.id);
    }

    public static long flags(Session session, Object token) {
        return ((OpenSpan) token).flags;
    }

    private static Object begin(int site, int probe, boolean encloses) {
        Session session = Session.enter(site, probe);
        if (session == null) {
            return null;
        }
        int mark = Guard.enter(session, probe);
        if (mark < 0) {
            return null;
        }
        try {
            Spans spans = session.spans == null ? getOrCreate(session) : session.spans;
            return spans.open(session, probe, encloses);
        } finally {
            try {
                Guard.leave(mark);
            } catch (Throwable e) {
                Guard.MARKS[mark] = Guard.LEFT;
            }
        }
    }

    private static Spans getOrCreate(Session session) {
        long traces = mixed(session.limits.hash.of("traces") + session.startedNanos());
        Spans newSpans = new Spans(traces == 0 ? 1 : traces, mixed(traces + session.pid()));
        MEMORY.compareAndSetReference(session, SPANS, null, newSpans);
        return (Spans) MEMORY.getReferenceVolatile(session, SPANS);
    }

    private OpenSpan open(Session session, int probe, boolean encloses) {
        long thread = Threads.id();
        int entry = threads.find(thread);
        OpenSpan outer = entry < 0 ? null : innermost[entry];
        String trace = null;
        String applicationSpan = null;
        Object flags = null;
        for (TraceLibrary library : Contexts.traces()) {
            Object ids = trace == null ? library.current(session, probe, 0) : null;
            if (ids != null) {
                trace = library.traceId(ids);
                applicationSpan = library.spanId(ids);
                flags = library.flags(ids);
            }
        }
        int bits = flags instanceof Long ? (int) ((Long) flags).longValue() : SAMPLED;
        if ((bits & SAMPLED) == 0) {
            return null;
        }
        OpenSpan span =
                new OpenSpan(newId(), trace, applicationSpan, isSame(outer, trace, applicationSpan) ? outer
                        : null, bits, outer);
        if (encloses) {
            if (entry < 0) {
                entry = threads.claim(thread);
            }
            if (entry < 0) {
                session.errors.count(probe, 0, ProbeError.KIND_DEPTH, null);
            } else {
                innermost[entry] = span;
            }
        }
        return span;
    }

    /** Whether a span with this context began where {@code outer} did, so that no span of the application is between them. */
    private static boolean isSame(OpenSpan outer, String trace, String applicationSpan) {
        if (outer == null || trace == null || outer.traceId == null) {
            return outer != null && trace == null && outer.traceId == null;
        }
        return applicationSpan != null && outer.applicationSpan != null
                && Strings.equal(outer.applicationSpan, applicationSpan) && Strings.equal(outer.traceId, trace);
    }

    private void close(OpenSpan span) {
        int entry = threads.find(Threads.id());
        OpenSpan innermostSpan = entry < 0 ? null : innermost[entry];
        if (innermostSpan == null || innermostSpan.depth < span.depth) {
            return;
        }
        innermost[entry] = span.outer;
        if (span.outer == null) {
            threads.release(entry);
        }
    }

    /** Unique in the session, and not 0. */
    private long newId() {
        long id = mixed(MEMORY.getAndAddLong(this, NEXT, GOLDEN));
        return id == 0 ? 1 : id;
    }

    /** The finalizer of MurmurHash3 with the constants of Stafford's variant 13, as in SplitMix64: a bijection. */
    private static long mixed(long z) {
        z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
        z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
        return z ^ z >>> 31;
    }

    private static String text(long id) {
        char[] digits = new char[16];
        TraceLibrary.writeHex(id, digits, 0);
        return new String(digits);
    }
}
