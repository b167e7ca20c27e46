package btpy.runtime;

import java.util.HashMap;

/**
 * The mapped diagnostic context of SLF4J (Logback 1.1 to 1.5, and the basic adapter of slf4j-api) or of Log4j 2: a static field has the
 * adapter, the adapter a thread-local, and the thread-local a map, sorted arrays, or an array of alternating keys and values.
 */
final class LoggingLibrary {
    static final String SLF4J = "org.slf4j.MDC";
    static final String LOG4J = "org.apache.logging.log4j.ThreadContext";
    private static final Memory MEMORY = Memory.instance();
    private static final long KEY = nodeOffset("key");
    private static final long VALUE = nodeOffset("value");
    private static final long NEXT = nodeOffset("next");
    private static final long TABLE =
            KEY < 0 || VALUE < 0 || NEXT < 0 ? -1 : MEMORY.fieldOffset(HashMap.class, "table");
    private static final int MOST_ENTRIES = 1000;
    private static final int MOST_WRAPPERS = 4;

    /** Adapters that store no context, or that use the context of another library. */
    private static final String[] WITHOUT_CONTEXT = {
        "org.slf4j.helpers.NOPMDCAdapter", "org.slf4j.impl.Log4jMDCAdapter", "org.apache.logging.slf4j.Log4jMDCAdapter",
        "org.apache.logging.log4j.spi.NoOpThreadContextMap",
    };

    final StaticField adapter;
    private final KnownField local = new KnownField(
            "ch.qos.logback.classic.util.LogbackMDCAdapter", "readWriteThreadLocalMap",
            "ch.qos.logback.classic.util.LogbackMDCAdapter", "copyOnThreadLocal",
            "ch.qos.logback.classic.util.LogbackMDCAdapter", "copyOnInheritThreadLocal",
            "ch.qos.logback.classic.util.LogbackMDCAdapterSimple", "threadLocalUnmodifiableMap",
            "org.slf4j.helpers.BasicMDCAdapter", "inheritableThreadLocalMap",
            "org.slf4j.helpers.BasicMDCAdapter", "inheritableThreadLocal",
            "org.apache.logging.log4j.spi.DefaultThreadContextMap", "localState",
            "org.apache.logging.log4j.spi.DefaultThreadContextMap", "localMap",
            "org.apache.logging.log4j.spi.GarbageFreeSortedArrayThreadContextMap", "localMap",
            "org.apache.logging.log4j.spi.CopyOnWriteSortedArrayThreadContextMap", "localMap",
            "org.apache.logging.log4j.core.context.internal.GarbageFreeSortedArrayThreadContextMap", "localMap");
    private final KnownField keys = new KnownField("org.apache.logging.log4j.util.SortedArrayStringMap", "keys");
    private final KnownField values = new KnownField("org.apache.logging.log4j.util.SortedArrayStringMap", "values");

    private LoggingLibrary(StaticField adapter) {
        this.adapter = adapter;
    }

    /** Returns null if the class lacks the field. */
    static LoggingLibrary of(Class<?> type) {
        StaticField adapter = StaticField.of(type, "MDC_ADAPTER", "mdcAdapter", "contextMap");
        return adapter == null ? null : new LoggingLibrary(adapter);
    }

    /** The value that this thread has under the key; null if it has no value. */
    String value(Session session, String key, int probe, int at) {
        Object adapter = this.adapter.read();
        if (adapter == null) {
            return null;
        }
        Object local = this.local.read(adapter);
        if (local == KnownField.UNKNOWN) {
            if (!isWithoutContext(ClassNames.of(adapter.getClass()))) {
                session.contexts.unknown(session, probe, at, adapter);
            }
            return null;
        }
        Object map = local instanceof ThreadLocal ? ThreadLocals.get((ThreadLocal<?>) local) : null;
        if (map == null) {
            return null;
        }
        Object value;
        if (map instanceof Object[]) {
            value = inPairs((Object[]) map, key);
        } else if (keys.read(map) != KnownField.UNKNOWN) {
            value = inArrays(keys.read(map), values.read(map), key);
        } else {
            Object innerMap = unwrap(map);
            Containers.Shape shape = Layouts.of(innerMap).shape;
            if (shape == null || !shape.isMap()) {
                session.contexts.unknown(session, probe, at, innerMap);
                return null;
            }
            value = innerMap.getClass() == HashMap.class && TABLE >= 0 ? inTable(innerMap, key)
                    : Elements.value(innerMap, key);
        }
        return value instanceof String ? (String) value : null;
    }

    private static boolean isWithoutContext(String name) {
        for (String className : WITHOUT_CONTEXT) {
            if (KnownField.isOrEndsIn(name, className)) {
                return true;
            }
        }
        return false;
    }

    /** {@code UnmodifiableArrayBackedMap}: the number of pairs, then alternating keys and values. */
    private static Object inPairs(Object[] state, String key) {
        for (int i = 1; i + 1 < state.length && i < 2 * MOST_ENTRIES; i += 2) {
            if (state[i] instanceof String && Strings.equal((String) state[i], key)) {
                return state[i + 1];
            }
        }
        return null;
    }

    /** Like {@link Elements#value}, for the map class that all these libraries use. Known offsets make it ten times as fast. */
    private static Object inTable(Object map, String key) {
        Object[] table = (Object[]) MEMORY.getReference(map, TABLE);
        if (table == null || table.length == 0) {
            return null;
        }
        int hash = Strings.hash(key, Strings.length(key));
        Object node = table[(hash ^ hash >>> 16) & table.length - 1];
        for (int i = 0; node != null && i < MOST_ENTRIES; i++) {
            Object itsKey = MEMORY.getReference(node, KEY);
            if (itsKey instanceof String && Strings.equal((String) itsKey, key)) {
                return MEMORY.getReference(node, VALUE);
            }
            node = MEMORY.getReference(node, NEXT);
        }
        return null;
    }

    private static long nodeOffset(String field) {
        try {
            return MEMORY.fieldOffset(Class.forName("java.util.HashMap$Node", false, null), field);
        } catch (ClassNotFoundException missingClass) {
            return -1;
        }
    }

    private static Object inArrays(Object keys, Object values, String key) {
        if (keys instanceof Object[] && values instanceof Object[]) {
            Object[] names = (Object[]) keys;
            Object[] elements = (Object[]) values;
            for (int i = 0; i < names.length && i < elements.length && i < MOST_ENTRIES; i++) {
                if (names[i] instanceof String && Strings.equal((String) names[i], key)) {
                    return elements[i];
                }
            }
        }
        return null;
    }

    /** The collection inside a synchronised or unmodifiable collection of {@code java.util.Collections}. */
    static Object unwrap(Object collection) {
        Object result = collection;
        for (int i = 0; i < MOST_WRAPPERS; i++) {
            Layout layout = Layouts.of(result);
            if (layout.shape != null || result.getClass().getClassLoader() != null) {
                return result;
            }
            Object inner = layout.reference(result, layout.find("m") < 0 ? "list" : "m");
            if (inner == null) {
                return result;
            }
            result = inner;
        }
        return result;
    }
}
