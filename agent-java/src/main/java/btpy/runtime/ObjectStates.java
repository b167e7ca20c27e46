package btpy.runtime;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;

/**
 * The variables of a session by object ({@code state(object).x}), and the flows that objects carry to other threads: a
 * bounded hash table with weak references. An object is found by its identity, so no method of the application runs. The table takes no lock: the objects of a bucket are an
 * array that is replaced as a whole.
 *
 * <p>The garbage collector tells a queue which objects are gone, and the event thread removes their entries. It does not
 * ask the references themselves: {@code get()} would keep an object alive until the end of a concurrent collection.
 */
public final class ObjectStates {
    /** The most objects, and flows that wait with an object beside the first. */
    static final int MOST = 65_536;

    private static final Memory MEMORY = Memory.instance();
    private static final long STATES = MEMORY.fieldOffset(Session.class, "objectStates");
    private static final long SIZE = MEMORY.fieldOffset(ObjectStates.class, "size");
    private static final int BITS = 14;
    /** An application that prepares objects with equal hashes gets no longer searches. */
    private static final int MOST_IN_BUCKET = 32;
    private static final ObjectState[] EMPTY = {};

    private final Object[] buckets = new Object[1 << BITS];
    private final ReferenceQueue<Object> cleared = new ReferenceQueue<Object>();
    private long size;
    private long recounted;

    private ObjectStates() {}

    // Handlers call the methods below. They are guarded, because the constructor of a reference may be traced.

    /** Returns the variables of the object for a change; null if the table is full, which is counted at the position. */
    public static SharedValues toChange(Session session, Object of, int variables, int probe, int at) {
        check(of);
        ObjectStates states = made(session);
        while (true) {
            ObjectState found = states.findOrClaim(of);
            if (found == null) {
                session.errors.count(probe, at, ProbeError.KIND_STATE_FULL, null);
                return null;
            }
            SharedValues values = found.toChange(variables);
            if (values != null) {
                return values;
            }
            states.remove(found);
        }
    }

    /** Returns the variables of the object; null if it has none. */
    public static SharedValues now(Session session, Object of) {
        if (of == null) {
            return null;
        }
        check(of);
        ObjectState found = find(session, of);
        return found == null ? null : found.values();
    }

    /** Forgets the variables of the object, and the flows that wait with it. */
    public static void clear(Session session, Object of) {
        ObjectState found = find(session, of);
        if (found != null) {
            session.objectStates.remove(found);
        }
    }

    // Flows call the methods below.

    /** Adds a run of a flow to those that wait with the object. @return false if there is no room */
    static boolean give(Session session, Object of, Run run) {
        check(of);
        ObjectStates states = made(session);
        while (true) {
            ObjectState found = states.findOrClaim(of);
            if (found == null) {
                return false;
            }
            if (found.add(run, states)) {
                return !found.isMissing();
            }
            states.remove(found);
        }
    }

    /** Makes the object belong to the flow of a run; null: to none. @return false if there is no room */
    static boolean keep(Session session, Object of, Run run) {
        check(of);
        if (run == null) {
            ObjectState found = find(session, of);
            if (found != null && found.keep(null)) {
                removeUnused(session, found);
            }
            return true;
        }
        ObjectStates states = made(session);
        while (true) {
            ObjectState found = states.findOrClaim(of);
            if (found == null) {
                return false;
            }
            if (found.keep(run)) {
                return true;
            }
            states.remove(found);
        }
    }

    /** Returns what the last {@link #keep} has kept; null: nothing. */
    static Run kept(Session session, Object of) {
        ObjectState found = find(session, of);
        return found == null ? null : found.kept();
    }

    /** Removes the oldest of the runs that wait with the object. @return null if there is none */
    static Run take(Session session, Object of) {
        ObjectState found = find(session, of);
        if (found == null) {
            return null;
        }
        Run run = found.take(session.objectStates);
        removeUnused(session, found);
        return run;
    }

    /** Removes the newest of the flows that wait with the object, if it is this one. */
    static void takeBack(Session session, Object of, Flow flow) {
        ObjectState found = find(session, of);
        if (found != null) {
            found.takeBack(flow, session.objectStates);
            removeUnused(session, found);
        }
    }

    private static void removeUnused(Session session, ObjectState state) {
        if (state.closeIfUnused()) {
            session.objectStates.remove(state);
        }
    }

    private static ObjectState find(Session session, Object of) {
        ObjectStates states = session.objectStates;
        return of == null || states == null ? null : states.find(of, System.identityHashCode(of));
    }

