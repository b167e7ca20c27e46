package btpy.runtime;

/** Reads facts about the running thread from its fields, because {@code Thread} itself may be traced. */
public final class Threads {
    private static final Memory MEMORY = Memory.instance();
    private static final long ID = MEMORY.fieldOffset(Thread.class, "tid");
    private static final long NAME = MEMORY.fieldOffset(Thread.class, "name");
    private static final Class<?> VIRTUAL = virtual();

    private Threads() {}

    private static Class<?> virtual() {
        try {
            return Class.forName("java.lang.BaseVirtualThread", false, null);
        } catch (ClassNotFoundException before21) {
            return null;
        }
    }

    public static long id() {
        return MEMORY.getLong(Thread.currentThread(), ID);
    }

    public static String name() {
        return (String) MEMORY.getReference(Thread.currentThread(), NAME);
    }

    static String name(Thread thread) {
        return (String) MEMORY.getReference(thread, NAME);
    }

    public static boolean isVirtual() {
        return isVirtual(Thread.currentThread());
    }

    static boolean isVirtual(Thread thread) {
        return VIRTUAL != null && VIRTUAL.isInstance(thread);
    }

    /** The upper {@code bits} (1 to 32) of a hash that spreads consecutive ids evenly. */
    static int hash(long id, int bits) {
        return (int) ((id * 0x9E3779B97F4A7C15L) >>> (64 - bits));
    }
}
