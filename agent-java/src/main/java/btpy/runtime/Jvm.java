package btpy.runtime;

import java.lang.management.ClassLoadingMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.LockInfo;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.Map;
import java.util.TreeMap;

/**
 * Facts about the whole JVM, for handlers on the agent's own thread. All handlers may use {@link #cpuTime} and {@link
 * #allocated} after the agent's thread has called them once.
 *
 * <p>Only a script that uses one of these methods loads {@code java.lang.management}.
 */
public final class Jvm {
    private static final String HIDDEN = "\u2022\u2022\u2022";
    private static final int MAX_TEXT = 4096;

    private Jvm() {}

    public static long heapUsed() {
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    public static long heapCommitted() {
        return Runtime.getRuntime().totalMemory();
    }

    public static long heapMax() {
        return Runtime.getRuntime().maxMemory();
    }

    public static long nonHeapUsed() {
        return ManagementFactory.getMemoryMXBean().getNonHeapMemoryUsage().getUsed();
    }

    /** Returns null if there is no such pool. */
    public static Object poolUsed(String name) {
        MemoryPoolMXBean pool = pool(name);
        return pool == null ? null : Long.valueOf(pool.getUsage().getUsed());
    }

    /** Returns null if there is no such pool, or if it is not bounded. */
    public static Object poolMax(String name) {
        MemoryPoolMXBean pool = pool(name);
        return pool == null || pool.getUsage().getMax() < 0 ? null : Long.valueOf(pool.getUsage().getMax());
    }

    private static MemoryPoolMXBean pool(String name) {
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getName().equals(name)) {
                return pool;
            }
        }
        return null;
    }

    public static long gcCount() {
        long count = 0;
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            count += Math.max(0, collector.getCollectionCount());
        }
        return count;
    }

    /** The time in nanoseconds, from a clock in milliseconds. */
    public static long gcTime() {
        long millis = 0;
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            millis += Math.max(0, collector.getCollectionTime());
        }
        return millis * 1_000_000L;
    }

    /** @throws ProbeError with the reason if the file cannot be written */
    public static void heapDump(String file, boolean live) {
        try {
            Class<?> type = Class.forName("com.sun.management.HotSpotDiagnosticMXBean", true, null);
            Object bean = ManagementFactory.class.getMethod("getPlatformMXBean", Class.class).invoke(null, type);
            type.getMethod("dumpHeap", String.class, boolean.class).invoke(bean, file, live);
        } catch (ReflectiveOperationException failure) {
            throw ProbeError.failedCall("heap_dump", failure.getCause() == null ? failure : failure.getCause());
        }
    }

    /** The time in nanoseconds. */
    public static long uptime() {
        return ManagementFactory.getRuntimeMXBean().getUptime() * 1_000_000L;
    }

    public static long classesLoaded() {
        return classes().getLoadedClassCount();
    }

    public static long classesUnloaded() {
        return classes().getUnloadedClassCount();
    }

    private static ClassLoadingMXBean classes() {
        return ManagementFactory.getClassLoadingMXBean();
    }

    /** Returns a system property; null if it is not set. */
    public static String property(Session session, String name, boolean redact) {
        return name == null || name.isEmpty() ? null : hidden(session, name, System.getProperty(name), redact);
    }

    /** Returns a variable of the environment; null if it is not set. */
    public static String environment(Session session, String name, boolean redact) {
        return name == null ? null : hidden(session, name, System.getenv(name), redact);
    }

    private static String hidden(Session session, String name, String value, boolean redact) {
        return value != null && redact && isSecret(session, name) ? HIDDEN : value;
    }

    /**
     * Whether the name belongs to a secret. The last segment of a dotted name is also checked: {@code
     * spring.datasource.password}.
     */
    private static boolean isSecret(Session session, String name) {
        SecretNames names = session.limits.names;
        return names.hide(name) || names.hide(name.substring(Math.max(name.lastIndexOf('.'), name.lastIndexOf('_')) + 1));
    }

    /** The options with which the JVM was started. */
    public static String vmArguments(Session session, boolean redact) {
        StringBuilder text = new StringBuilder();
        for (String argument : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            int at = argument.indexOf('=');
            boolean secret = redact && at > 0 && isSecret(session, argument.substring(argument.startsWith("-D") ? 2 : 0, at));
            text.append(text.length() == 0 ? "" : " ").append(secret ? argument.substring(0, at + 1).concat(HIDDEN) : argument);
            if (text.length() > MAX_TEXT) {
                break;
            }
        }
        return text.toString();
    }

    public static long threadCount() {
        return Threading.BEAN.getThreadCount();
    }

    /** The number of threads in a deadlock. */
    public static long deadlocks() {
        long[] deadlockedIds = Threading.BEAN.findDeadlockedThreads();
        return deadlockedIds == null ? 0 : deadlockedIds.length;
    }

    /** The processor time of this thread in nanoseconds; null if the JVM does not measure it (virtual threads). */
    public static Object cpuTime() {
        try {
            long nanos = Threading.BEAN.getCurrentThreadCpuTime();
            return nanos < 0 ? null : Long.valueOf(nanos);
        } catch (UnsupportedOperationException ignored) {
            return null;
        }
    }

    /** The bytes that this thread has allocated; null if the JVM does not count them. */
    public static Object allocated() {
        if (Threading.ALLOCATED == null) {
            return null;
        }
        try {
            long bytes = (Long) Threading.ALLOCATED.invoke(Threading.BEAN, Thread.currentThread().getId());
            return bytes < 0 ? null : Long.valueOf(bytes);
        } catch (Exception ignored) {
            return null;
        }
    }

    /** Loaded at the first use. */
    private static final class Threading {
        static final ThreadMXBean BEAN = ManagementFactory.getThreadMXBean();
        static final java.lang.reflect.Method ALLOCATED = allocated();

        private static java.lang.reflect.Method allocated() {
            try {
                return Class.forName("com.sun.management.ThreadMXBean", true, null)
                        .getMethod("getThreadAllocatedBytes", long.class);
            } catch (ReflectiveOperationException missingMethod) {
                return null;
            }
        }
    }

    /**
     * Writes a record for each thread: its state, the lock for which it waits, and its stack. With {@code deadlocked},
     * only threads in a deadlock.
     */
    public static void printThreads(Session session, int template, int probe, int site, int frames, boolean deadlocked) {
        ThreadInfo[] all;
        if (deadlocked) {
            long[] deadlockedIds = Threading.BEAN.findDeadlockedThreads();
            all = deadlockedIds == null ? new ThreadInfo[0]
                    : Threading.BEAN.getThreadInfo(deadlockedIds, Integer.MAX_VALUE);
        } else {
            all = Threading.BEAN.dumpAllThreads(false, false);
        }
        for (ThreadInfo thread : all) {
            if (thread != null && !thread.getThreadName().startsWith("btpy-")) {
                Records.write(session, template, probe, site, title(thread), session.stacks.of(thread.getStackTrace(), frames));
            }
        }
    }

    private static String title(ThreadInfo thread) {
        String text = "\"" + thread.getThreadName() + "\" #" + thread.getThreadId() + " " + thread.getThreadState();
        LockInfo lock = thread.getLockInfo();
        if (lock != null) {
            text += " on " + lock;
        }
        return thread.getLockOwnerName() == null ? text : text + " held by \"" + thread.getLockOwnerName() + "\"";
    }

    /** Writes a record for each system property, in the order of their names. */
    public static void printProperties(Session session, int template, int probe, int site, boolean redact) {
        Map<String, String> all = new TreeMap<String, String>();
        for (String name : System.getProperties().stringPropertyNames()) {
            all.put(name, hidden(session, name, System.getProperty(name), redact));
        }
        print(session, template, probe, site, all);
    }

    /** Writes a record for each variable of the environment, in the order of their names. */
    public static void printEnvironment(Session session, int template, int probe, int site, boolean redact) {
        Map<String, String> all = new TreeMap<String, String>();
        for (Map.Entry<String, String> entry : System.getenv().entrySet()) {
            all.put(entry.getKey(), hidden(session, entry.getKey(), entry.getValue(), redact));
        }
        print(session, template, probe, site, all);
    }

    private static void print(Session session, int template, int probe, int site, Map<String, String> all) {
        for (Map.Entry<String, String> entry : all.entrySet()) {
            Records.write(session, template, probe, site, entry.getKey(), entry.getValue());
        }
    }
}
