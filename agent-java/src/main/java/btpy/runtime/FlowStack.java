package btpy.runtime;

/**
 * The run of a flow that one thread currently does, and the runs that are current again when methods end. Only that
 * thread uses it.
 */
final class FlowStack extends OwnedByThread {
    private static final int MOST = 64;

    private Run current;
    /** The run that the innermost change until the end of a method made current. */
    private Run enclosing;
    /** For each depth, the earlier values of the two fields above. */
    private Run[] saved = new Run[8];
    private int depth;

    Run current() {
        return current;
    }

    /** The run in which a flow begins that replaces the current one. */
    Run enclosing() {
        return enclosing;
    }

    int depth() {
        return depth;
    }

    void replace(Run run) {
        end(current);
        current = run;
    }

    /** @return false if there are too many flows */
    boolean push(Run run) {
        if (depth == MOST) {
            return false;
        }
        if (2 * depth == saved.length) {
            Run[] more = new Run[2 * saved.length];
            for (int i = 0; i < saved.length; i++) {
                more[i] = saved[i];
            }
            saved = more;
        }
        saved[2 * depth] = current;
        saved[2 * depth + 1] = enclosing;
        depth++;
        current = run;
        enclosing = run;
        return true;
    }

    /** Restores the run that was current at this depth, even where methods above did not leave. */
    void restore(int before) {
        if (depth > before) {
            Run restored = saved[2 * before];
            if (current != restored) {
                end(current);
            }
            current = restored;
            enclosing = saved[2 * before + 1];
            while (depth > before) {
                depth--;
                if (depth > before && saved[2 * depth] != restored) {
                    end(saved[2 * depth]);
                }
                saved[2 * depth] = null;
                saved[2 * depth + 1] = null;
            }
        }
    }

    private static void end(Run run) {
        if (run != null) {
            run.end();
        }
    }

    boolean isUnused() {
        return depth == 0 && current == null;
    }
}
