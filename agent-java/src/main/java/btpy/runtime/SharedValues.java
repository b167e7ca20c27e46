package btpy.runtime;

/**
 * The variables of a script for something that several threads may use at the same time ({@code state(object).x}), at
 * most {@value #MAX_VARIABLES}: integers, doubles, and references in the form in which maps store them ({@link Keys}).
 * Adding to a variable is atomic, and no method takes a lock. All methods accept null for an owner without variables.
 */
public final class SharedValues {
    /** The largest number of variables of all scripts. */
    static final int MAX_VARIABLES = 32;

    private static final Memory MEMORY = Memory.instance();
    private static final long PRESENT = MEMORY.fieldOffset(SharedValues.class, "present");
    private static final long NUMBERS = MEMORY.fieldOffset(SharedValues.class, "numbers");
    private static final long REFERENCES = MEMORY.fieldOffset(SharedValues.class, "references");
    private static final long MORE = MEMORY.fieldOffset(SharedValues.class, "more");

    /** The variables {@code first} to {@code end - 1}; the variables of later scripts are in {@code more}. */
    private final int first;
    private final int end;
    private SharedValues more;

    /** Bit i: variable {@code first + i} has a value. */
    private long present;
    /** Null until a variable needs it. */
    private long[] numbers;
    private Object[] references;

    SharedValues(int variables) {
        this(0, variables);
    }

    private SharedValues(int first, int end) {
        this.first = first;
        this.end = end < MAX_VARIABLES ? end : MAX_VARIABLES;
    }

    // Handlers call the methods below.

    public static boolean has(SharedValues values, int variable) {
        SharedValues block = block(values, variable);
        return block != null && block.has(variable - block.first);
    }

    public static long number(SharedValues values, int variable) {
        SharedValues block = block(values, variable);
        if (block == null || !block.has(variable - block.first)) {
            throw ProbeError.NULL_OPERAND;
        }
        return block.number(variable - block.first);
    }

    public static double real(SharedValues values, int variable) {
        return Double.longBitsToDouble(number(values, variable));
    }

    /** Returns null if the variable has no value. */
    public static Object boxedNumber(SharedValues values, int variable) {
        return has(values, variable) ? Long.valueOf(number(values, variable)) : null;
    }

    public static Object boxedReal(SharedValues values, int variable) {
        return has(values, variable) ? Double.valueOf(real(values, variable)) : null;
    }

    public static Object value(SharedValues values, int variable) {
        SharedValues block = block(values, variable);
        if (block == null || !block.has(variable - block.first)) {
            return null;
        }
        Object[] references = block.references;
        return references == null ? null : Keys.shown(references[variable - block.first]);
    }

    public static void setNumber(SharedValues values, int variable, long value) {
        SharedValues block = block(values, variable);
        if (block != null) {
            MEMORY.putLongRelease(block.numbers(), at(variable - block.first), value);
            block.mark(variable - block.first, true);
        }
    }

    public static void setReal(SharedValues values, int variable, double value) {
        setNumber(values, variable, Double.doubleToRawLongBits(value));
    }

    /** Sets a variable. If {@code value} is null, the variable has no value afterwards. */
    public static void set(SharedValues values, int variable, Object value, Session session) {
        SharedValues block = block(values, variable);
        if (block == null) {
            return;
        }
        int index = variable - block.first;
        if (value == null) {
            block.forget(index);
        } else {
            block.references()[index] = Keys.store(value, session.limits.chars);
            block.mark(index, true);
        }
    }

    /** Adds to a variable. A variable without a value counts as 0. */
    public static void addNumber(SharedValues values, int variable, long value) {
        SharedValues block = block(values, variable);
        if (block != null) {
            MEMORY.getAndAddLong(block.numbers(), at(variable - block.first), value);
            block.mark(variable - block.first, true);
        }
    }

    public static void addReal(SharedValues values, int variable, double value) {
        SharedValues block = block(values, variable);
        if (block == null) {
            return;
        }
        int index = variable - block.first;
        long[] numbers = block.numbers();
        long oldBits;
        do {
            oldBits = MEMORY.getLongVolatile(numbers, at(index));
        } while (!MEMORY.compareAndSetLong(
                numbers, at(index), oldBits, Double.doubleToRawLongBits(Double.longBitsToDouble(oldBits) + value)));
        block.mark(index, true);
    }

    // The runtime calls the methods below.

    /** Makes space for the variables of a later script. */
    void widen(int variables) {
        int limit = variables < MAX_VARIABLES ? variables : MAX_VARIABLES;
        SharedValues lastBlock = this;
        while (lastBlock.end < limit) {
            if (lastBlock.more == null) {
                MEMORY.compareAndSetReference(lastBlock, MORE, null, new SharedValues(lastBlock.end, limit));
            }
            lastBlock = (SharedValues) MEMORY.getReferenceVolatile(lastBlock, MORE);
        }
    }

    private static SharedValues block(SharedValues values, int variable) {
        SharedValues block = values;
        while (block != null && variable >= block.end) {
            block = block.more;
        }
        return block;
    }

    private boolean has(int index) {
        return (MEMORY.getLongVolatile(this, PRESENT) >>> index & 1) != 0;
    }

    private long number(int index) {
        long[] numbers = this.numbers;
        return numbers == null ? 0 : MEMORY.getLongVolatile(numbers, at(index));
    }

    private void forget(int index) {
        mark(index, false);
        long[] numbers = this.numbers;
        if (numbers != null) {
            MEMORY.putLongRelease(numbers, at(index), 0); // a later addition begins at 0
        }
        Object[] references = this.references;
        if (references != null) {
            references[index] = null;
        }
    }

    private void mark(int index, boolean isPresent) {
        long bit = 1L << index;
        long oldPresent;
        do {
            oldPresent = MEMORY.getLongVolatile(this, PRESENT);
            if ((oldPresent & bit) != 0 == isPresent) {
                return;
            }
        } while (!MEMORY.compareAndSetLong(this, PRESENT, oldPresent, oldPresent ^ bit));
    }

    private long[] numbers() {
        if (numbers == null) {
            MEMORY.compareAndSetReference(this, NUMBERS, null, new long[end - first]);
        }
        return (long[]) MEMORY.getReferenceVolatile(this, NUMBERS);
    }

    private Object[] references() {
        if (references == null) {
            MEMORY.compareAndSetReference(this, REFERENCES, null, new Object[end - first]);
        }
        return (Object[]) MEMORY.getReferenceVolatile(this, REFERENCES);
    }

    private static long at(int index) {
        return Memory.LONG_BASE + 8L * index;
    }
}
