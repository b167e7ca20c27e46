package btpy.agent;

import java.lang.ref.WeakReference;
import java.util.Arrays;

/**
 * The record of a session about one class of the target. The class and its loader are held weakly. Mutable fields are guarded by
 * the {@link Inventory} that owns the record, except where noted.
 */
final class ClassRecord {
    /** The number the client knows the class by; 0 while it is being loaded. */
    volatile int id;
    final String name;
    final String loaderName;
    final WeakReference<ClassLoader> loader;

    /** Null until a class that was asked about while it was being loaded is seen among the loaded classes. */
    WeakReference<Class<?>> type;
    ClassRecord next;

    /** {@link Fingerprint} of what first reached the transformer, of what it was last asked to weave, and of what came when it put the class back. */
    volatile byte[] original;
    volatile byte[] latest;
    volatile byte[] returned;

    /** Whether what {@link #latest} is the fingerprint of had been woven by another session before. */
    volatile boolean shared;

    /** Why a class is not taken for put back. */
    static final String CHANGED = "its class file is not the one it had: somebody else changed it";

    /** What was made of bytes with the hash {@link #latest}, where the session may be left unattended; else null. */
    volatile byte[] file;

    /** What was woven for the retransformation that is to come; null: the client is asked. */
    volatile PrewovenMethods prewoven;

    /** What the JVM leaves out of the class file that it shows; null: nothing, or it has not been looked for. */
    volatile ParameterNames parameterNames;

    /** Whether the class is in the hands of {@code retransformClasses} on behalf of this session. */
    volatile boolean requested;

    /** Whether bytes of ours were handed to the JVM. */
    volatile boolean woven;

    /** Whether the client's answer came after the deadline, so that the class is to be woven by retransformation. */
    volatile boolean overdue;

    /** System.nanoTime when its probes were lost because no client was connected that could weave it; 0: they were not. */
    volatile long lostNanos;

    /** Why the last attempt failed, before the JVM saw anything; null: it did not. */
    volatile String failure;

    ClassRecord(String name, ClassLoader loader, String loaderName) {
        this.name = name;
        this.loaderName = loaderName;
        this.loader = new WeakReference<ClassLoader>(loader);
    }

    /**
     * Whether what came when the class was put back is what the session first wove, or what it wove last: another session or agent
     * may have begun or ended its own work on the class in between.
     */
    boolean isPutBack() {
        return returned != null && (Arrays.equals(returned, original) || Arrays.equals(returned, latest));
    }

    /** Null when the class was unloaded, or has not been seen loaded. */
    Class<?> loaded() {
        WeakReference<Class<?>> reference = type;
        return reference == null ? null : reference.get();
    }
}
