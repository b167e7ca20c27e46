package btpy.runtime;

/** The last thread names sent to the client, by hash of the thread id. A name may be sent again. */
final class ThreadNames {
    private static final int BITS = 11;

    private final long[] ids = new long[1 << BITS];
    private final String[] names = new String[1 << BITS];

    /** Whether the client knows this thread by this name. Threads may be renamed. */
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
