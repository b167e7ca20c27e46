package btpy.runtime;

/** Reads from fields the class loaders of objects, the owners of locks, and the states of threads. */
public final class Owners {
    private static final Memory MEMORY = Memory.instance();
    private static final long STATUS_11 = MEMORY.fieldOffset(Thread.class, "threadStatus");

    private Owners() {}

    /**
     * Returns the class loader of the object's class: boot, platform, app, or class and identity hash. Returns null for
     * null.
     */
    public static String loader(Object o) {
        if (o == null) {
            return null;
        }
        ClassLoader loader = (o instanceof Class ? (Class<?>) o : o.getClass()).getClassLoader();
        if (loader == null) {
            return "boot";
        }
        if (loader == ClassLoader.getSystemClassLoader()) {
            return "app";
        }
        if (loader == ClassLoader.getSystemClassLoader().getParent()) {
            return "platform";
        }
        return loader.getClass().getName().concat("@").concat(Integer.toHexString(System.identityHashCode(loader)));
    }

    /**
     * Returns the name of the thread that owns a lock of java.util.concurrent. Returns null if no thread owns it, or if
     * it is a monitor, because the JVM does not report its owner.
     */
    public static String ownerName(Object lock) {
        Object sync = lock;
        if (lock != null && !(lock instanceof java.util.concurrent.locks.AbstractOwnableSynchronizer)) {
            Layout layout = Layouts.of(lock);
            int field = layout.find("sync");
            if (field < 0 && (field = layout.find("lock")) < 0) {
                return null;
            }
            sync = layout.read(lock, field);
        }
        if (!(sync instanceof java.util.concurrent.locks.AbstractOwnableSynchronizer)) {
            return null;
        }
        Object owner = Layouts.reference(sync, "exclusiveOwnerThread");
        return owner instanceof Thread ? Threads.name((Thread) owner) : null;
    }

    /** Returns the state as {@link Thread.State} names it, or VIRTUAL for a virtual thread. Returns null for null. */
    public static String threadState(Object thread) {
        if (thread == null) {
            return null;
        }
        if (!(thread instanceof Thread)) {
            throw ProbeError.BAD_CAST;
        }
        if (Threads.isVirtual((Thread) thread)) {
            return "VIRTUAL";
        }
        int status;
        if (STATUS_11 >= 0) {
            status = MEMORY.getInt(thread, STATUS_11);
        } else {
            Object holderObject = Layouts.reference(thread, "holder");
            Long number = holderObject == null ? null : Layouts.number(holderObject, "threadStatus");
            if (number == null) {
                return null;
            }
            status = number.intValue();
        }
        // JVMTI thread states, in the order in which the JDK tests them.
        return (status & 0x4) != 0
                ? "RUNNABLE"
                : (status & 0x400) != 0
                ? "BLOCKED"
                : (status & 0x10) != 0
                ? "WAITING"
                : (status & 0x20) != 0 ? "TIMED_WAITING" : (status & 0x2) != 0 ? "TERMINATED" : (status & 0x1) == 0 ? "NEW" : "RUNNABLE";
    }
}
