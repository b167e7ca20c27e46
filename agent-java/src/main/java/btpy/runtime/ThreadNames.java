package btpy.runtime;

/** The names of threads that the client has been told, those told last: by hash of the thread id, so a name may be told again. */
final class ThreadNames {
    private static final int BITS = 11;

    private final long[] ids = new long[1 << BITS];
    private final String[] names = new String[1 << BITS];

    /** Whether the thread was told by this name; threads are renamed. */
    boolean knows(long thread, String name) {
        int at = Threads.hash(thread, BITS);
        return ids[at] == thread && names[at] == name;
    }

    void learn(long thread, String name) {
        int at = Threads.hash(thread, BITS);
        ids[at] = thread;
        names[at] = name;
    }

    void forget() {
        java.util.Arrays.fill(ids, 0);
    }
}
