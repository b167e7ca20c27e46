package btpy.runtime;

/**
 * The variables of a script for one thread ({@code thread.x}), at most 32: integers, doubles, and references in the
 * form in which maps store them ({@link Keys}). Only that thread reads and writes it, so there are no races. All
 * methods accept null for a thread without variables.
 */
public final class ThreadValues extends OwnedByThread {
    /** The most variables of all scripts. */
    static final int MOST = 32;

    /** Bit i: variable i has a value. */
    private int present;
    private long[] numbers;
    private Object[] references;

    ThreadValues(int variables) {
        int count = variables < MOST ? variables : MOST;
        numbers = new long[count];
        references = new Object[count];
    }

    // Handlers call the methods below.

    /** Returns the variables of this thread for a change; null if the table is full, which is counted at the position. */
    public static ThreadValues toChange(Session session, int variables, int probe, int at) {
        ThreadRows rows = session.threadRows == null ? ThreadRows.made(session) : session.threadRows;
        ThreadValues found = rows.find();
        if (found == null) {
            found = rows.claim(variables);
            if (found == null) {
                session.errors.count(probe, at, ProbeError.KIND_MAP_FULL, null);
            }
        } else {
            found.widen(variables);
        }
        return found;
    }

    /** Returns the variables of this thread; null if it has none. */
    public static ThreadValues now(Session session) {
        ThreadRows rows = session.threadRows;
        return rows == null ? null : rows.find();
    }

    public static boolean has(ThreadValues of, int variable) {
        return of != null && (of.present >>> variable & 1) != 0;
    }

    public static long number(ThreadValues of, int variable) {
        if (!has(of, variable)) {
            throw ProbeError.NULL_OPERAND;
        }
        return of.numbers[variable];
    }

    public static double real(ThreadValues of, int variable) {
        return Double.longBitsToDouble(number(of, variable));
    }

    /** Returns null if the variable has no value. */
    public static Object boxedNumber(ThreadValues of, int variable) {
        return has(of, variable) ? Long.valueOf(of.numbers[variable]) : null;
    }

    public static Object boxedReal(ThreadValues of, int variable) {
        return has(of, variable) ? Double.valueOf(real(of, variable)) : null;
    }

    public static Object value(ThreadValues of, int variable) {
        return has(of, variable) ? Keys.shown(of.references[variable]) : null;
    }

    public static void setNumber(ThreadValues of, int variable, long value) {
        if (of != null) {
            of.numbers[variable] = value;
            of.present |= 1 << variable;
        }
    }

    public static void setReal(ThreadValues of, int variable, double value) {
        setNumber(of, variable, Double.doubleToRawLongBits(value));
    }

    /** Sets a variable. Null removes its value. */
    public static void set(ThreadValues of, int variable, Object value, Session session) {
        if (of == null) {
            return;
        }
        of.references[variable] = Keys.held(value, session.limits.chars);
        of.present = value == null ? of.present & ~(1 << variable) : of.present | 1 << variable;
    }

    /** Adds to a variable. A variable without a value counts as 0. */
    public static void addNumber(ThreadValues of, int variable, long value) {
        setNumber(of, variable, has(of, variable) ? of.numbers[variable] + value : value);
    }

    public static void addReal(ThreadValues of, int variable, double value) {
        setReal(of, variable, has(of, variable) ? real(of, variable) + value : value);
    }

    public static void clear(ThreadValues of) {
        if (of == null) {
            return;
        }
        of.present = 0;
        for (int i = 0; i < of.references.length; i++) {
            of.references[i] = null;
        }
    }

    /** Makes space for the variables of a later script. */
    void widen(int variables) {
        int count = variables < MOST ? variables : MOST;
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
