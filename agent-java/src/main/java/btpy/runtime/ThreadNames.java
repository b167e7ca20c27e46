package btpy.runtime;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

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

    /** Returns the known names by thread id. Two threads in one place may swap their names while this method reads. */
    Map<Long, String> known() {
        Map<Long, String> known = new HashMap<Long, String>();
        for (int at = 0; at < ids.length; at++) {
            if (ids[at] != 0 && names[at] != null) {
                known.put(ids[at], names[at]);
            }
        }
        return known;
    }

    void forget() {
        Arrays.fill(ids, 0);
    }
}
