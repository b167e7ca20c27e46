package btpy.runtime;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;

/**
 * The variables of one object, the flow to which it belongs, and the flows that were handed over with it, in their
 * order: the same task may be in a queue several times. This reference does not keep the object alive. Nobody outside of the runtime can lock it.
 */
final class ObjectState extends WeakReference<Object> {
    /** The most flows that wait with one object. */
    private static final int MOST = 4096;
    private static final Run[] EMPTY = {};

    final int hash;
    /** Null until a script sets a variable. */
    private SharedValues values;
    /** Stands for the flow to which the object belongs; null: none. */
    private volatile Run kept;
    /** The table has removed it, so nothing may be added. */
    private boolean isClosed;

    /** A ring of {@code count} flows from {@code first} on. */
    private Run[] waiting = EMPTY;
    private int first;
    private int count;
    /** The flows for which there was no room, after those that wait. */
    private int missed;

    ObjectState(Object of, int hash, ReferenceQueue<Object> cleared) {
        super(of, cleared);
        this.hash = hash;
    }

    SharedValues values() {
        return values;
    }

    /** @return null if the table has removed this */
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

    Run kept() {
        return kept;
    }

    /** @return false if the table has removed this */
    synchronized boolean keep(Run run) {
        if (isClosed) {
            return false;
        }
        kept = run;
        return true;
    }

    /** Adds a run of a flow, or remembers that one is missing. @return false if the table has removed this */
    synchronized boolean add(Run run, ObjectStates table) {
        if (isClosed) {
            return false;
        }
        if (missed > 0 || count == MOST || count > 0 && !table.reserve()) {
            missed++;
            return true;
        }
        if (count == waiting.length) {
            Run[] more = new Run[count == 0 ? 1 : 2 * count];
            for (int i = 0; i < count; i++) {
                more[i] = waiting[first + i & count - 1];
            }
            waiting = more;
            first = 0;
        }
        waiting[first + count++ & waiting.length - 1] = run;
        return true;
    }

    /** Whether the last flow that was added is missing. */
    synchronized boolean isMissing() {
        return missed > 0;
    }

    /** Removes the oldest flow that waits. @return null if there is none */
    synchronized Run take(ObjectStates table) {
        if (count == 0) {
            if (missed == 0) {
                return null;
            }
            missed--;
            return Run.NONE;
        }
        Run run = waiting[first];
        waiting[first] = null;
        first = first + 1 & waiting.length - 1;
        removed(table);
        return run;
    }

    /** Removes the newest flow, if it is this one. {@code flow}: null stands for none. */
    synchronized void takeBack(Flow flow, ObjectStates table) {
        int last = first + count - 1 & waiting.length - 1;
        if (missed > 0) {
            missed--;
        } else if (count > 0 && waiting[last].flow == flow) {
            waiting[last] = null;
            removed(table);
        }
    }

    private void removed(ObjectStates table) {
        count--;
        if (count > 0) {
            table.release(1);
        }
    }

    /** Closes it if it has neither variables nor flows. */
    synchronized boolean closeIfUnused() {
        isClosed |= values == null && kept == null && count == 0 && missed == 0;
        return isClosed;
    }

    /** Called when it is removed from the table. */
    synchronized void close(ObjectStates table) {
        isClosed = true;
        kept = null;
        table.release(places());
        count = 0;
        waiting = EMPTY;
    }

    /** The places in the table that the flows take, without the place of the object. */
    int places() {
        return count > 1 ? count - 1 : 0;
    }
}
