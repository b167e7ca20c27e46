package btpy.runtime;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.Arrays;

/**
 * The variables of a session by object ({@code state(object).x}), and the flows that objects carry to other threads: a
 * bounded hash table with weak references. An object is found by its identity, so no method of the application runs. The table takes no lock: the objects of a bucket are an
 * array that is replaced as a whole.
 *
 * <p>The garbage collector tells a queue which objects are gone, and the event thread removes their entries. The event
 * thread does not ask the references themselves: {@code get()} would keep an object alive until the end of a concurrent
 * collection.
 */
public final class ObjectStates {
    /** The largest number of objects, plus the flows that wait with an object, except the first flow of each object. */
    static final int MAX_PLACES = 65_536;

    private static final Memory MEMORY = Memory.instance();
    private static final long STATES = MEMORY.fieldOffset(Session.class, "objectStates");
    private static final long SIZE = MEMORY.fieldOffset(ObjectStates.class, "size");
    private static final int BITS = 14;
    /**
     * The largest number of objects in a bucket. It bounds a search even if an application prepares objects with equal
     * hashes.
     */
    private static final int MOST_IN_BUCKET = 32;
    private static final ObjectState[] EMPTY = {};

    private final Object[] buckets = new Object[1 << BITS];
    private final ReferenceQueue<Object> clearedQueue = new ReferenceQueue<Object>();
    private long size;
    private long recountedNanos;

    private ObjectStates() {}

    // Handlers call the methods below. They are guarded, because the constructor of a reference may be traced.

    /** Returns the variables of the object for a change; null if the table is full, which is counted at the position. */
    public static SharedValues toChange(Session session, Object object, int variables, int probe, int at) {
        requireIdentity(object);
        ObjectStates states = getOrCreate(session);
        while (true) {
            ObjectState state = states.findOrClaim(object);
            if (state == null) {
                session.errors.count(probe, at, ProbeError.KIND_STATE_FULL, null);
                return null;
            }
            SharedValues values = state.toChange(variables);
            if (values != null) {
                return values;
            }
            states.remove(state);
        }
    }

    /** Returns the variables of the object; null if it has none. */
    public static SharedValues now(Session session, Object object) {
        if (object == null) {
            return null;
        }
        requireIdentity(object);
        ObjectState state = find(session, object);
        return state == null ? null : state.values();
    }

    /** Forgets the variables of the object, and the flows that wait with it. */
    public static void clear(Session session, Object object) {
        ObjectState state = find(session, object);
        if (state != null) {
            session.objectStates.remove(state);
        }
    }

    // Flows call the methods below.

    /** Adds a run of a flow to those that wait with the object. @return false if there is no room */
    static boolean addRun(Session session, Object object, Run run) {
        requireIdentity(object);
        ObjectStates states = getOrCreate(session);
        while (true) {
            ObjectState state = states.findOrClaim(object);
            if (state == null) {
                return false;
            }
            if (state.add(run, states)) {
                return !state.isMissing();
            }
            states.remove(state);
        }
    }

    /** Makes the object belong to the flow of a run; null: to none. @return false if there is no room */
    static boolean keep(Session session, Object object, Run run) {
        requireIdentity(object);
        if (run == null) {
            ObjectState state = find(session, object);
            if (state != null && state.keep(null)) {
                removeUnused(session, state);
            }
            return true;
        }
        ObjectStates states = getOrCreate(session);
        while (true) {
            ObjectState state = states.findOrClaim(object);
            if (state == null) {
                return false;
            }
            if (state.keep(run)) {
                return true;
            }
            states.remove(state);
        }
    }

    /** Returns the run that the last {@link #keep} has stored; null if there is no such run. */
    static Run keptRun(Session session, Object object) {
        ObjectState state = find(session, object);
        return state == null ? null : state.keptRun();
    }

    /** Removes the oldest of the runs that wait with the object. @return null if there is none */
    static Run take(Session session, Object object) {
        ObjectState state = find(session, object);
        if (state == null) {
            return null;
        }
        Run run = state.take(session.objectStates);
        removeUnused(session, state);
        return run;
    }

    /** Removes the newest of the flows that wait with the object, if it is {@code flow}. */
    static void takeBack(Session session, Object object, Flow flow) {
        ObjectState state = find(session, object);
        if (state != null) {
            state.takeBack(flow, session.objectStates);
            removeUnused(session, state);
        }
    }

    private static void removeUnused(Session session, ObjectState state) {
        if (state.closeIfUnused()) {
            session.objectStates.remove(state);
        }
    }

