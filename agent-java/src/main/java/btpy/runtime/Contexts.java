package btpy.runtime;

import java.util.Arrays;

/**
 * The current span, baggage and diagnostic context of the running thread, read from the fields of the libraries that keep them. No
 * code of the application runs and no class is initialised.
 *
 * <p>The agent looks for the classes of these libraries among the loaded classes when a probe needs them, and again
 * when such a class is loaded later. It refers to the classes weakly, for all sessions, until the last session ends.
 */
public final class Contexts {
    private static final TraceLibrary[] NO_TRACES = {};
    private static final LoggingLibrary[] NO_LOGS = {};

    /** The maximum number of copies of one library: each web application may have its own. */
    private static final int MAX_LIBRARIES = 32;

    /** What {@link #ofSpan} returns. */
    private static final int TRACE_ID = 0;
    private static final int SPAN_ID = 1;
    private static final int FLAGS = 2;
    /** The flag of a trace that is sampled (W3C Trace Context). */
    private static final long SAMPLED = 1;

    private static volatile TraceLibrary[] traces = NO_TRACES;
    private static volatile LoggingLibrary[] logs = NO_LOGS;
    private static volatile boolean searched;

    /** Names of loaded classes that lack the field that btpy reads, because the library has another version. */
    private static volatile String unreadableTrace;
    private static volatile String unreadableLog;

    private Contexts() {}

    // Handlers call the methods below.

    /** The trace of the current span, 32 hexadecimal digits; null if this thread has no span. */
    public static String traceId(Session session, int probe, int at) {
        return (String) ofSpan(TRACE_ID, session, probe, at);
    }

    /** The current span, 16 hexadecimal digits; null if this thread has no span. */
    public static String spanId(Session session, int probe, int at) {
        return (String) ofSpan(SPAN_ID, session, probe, at);
    }

    /** The flags of the current span (W3C Trace Context), a Long; null if this thread has no span. */
    public static Object traceFlags(Session session, int probe, int at) {
        return ofSpan(FLAGS, session, probe, at);
    }

    private static Object ofSpan(int fact, Session session, int probe, int at) {
        TraceLibrary[] libraries = traces;
        for (TraceLibrary library : libraries) {
            Object ids = library.current(session, probe, at);
            if (ids != null) {
                return fact == TRACE_ID ? library.traceId(ids) : fact == SPAN_ID ? library.spanId(ids) : library.flags(ids);
            }
        }
        return noTrace(libraries, session, probe, at);
    }

    /** The value of a key of the current baggage; null if there is no value. */
    public static String baggage(Session session, String key, int probe, int at) {
        TraceLibrary[] libraries = traces;
        for (TraceLibrary library : libraries) {
            String value = library.baggage(session, key, probe, at);
            if (value != null) {
                return value;
            }
        }
        return noTrace(libraries, session, probe, at);
    }

    /** The value of a key of the diagnostic context; null if there is no value. */
    public static String mdc(Session session, String key, int probe, int at) {
        LoggingLibrary[] libraries = logs;
        for (LoggingLibrary library : libraries) {
            String value = library.value(session, key, probe, at);
            if (value != null) {
                return value;
            }
        }
        if (libraries.length == 0) {
            session.contexts.noLogging(session, probe, at, unreadableLog);
        }
        return null;
    }

    /** Keeps a sample of a map with the ids of the current span, if the span is sampled and the map needs an exemplar. */
    public static void exemplar(Session session, Aggregation map, int slot, long sample, int probe, int at) {
        exemplar(session, map, map.entry(slot), Exemplars.place(sample), false, sample, probe, at);
    }

    public static void exemplar(Session session, Aggregation map, int slot, double sample, int probe, int at) {
        int place = Exemplars.place((long) sample);
        exemplar(session, map, map.entry(slot), place, true, Double.doubleToRawLongBits(sample), probe, at);
    }

    /** Does nothing if the sample is not a number. */
    public static void exemplar(Session session, Aggregation map, int slot, Object sample, int probe, int at) {
        if (sample instanceof Double || sample instanceof Float) {
            exemplar(session, map, slot, ((Number) sample).doubleValue(), probe, at);
        } else if (sample instanceof Long || sample instanceof Integer || sample instanceof Short || sample instanceof Byte) {
            exemplar(session, map, slot, ((Number) sample).longValue(), probe, at);
        }
    }

