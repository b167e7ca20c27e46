package btpy.runtime;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;

/**
 * The variables of one object, the flow to which it belongs, and the flows that were handed over with it, in the order
 * of the handing over, because the same task may be in a queue several times. This reference does not keep the object
 * alive. Nobody outside of the runtime can lock it.
 */
final class ObjectState extends WeakReference<Object> {
    /** The largest number of flows that wait with one object. */
    private static final int MAX_WAITING = 4096;
    private static final Run[] EMPTY = {};

    final int hash;
    /** Null until a script sets a variable. */
    private SharedValues values;
    /** The run that represents the flow to which the object belongs; null: the object belongs to no flow. */
    private volatile Run keptRun;
    /** Whether the table has removed this state, so that nothing may be added. */
    private boolean isClosed;

    /** A ring of {@code count} flows from {@code firstIndex} on. */
    private Run[] waitingRuns = EMPTY;
    private int firstIndex;
    private int count;
    /** The number of the latest flows for which there was no room. */
    private int missingRuns;

    ObjectState(Object object, int hash, ReferenceQueue<Object> clearedQueue) {
        super(object, clearedQueue);
        this.hash = hash;
    }

    SharedValues values() {
        return values;
    }

    /** @return null if the table has removed this state */
    synchronized SharedValues toChange(int variables) {
        if (isClosed) {
            return null;
        }
        if (values == null) {
            values = new SharedValues(variables);
        } else {
            values.widen(variables);
        }
        return values;
    }

    Run keptRun() {
        return keptRun;
    }

    /** @return false if the table has removed this state */
    synchronized boolean keep(Run run) {
        if (isClosed) {
            return false;
        }
        keptRun = run;
        return true;
    }

    /** Adds a run of a flow, or counts it as missing. @return false if the table has removed this state */
    synchronized boolean add(Run run, ObjectStates table) {
        if (isClosed) {
            return false;
        }
        if (missingRuns > 0 || count == MAX_WAITING || count > 0 && !table.reserve()) {
            missingRuns++;
            return true;
        }
        if (count == waitingRuns.length) {
            Run[] newRuns = new Run[count == 0 ? 1 : 2 * count];
            for (int i = 0; i < count; i++) {
                newRuns[i] = waitingRuns[firstIndex + i & count - 1];
            }
            waitingRuns = newRuns;
            firstIndex = 0;
        }
        waitingRuns[firstIndex + count++ & waitingRuns.length - 1] = run;
        return true;
    }

    /** Whether the last flow that was added is missing. */
    synchronized boolean isMissing() {
        return missingRuns > 0;
    }

    /** Removes the oldest flow that waits. @return null if there is none */
    synchronized Run take(ObjectStates table) {
        if (count == 0) {
            if (missingRuns == 0) {
                return null;
            }
            missingRuns--;
            return Run.NONE;
        }
        Run run = waitingRuns[firstIndex];
        waitingRuns[firstIndex] = null;
        firstIndex = firstIndex + 1 & waitingRuns.length - 1;
        releasePlaces(table);
        return run;
    }

    /** Removes the newest flow, if it is {@code flow}; null stands for no flow. */
    synchronized void takeBack(Flow flow, ObjectStates table) {
        int lastIndex = firstIndex + count - 1 & waitingRuns.length - 1;
        if (missingRuns > 0) {
            missingRuns--;
        } else if (count > 0 && waitingRuns[lastIndex].flow == flow) {
            waitingRuns[lastIndex] = null;
            releasePlaces(table);
        }
    }

    private void releasePlaces(ObjectStates table) {
        count--;
        if (count > 0) {
            table.release(1);
        }
    }

    /** Closes this state if it has neither variables nor flows. Returns whether it is closed. */
    synchronized boolean closeIfUnused() {
        isClosed |= values == null && keptRun == null && count == 0 && missingRuns == 0;
        return isClosed;
    }

    /** Called when this state is removed from the table. */
    synchronized void close(ObjectStates table) {
        isClosed = true;
        keptRun = null;
        table.release(places());
        count = 0;
        waitingRuns = EMPTY;
    }

    /** The places in the table that the flows take, without the place of the object. */
    int places() {
        return count > 1 ? count - 1 : 0;
    }
}