    private static ObjectState find(Session session, Object object) {
        ObjectStates states = session.objectStates;
        return object == null || states == null ? null : states.find(object, System.identityHashCode(object));
    }

    /** Takes a place in the table. Returns false if there is none, or if memory is short. */
    boolean reserve() {
        if (Headroom.isScarce()) {
            return false;
        }
        if (MEMORY.getAndAddLong(this, SIZE, 1) >= MAX_PLACES) {
            release(1);
            return false;
        }
        return true;
    }

    void release(int places) {
        MEMORY.getAndAddLong(this, SIZE, -places);
    }

    /** A value of the script has no identity: each use of it may be another object. */
    private static void requireIdentity(Object object) {
        if (object == null) {
            throw ProbeError.NULL_OPERAND;
        }
        if (object instanceof String || object instanceof Number && isBoxed(object) || object instanceof Boolean
                || object instanceof Character || object instanceof Stack) {
            throw ProbeError.BAD_CAST;
        }
    }

    private static boolean isBoxed(Object number) {
        return number instanceof Long || number instanceof Integer || number instanceof Double || number instanceof Float
                || number instanceof Short || number instanceof Byte;
    }

    private static ObjectStates getOrCreate(Session session) {
        if (session.objectStates != null) {
            return session.objectStates;
        }
        MEMORY.compareAndSetReference(session, STATES, null, new ObjectStates());
        return session.objectStates;
    }

    private ObjectState find(Object object, int hash) {
        return findIn(bucket(index(hash)), object, hash);
    }

    private static ObjectState findIn(ObjectState[] bucket, Object object, int hash) {
        for (ObjectState state : bucket) {
            if (state.hash == hash && state.get() == object) {
                return state;
            }
        }
        return null;
    }

    private ObjectState findOrClaim(Object object) {
        int hash = System.identityHashCode(object);
        ObjectState state = find(object, hash);
        return state == null ? claim(object, hash) : state;
    }

    /** Adds the object, unless another thread has just added it. @return null if there is no room */
    private ObjectState claim(Object object, int hash) {
        if (!reserve()) {
            return null;
        }
        ObjectState newState = new ObjectState(object, hash, clearedQueue);
        int index = index(hash);
        while (true) {
            ObjectState[] oldBucket = bucket(index);
            ObjectState state = findIn(oldBucket, object, hash);
            if (state != null || oldBucket.length >= MOST_IN_BUCKET) {
                release(1);
                return state;
            }
            ObjectState[] newBucket = Arrays.copyOf(oldBucket, oldBucket.length + 1);
            newBucket[oldBucket.length] = newState;
            if (replace(index, oldBucket, newBucket)) {
                return newState;
            }
        }
    }

    private void remove(ObjectState state) {
        int index = index(state.hash);
        while (true) {
            ObjectState[] oldBucket = bucket(index);
            int at = 0;
            while (at < oldBucket.length && oldBucket[at] != state) {
                at++;
            }
            if (at == oldBucket.length) {
                return;
            }
            ObjectState[] newBucket = oldBucket.length == 1 ? EMPTY : new ObjectState[oldBucket.length - 1];
            for (int i = 0; i < newBucket.length; i++) {
                newBucket[i] = oldBucket[i < at ? i : i + 1];
            }
            if (replace(index, oldBucket, newBucket)) {
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

    private boolean replace(int index, ObjectState[] oldBucket, ObjectState[] newBucket) {
        return MEMORY.compareAndSetReference(
                buckets, offset(index), oldBucket == EMPTY ? null : oldBucket, newBucket == EMPTY ? null : newBucket);
    }

    private static long offset(int index) {
        return Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * index;
    }

    private static int index(int hash) {
        return hash * 0x9E3779B9 >>> 32 - BITS;
    }

    /** Called by the event thread: removes the objects that the garbage collector has reclaimed. */
    void sweep(long now) {
        Reference<?> reference;
        while ((reference = clearedQueue.poll()) != null) {
            remove((ObjectState) reference);
        }
        if (MEMORY.getLongVolatile(this, SIZE) >= MAX_PLACES && now - recountedNanos >= 1_000_000_000L) {
            recountedNanos = now;
            recount();
        }
    }

    /** Corrects the size after additions that a stack overflow has interrupted. */
    private void recount() {
        long oldSize = MEMORY.getLongVolatile(this, SIZE);
        long places = 0;
        for (int i = 0; i < buckets.length; i++) {
            for (ObjectState state : bucket(i)) {
                places += 1 + state.places();
            }
        }
        MEMORY.compareAndSetLong(this, SIZE, oldSize, places);
    }
}
