package btpy.runtime;

/**
 * The run of a flow that one thread currently executes, and the runs that are current again when methods end. Only that
 * thread uses it.
 */
final class FlowStack extends OwnedByThread {
    private static final int MAX_DEPTH = 64;

    private Run currentRun;
    /** The run that the latest {@link #push} made current. A push ends with a method, a {@link #replace} does not. */
    private Run enclosingRun;
    /** For each depth, the values of {@link #currentRun} and {@link #enclosingRun} before the push. */
    private Run[] savedRuns = new Run[8];
    private int depth;

    Run currentRun() {
        return currentRun;
    }

    /** The run in which a new flow begins if it replaces the current flow. */
    Run enclosingRun() {
        return enclosingRun;
    }

    int depth() {
        return depth;
    }

    void replace(Run run) {
        end(currentRun);
        currentRun = run;
    }

    /** @return false if there are too many flows */
    boolean push(Run run) {
        if (depth == MAX_DEPTH) {
            return false;
        }
        if (2 * depth == savedRuns.length) {
            Run[] newRuns = new Run[2 * savedRuns.length];
            for (int i = 0; i < savedRuns.length; i++) {
                newRuns[i] = savedRuns[i];
            }
            savedRuns = newRuns;
        }
        savedRuns[2 * depth] = currentRun;
        savedRuns[2 * depth + 1] = enclosingRun;
        depth++;
        currentRun = run;
        enclosingRun = run;
        return true;
    }

    /** Restores the run that was current at this depth, even if methods above on the stack have not called leave. */
    void restore(int oldDepth) {
        if (depth > oldDepth) {
            Run run = savedRuns[2 * oldDepth];
            if (currentRun != run) {
                end(currentRun);
            }
            currentRun = run;
            enclosingRun = savedRuns[2 * oldDepth + 1];
            while (depth > oldDepth) {
                depth--;
                if (depth > oldDepth && savedRuns[2 * depth] != run) {
                    end(savedRuns[2 * depth]);
                }
                savedRuns[2 * depth] = null;
                savedRuns[2 * depth + 1] = null;
            }
        }
    }

    private static void end(Run run) {
        if (run != null) {
            run.end();
        }
    }

    boolean isUnused() {
        return depth == 0 && currentRun == null;
    }
}