    private static void exemplar(
            Session session, Aggregation map, Entry entry, int place, boolean isDouble, long sample, int probe, int at) {
        if (entry == null || !Exemplars.isOpen(entry, place) || !map.hasRoomForExemplar()) {
            return;
        }
        TraceLibrary[] libraries = traces;
        for (TraceLibrary library : libraries) {
            Object ids = library.current(session, probe, at);
            if (ids != null) {
                Object flags = library.flags(ids);
                String trace = library.traceId(ids);
                String span = library.spanId(ids);
                if (flags instanceof Long && (((Long) flags).longValue() & SAMPLED) != 0 && trace != null && span != null) {
                    map.keep(entry, place, Exemplars.of(isDouble, sample, session.wallClock(), trace, span));
                }
                return;
            }
        }
        noTrace(libraries, session, probe, at);
    }

    private static String noTrace(TraceLibrary[] libraries, Session session, int probe, int at) {
        if (libraries.length == 0) {
            session.contexts.noTrace(session, probe, at, unreadableTrace);
        }
        return null;
    }

    /** The libraries that keep a current span. */
    static TraceLibrary[] traces() {
        return traces;
    }

    // The agent calls the methods below.

    /** Whether the loaded classes have been searched since the first session began. */
    public static boolean isSearched() {
        return searched;
    }

    /** Called after the first search of the loaded classes. */
    public static void markSearched() {
        searched = true;
    }

    /** Whether a class of this name, with dots, is one that {@link #add} accepts. */
    public static boolean wants(String name) {
        char last = Strings.length(name) == 0 ? 0 : Strings.charAt(name, Strings.length(name) - 1);
        return last == 'e' && KnownField.isOrEndsIn(name, OpenTelemetryLibrary.STORAGE)
                || last == 't' && (KnownField.isOrEndsIn(name, BraveLibrary.CURRENT) || KnownField.isOrEndsIn(name, BraveLibrary.INHERITED))
                || last == 'r' && KnownField.isOrEndsIn(name, DatadogLibrary.TRACER)
                || last == 't' && KnownField.isOrEndsIn(name, LoggingLibrary.LOG4J)
                || last == 'C' && KnownField.isOrEndsIn(name, LoggingLibrary.SLF4J);
    }

    /** Adds a loaded class for which {@link #wants} is true. The same class may be added any number of times. */
    public static synchronized void add(Class<?> type) {
        String name = ClassNames.of(type);
        if (KnownField.isOrEndsIn(name, LoggingLibrary.SLF4J) || KnownField.isOrEndsIn(name, LoggingLibrary.LOG4J)) {
            addLogging(type);
        } else {
            addTrace(type, name);
        }
    }

    private static void addTrace(Class<?> type, String name) {
        TraceLibrary[] newLibraries = new TraceLibrary[traces.length + 1];
        int count = 0;
        for (TraceLibrary library : traces) {
            Class<?> knownType = library.storage.get();
            if (knownType == type) {
                return;
            }
            if (knownType != null) {
                newLibraries[count++] = library;
            }
        }
        TraceLibrary newLibrary = KnownField.isOrEndsIn(name, OpenTelemetryLibrary.STORAGE) ? OpenTelemetryLibrary.of(type)
                : KnownField.isOrEndsIn(name, DatadogLibrary.TRACER) ? DatadogLibrary.of(type)
                : BraveLibrary.of(type);
        if (newLibrary == null) {
            unreadableTrace = name;
        } else if (count < MAX_LIBRARIES) {
            newLibraries[count++] = newLibrary;
        }
        traces = Arrays.copyOf(newLibraries, count);
    }

    private static void addLogging(Class<?> type) {
        LoggingLibrary[] newLibraries = new LoggingLibrary[logs.length + 1];
        int count = 0;
        for (LoggingLibrary library : logs) {
            Class<?> knownType = library.adapter.get();
            if (knownType == type) {
                return;
            }
            if (knownType != null) {
                newLibraries[count++] = library;
            }
        }
        LoggingLibrary newLibrary = LoggingLibrary.of(type);
        if (newLibrary == null) {
            unreadableLog = ClassNames.of(type);
        } else if (count < MAX_LIBRARIES) {
            newLibraries[count++] = newLibrary;
        }
        logs = Arrays.copyOf(newLibraries, count);
    }

    /** Called at the end of the last session. */
    static synchronized void clear() {
        traces = NO_TRACES;
        logs = NO_LOGS;
        unreadableTrace = null;
        unreadableLog = null;
        searched = false;
    }
}
