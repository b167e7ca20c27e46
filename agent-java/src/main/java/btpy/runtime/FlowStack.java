package btpy.runtime;

/** The current flow of one thread, and the flows that are current again when methods end. Only that thread uses it. */
final class FlowStack extends OwnedByThread {
    private static final int MOST = 64;

    private Flow current;
    /** The flow that the innermost change until the end of a method made current. */
    private Flow enclosing;
    /** By depth, the two flows above as they were before. */
    private Flow[] saved = new Flow[8];
    private int depth;

    Flow current() {
        return current;
    }

    /** The flow in which another begins that replaces the current one. */
    Flow enclosing() {
        return enclosing;
    }

    int depth() {
        return depth;
    }

    void replace(Flow flow) {
        current = flow;
    }

    /** @return false if there are too many flows */
    boolean push(Flow flow) {
        if (depth == MOST) {
            return false;
        }
        if (2 * depth == saved.length) {
            Flow[] more = new Flow[2 * saved.length];
            for (int i = 0; i < saved.length; i++) {
                more[i] = saved[i];
            }
            saved = more;
        }
        saved[2 * depth] = current;
        saved[2 * depth + 1] = enclosing;
        depth++;
        current = flow;
        enclosing = flow;
        return true;
    }

    /** Restores the flow that was current at this depth, also where methods above did not leave. */
    void restore(int before) {
        if (depth > before) {
            current = saved[2 * before];
            enclosing = saved[2 * before + 1];
            while (depth > before) {
                depth--;
                saved[2 * depth] = null;
                saved[2 * depth + 1] = null;
            }
        }
    }

    boolean isUnused() {
        return depth == 0 && current == null;
    }
}
