package btpy.agent;

import java.lang.ref.WeakReference;
import java.util.Arrays;

/**
 * The record of a session about one class of the target. It refers weakly to the class and its loader. The {@link
 * Inventory} that owns the record guards its mutable fields, unless noted otherwise.
 */
final class ClassRecord {
    /** The number by which the client knows the class; 0 while it is being loaded. */
    volatile int id;
    final String name;
    final String loaderName;
    final WeakReference<ClassLoader> loader;

    /**
     * If the client was asked about the class during loading, this is null until the class is among the loaded classes.
     */
    WeakReference<Class<?>> type;
    ClassRecord next;

    /**
     * {@link Fingerprint} of the bytes that first reached the transformer, of the bytes that were woven last, and of
     * the bytes at restoring.
     */
    volatile byte[] originalHash;
    volatile byte[] latestHash;
    volatile byte[] restoredHash;

    /** Whether another session had already woven the bytes of {@link #latestHash}. */
    volatile boolean latestIsShared;

    /** The reason why a class does not count as restored. */
    static final String CHANGED = "its class file is not the one it had: somebody else changed it";

    /**
     * The woven form of the bytes with the hash {@link #latestHash}, if the session may become unattended; otherwise
     * null.
     */
    volatile byte[] wovenFile;

    /** The woven class for the next retransformation; null: the client must be asked. */
    volatile PrewovenMethods prewoven;

    /** The parts that the JVM omits in the class file that it shows; null: none, or not examined yet. */
    volatile ParameterNames parameterNames;

    /** Whether this session is currently retransforming the class. */
    volatile boolean requested;

    /** Whether the JVM got bytes of this session. */
    volatile boolean woven;

    /** Whether the client's answer came after the deadline, so the class must be woven by retransformation. */
    volatile boolean overdue;

    /** System.nanoTime when its probes were lost because no client was connected to weave it; 0: they were not lost. */
    volatile long lostNanos;

    /** The reason why the last attempt failed before the JVM got any bytes; null: it did not fail. */
    volatile String failure;

    ClassRecord(String name, ClassLoader loader, String loaderName) {
        this.name = name;
        this.loaderName = loaderName;
        this.loader = new WeakReference<ClassLoader>(loader);
    }

    /**
     * Whether the bytes at restoring equal the first or the last bytes woven by the session. Another session or agent may have begun or
     * ended its own work on the class in between.
     */
    boolean isPutBack() {
        return restoredHash != null
                && (Arrays.equals(restoredHash, originalHash) || Arrays.equals(restoredHash, latestHash));
    }

    /** Null if the class was unloaded, or was never seen loaded. */
    Class<?> loaded() {
        WeakReference<Class<?>> reference = type;
        return reference == null ? null : reference.get();
    }
}
