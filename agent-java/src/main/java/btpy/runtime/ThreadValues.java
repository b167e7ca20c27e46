package btpy.runtime;

/**
 * The variables of a script for one thread ({@code thread.x}), at most 32: integers, doubles, and references in the
 * form in which maps store them ({@link Keys}). Only that thread reads and writes these variables, so there are no
 * races. All methods accept null for a thread without variables.
 */
public final class ThreadValues extends OwnedByThread {
    /** The largest number of thread variables in a session, over all its scripts. */
    static final int MAX_VARIABLES = 32;
    private static final Memory MEMORY = Memory.instance();
    private static final long ROWS = MEMORY.fieldOffset(Session.class, "threadRows");
    private static final int BITS = 11;

    /** Bit i: variable i has a value. */
    private int present;
    private long[] numbers;
    private Object[] references;

    ThreadValues(int variables) {
        int count = variables < MAX_VARIABLES ? variables : MAX_VARIABLES;
        numbers = new long[count];
        references = new Object[count];
    }

    // Handlers call the methods below.

    /**
     * Returns the variables of this thread, to be changed. If the table is full, counts an error at the position and
     * returns null.
     */
    public static ThreadValues toChange(Session session, int variables, int probe, int at) {
        if (session.threadRows == null) {
            MEMORY.compareAndSetReference(session, ROWS, null, new ThreadRows<ThreadValues>(BITS));
        }
        ThreadValues values = session.threadRows.find();
        if (values != null) {
            values.widen(variables);
            return values;
        }
        values = new ThreadValues(variables);
        if (!session.threadRows.put(values)) {
            session.errors.count(probe, at, ProbeError.KIND_MAP_FULL, null);
            return null;
        }
        return values;
    }

    /** Returns the variables of this thread; null if it has none. */
    public static ThreadValues now(Session session) {
        ThreadRows<ThreadValues> rows = session.threadRows;
        return rows == null ? null : rows.find();
    }

    public static boolean has(ThreadValues values, int variable) {
        return values != null && (values.present >>> variable & 1) != 0;
    }

    public static long number(ThreadValues values, int variable) {
        if (!has(values, variable)) {
            throw ProbeError.NULL_OPERAND;
        }
        return values.numbers[variable];
    }

    public static double real(ThreadValues values, int variable) {
        return Double.longBitsToDouble(number(values, variable));
    }

    /** Returns null if the variable has no value. */
    public static Object boxedNumber(ThreadValues values, int variable) {
        return has(values, variable) ? Long.valueOf(values.numbers[variable]) : null;
    }

    public static Object boxedReal(ThreadValues values, int variable) {
        return has(values, variable) ? Double.valueOf(real(values, variable)) : null;
    }

    public static Object value(ThreadValues values, int variable) {
        return has(values, variable) ? Keys.shown(values.references[variable]) : null;
    }

    public static void setNumber(ThreadValues values, int variable, long value) {
        if (values != null) {
            values.numbers[variable] = value;
            values.present |= 1 << variable;
        }
    }

    public static void setReal(ThreadValues values, int variable, double value) {
        setNumber(values, variable, Double.doubleToRawLongBits(value));
    }

    /** Sets a variable. Null removes its value. */
    public static void set(ThreadValues values, int variable, Object value, Session session) {
        if (values == null) {
            return;
        }
        values.references[variable] = Keys.store(value, session.limits.chars);
        values.present = value == null ? values.present & ~(1 << variable) : values.present | 1 << variable;
    }

    /** Adds to a variable. A variable without a value counts as 0. */
    public static void addNumber(ThreadValues values, int variable, long value) {
        setNumber(values, variable, has(values, variable) ? values.numbers[variable] + value : value);
    }

    public static void addReal(ThreadValues values, int variable, double value) {
        setReal(values, variable, has(values, variable) ? real(values, variable) + value : value);
    }

    public static void clear(ThreadValues values) {
        if (values == null) {
            return;
        }
        values.present = 0;
        for (int i = 0; i < values.references.length; i++) {
            values.references[i] = null;
        }
    }

    /** Makes space for the variables of a later script. */
    void widen(int variables) {
        int count = variables < MAX_VARIABLES ? variables : MAX_VARIABLES;
        if (count > numbers.length) {
            long[] moreNumbers = new long[count];
            Object[] moreReferences = new Object[count];
            for (int i = 0; i < numbers.length; i++) {
                moreNumbers[i] = numbers[i];
                moreReferences[i] = references[i];
            }
            numbers = moreNumbers;
            references = moreReferences;
        }
    }
}
