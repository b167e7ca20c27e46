package btpy.runtime;

import java.lang.ref.WeakReference;

/**
 * What a script keeps for one thread ({@code thread.x}), in at most 32 variables: integers, doubles, and references in the form in
 * which maps hold them ({@link Keys}). Only that thread reads and writes it, so there are no races. All methods take null for a
 * thread that keeps nothing.
 */
public final class ThreadValues {
    /** Variables of all scripts. */
    static final int MOST = 32;

    /** Until the event thread has seen it, which may allocate the weak reference that takes its place. */
    private Thread thread = Thread.currentThread();
    private WeakReference<Thread> weak;

    /** Bit i: variable i holds something. */
    private int present;
    private long[] numbers;
    private Object[] references;

    ThreadValues(int variables) {
        int count = variables < MOST ? variables : MOST;
        numbers = new long[count];
        references = new Object[count];
    }

    // ------------------------------------------------------------------------------------------------ for handlers

    /** What this thread keeps, to be added to; null when there is no room, which is counted at the position. */
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

    /** What this thread keeps; null when that is nothing. */
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

    /** Null where there is nothing. */
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

    /** Null: the variable holds nothing any more. */
    public static void set(ThreadValues of, int variable, Object value, Session session) {
        if (of == null) {
            return;
        }
        of.references[variable] = Keys.held(value, session.limits.chars);
        of.present = value == null ? of.present & ~(1 << variable) : of.present | 1 << variable;
    }

    /** A variable that holds nothing counts as 0. */
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

    /** A script that came later has more variables. */
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

    // ------------------------------------------------------------------------------------------------ for the event thread

    /** Whether the thread has ended; from the first call on it is referred to weakly. */
    boolean isOver() {
        Thread thread = this.thread;
        if (thread != null) {
            weak = new WeakReference<Thread>(thread);
            this.thread = null;
        } else {
            thread = weak.get();
        }
        return thread == null || !thread.isAlive();
    }
}