    /** Takes a place in the table. */
    boolean reserve() {
        if (Headroom.isScarce()) {
            return false;
        }
        if (MEMORY.getAndAddLong(this, SIZE, 1) >= MOST) {
            release(1);
            return false;
        }
        return true;
    }

    void release(int places) {
        MEMORY.getAndAddLong(this, SIZE, -places);
    }

    /** A value of the script has no identity: each use of it may be another object. */
    private static void check(Object of) {
        if (of == null) {
            throw ProbeError.NULL_OPERAND;
        }
        if (of instanceof String || of instanceof Number && isBoxed(of) || of instanceof Boolean || of instanceof Character
                || of instanceof Stack) {
            throw ProbeError.BAD_CAST;
        }
    }

    private static boolean isBoxed(Object number) {
        return number instanceof Long || number instanceof Integer || number instanceof Double || number instanceof Float
                || number instanceof Short || number instanceof Byte;
    }

    private static ObjectStates made(Session session) {
        if (session.objectStates != null) {
            return session.objectStates;
        }
        MEMORY.compareAndSetReference(session, STATES, null, new ObjectStates());
        return session.objectStates;
    }

    private ObjectState find(Object of, int hash) {
        return in(bucket(index(hash)), of, hash);
    }

    private static ObjectState in(ObjectState[] bucket, Object of, int hash) {
        for (ObjectState state : bucket) {
            if (state.hash == hash && state.get() == of) {
                return state;
            }
        }
        return null;
    }

    private ObjectState findOrClaim(Object of) {
        int hash = System.identityHashCode(of);
        ObjectState found = find(of, hash);
        return found == null ? claim(of, hash) : found;
    }

    /** Adds the object, unless another thread has just added it. @return null if there is no room */
    private ObjectState claim(Object of, int hash) {
        if (!reserve()) {
            return null;
        }
        ObjectState made = new ObjectState(of, hash, cleared);
        int index = index(hash);
        while (true) {
            ObjectState[] before = bucket(index);
            ObjectState found = in(before, of, hash);
            if (found != null || before.length >= MOST_IN_BUCKET) {
                release(1);
                return found;
            }
            ObjectState[] after = new ObjectState[before.length + 1];
            for (int i = 0; i < before.length; i++) {
                after[i] = before[i];
            }
            after[before.length] = made;
            if (replace(index, before, after)) {
                return made;
            }
        }
    }

    private void remove(ObjectState state) {
        int index = index(state.hash);
        while (true) {
            ObjectState[] before = bucket(index);
            int at = 0;
            while (at < before.length && before[at] != state) {
                at++;
            }
            if (at == before.length) {
                return;
            }
            ObjectState[] after = before.length == 1 ? EMPTY : new ObjectState[before.length - 1];
            for (int i = 0; i < after.length; i++) {
                after[i] = before[i < at ? i : i + 1];
            }
            if (replace(index, before, after)) {
                release(1);
                state.close(this);
                return;
            }
        }
    }

    private ObjectState[] bucket(int index) {
        Object bucket = MEMORY.getReferenceVolatile(buckets, offset(index));
        return bucket == null ? EMPTY : (ObjectState[]) bucket;
    }

    private boolean replace(int index, ObjectState[] before, ObjectState[] after) {
        return MEMORY.compareAndSetReference(
                buckets, offset(index), before == EMPTY ? null : before, after == EMPTY ? null : after);
    }

    private static long offset(int index) {
        return Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * index;
    }

    private static int index(int hash) {
        return hash * 0x9E3779B9 >>> 32 - BITS;
    }

    /** Called by the event thread: removes the objects that the garbage collector has reclaimed. */
    void sweep(long now) {
        Reference<?> gone;
        while ((gone = cleared.poll()) != null) {
            remove((ObjectState) gone);
        }
        if (MEMORY.getLongVolatile(this, SIZE) >= MOST && now - recounted >= 1_000_000_000L) {
            recounted = now;
            recount();
        }
    }

    /** Corrects the size after additions that a stack overflow has interrupted. */
    private void recount() {
        long before = MEMORY.getLongVolatile(this, SIZE);
        long counted = 0;
        for (int i = 0; i < buckets.length; i++) {
            for (ObjectState state : bucket(i)) {
                counted += 1 + state.places();
            }
        }
        MEMORY.compareAndSetLong(this, SIZE, before, counted);
    }
}
