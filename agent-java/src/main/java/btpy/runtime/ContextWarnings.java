package btpy.runtime;

import java.lang.ref.WeakReference;

/** The warnings of a session about contexts that it could not read; each is given once. */
final class ContextWarnings {
    private static final int MAX_TYPES = 16;
    private static final String CANNOT_READ = "btpy cannot read ";

    private final WeakReference<?>[] unknownTypes = new WeakReference<?>[MAX_TYPES];
    private boolean traceAbsent;
    private boolean loggingAbsent;

    /**
     * Warns that no current span can be read. {@code className}: a class of a tracing library that lacks the expected
     * field; null: no tracing library is loaded.
     */
    void noTrace(Session session, int probe, int at, String className) {
        if (!traceAbsent) {
            traceAbsent = true;
            String none = "no library that keeps a current span is loaded (OpenTelemetry, Brave, Datadog)";
            say(session, probe, at, className == null ? none : CANNOT_READ.concat(className));
        }
    }

    /**
     * Warns that no diagnostic context can be read. {@code className}: like in {@link #noTrace}, of a logging library.
     */
    void noLogging(Session session, int probe, int at, String className) {
        if (!loggingAbsent) {
            loggingAbsent = true;
            String none = "no library with an MDC is loaded (SLF4J with Logback, Log4j 2)";
            say(session, probe, at, className == null ? none : CANNOT_READ.concat(className));
        }
    }

    /** Warns about an object of a class that btpy cannot read; an object of another class was expected. */
    void unknown(Session session, int probe, int at, Object object) {
        Class<?> type = object.getClass();
        for (int i = 0; i < MAX_TYPES; i++) {
            if (unknownTypes[i] == null) {
                unknownTypes[i] = new WeakReference<Object>(type);
                say(session, probe, at, CANNOT_READ.concat(ClassNames.of(type)));
                return;
            }
            if (unknownTypes[i].get() == type) {
                return;
            }
        }
    }

    private static void say(Session session, int probe, int at, String message) {
        session.errors.count(probe, at, ProbeError.KIND_NO_CONTEXT, ProbeError.noContext(message));
    }
}
