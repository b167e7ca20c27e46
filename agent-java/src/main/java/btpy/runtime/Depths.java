package btpy.runtime;

/** Counts the activations of a probe's methods on the stack of each thread, for probes that use the depth. */
public final class Depths {
    private static final Memory MEMORY = Memory.instance();
    private static final long DEPTHS = MEMORY.fieldOffset(Session.class, "depths");
    private static final int BITS = 11;
    private static final int INDENTED = 64;
    private static final String[] INDENTS = indents();

    private Depths() {}

    /**
     * Counts an activation.
     *
     * @return the number of activations below this activation; −1 if it is not counted, so that {@link #leave} must not
     * be called
     */
    public static int enter(int site, int probe) {
        Session session = Session.of(site);
        if (session == null) {
            return -1;
        }
        ThreadTable depths = session.depths == null ? ThreadTable.getOrCreate(session, DEPTHS, BITS) : session.depths;
        long key = key(probe);
        int entry = depths.find(key);
        if (entry >= 0) {
            int below = (int) depths.values[entry];
            depths.values[entry] = below + 1;
            return below;
        }
        entry = depths.claim(key);
        if (entry < 0) {
            session.errors.count(probe, 0, ProbeError.KIND_DEPTH, null);
            return -1;
        }
        depths.values[entry] = 1;
        return 0;
    }

    /** Resets the depth to {@code value}, even if activations above did not leave. */
    public static void leave(int site, int probe, int value) {
        Session session = Session.of(site);
        if (session == null || value < 0) {
            return;
        }
        int entry = session.depths.find(key(probe));
        if (entry < 0) {
            return;
        }
        if (value == 0) {
            session.depths.release(entry);
        } else {
            session.depths.values[entry] = value;
        }
    }

    private static String[] indents() {
        String[] indents = new String[INDENTED + 1];
        indents[0] = "";
        for (int i = 1; i <= INDENTED; i++) {
            indents[i] = indents[i - 1].concat("  ");
        }
        return indents;
    }

    /** Returns two blanks for each activation below, for at most {@value #INDENTED}. */
    public static String indent(int depth) {
        return INDENTS[depth < 0 ? 0 : depth > INDENTED ? INDENTED : depth];
    }

    /** The key of this thread and the probe in the table. */
    static long key(int probe) {
        return Threads.id() * Session.MAX_PROBES + (probe & Session.MAX_PROBES - 1);
    }
}
