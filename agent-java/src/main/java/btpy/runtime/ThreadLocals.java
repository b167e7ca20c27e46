package btpy.runtime;

/**
 * Values of thread-locals of the running thread, read from the fields of {@code Thread} and {@code ThreadLocal.ThreadLocalMap}: {@code
 * ThreadLocal.get} may be traced, may be overridden by the application, and stores an initial value where there is none.
 *
 * <p>On a virtual thread these are the values of the virtual thread itself. The fields have had the same names since
 * JDK 1.5.
 */
final class ThreadLocals {
    private static final Memory MEMORY = Memory.instance();
    private static final long OWN = MEMORY.fieldOffset(Thread.class, "threadLocals");
    private static final long INHERITED = MEMORY.fieldOffset(Thread.class, "inheritableThreadLocals");
    private static final long HASH = MEMORY.fieldOffset(ThreadLocal.class, "threadLocalHashCode");
    private static final long REFERENT = MEMORY.fieldOffset(java.lang.ref.Reference.class, "referent");
    private static final long TABLE = offset("java.lang.ThreadLocal$ThreadLocalMap", "table");
    private static final long VALUE = offset("java.lang.ThreadLocal$ThreadLocalMap$Entry", "value");
    private static final boolean READABLE =
            OWN >= 0 && INHERITED >= 0 && HASH >= 0 && REFERENT >= 0 && TABLE >= 0 && VALUE >= 0;

    /** The maximum number of steps of one search. The map is at most two thirds full, so a longer search means that the map is changing. */
    private static final int MOST_STEPS = 1024;

    private ThreadLocals() {}

    private static long offset(String type, String field) {
        try {
            return MEMORY.fieldOffset(Class.forName(type, false, null), field);
        } catch (ClassNotFoundException missingClass) {
            return -1;
        }
    }

    /** The value that this thread has; null if it has none, or if the fields of this JDK are unknown. */
    static Object get(ThreadLocal<?> local) {
        if (!READABLE) {
            return null;
        }
        Object map = MEMORY.getReference(Thread.currentThread(), local instanceof InheritableThreadLocal ? INHERITED : OWN);
        if (map == null) {
            return null;
        }
        Object[] table = (Object[]) MEMORY.getReference(map, TABLE);
        if (table == null) {
            return null;
        }
        int mask = table.length - 1;
        int at = MEMORY.getInt(local, HASH) & mask;
        for (int i = 0; i < MOST_STEPS && i <= mask; i++) {
            Object entry = table[at + i & mask];
            if (entry == null) {
                return null;
            }
            if (MEMORY.getReference(entry, REFERENT) == local) {
                return MEMORY.getReference(entry, VALUE);
            }
        }
        return null;
    }
}
