package btpy.runtime;

import java.lang.reflect.Field;

/**
 * Raw access to fields and arrays. Only this class uses {@code Unsafe}.
 *
 * <p>On JDK 12 and later it uses {@code jdk.internal.misc.Unsafe}, which the agent must have exported to the module of
 * the agent before this class is initialised. On JDK 8 to 11 it uses {@code sun.misc.Unsafe}, because the reference
 * accessors of the internal class were renamed in 12. It never uses {@code sun.misc.Unsafe} on 12 and later, because
 * that prints warnings on 24.
 *
 * <p>Callers store {@link #instance()} in a {@code static final} field, so that the compilers know the exact class and
 * compile every call below to one instruction. No method calls a JDK method that could itself be traced, except the
 * methods marked cold.
 */
public abstract class Memory {
    private static final Memory INSTANCE = choose();

    /**
     * The offset of element 0. Buffers are {@code long[]}, because under compact headers a {@code byte[]} does not
     * start on a multiple of 8.
     */
    static final long LONG_BASE = INSTANCE.arrayBase(long[].class);
    static final long SHORT_BASE = INSTANCE.arrayBase(short[].class);
    static final long INT_BASE = INSTANCE.arrayBase(int[].class);
    static final long BYTE_BASE = INSTANCE.arrayBase(byte[].class);
    static final long CHAR_BASE = INSTANCE.arrayBase(char[].class);
    static final long REFERENCE_BASE = INSTANCE.arrayBase(Object[].class);
    static final int REFERENCE_SCALE = INSTANCE.arrayScale(Object[].class);
    static final boolean BIG_ENDIAN = bigEndian();

    Memory() {}

    /** @throws LinkageError on JDK 12 and later if {@code jdk.internal.misc} is not exported to this class */
    public static Memory instance() {
        return INSTANCE;
    }

    private static Memory choose() {
        try {
            return new InternalMemory();
        } catch (NoSuchMethodError | NoClassDefFoundError beforeJdk12) {
            return new SunMemory();
        }
    }

    private static boolean bigEndian() {
        long[] probe = {1};
        return INSTANCE.getByte(probe, LONG_BASE) == 0;
    }

    abstract byte getByte(Object o, long offset);

    abstract char getChar(Object o, long offset);

    abstract int getInt(Object o, long offset);

    abstract long getLong(Object o, long offset);

    abstract Object getReference(Object o, long offset);

    abstract Object getReferenceVolatile(Object o, long offset);

    abstract long getLongVolatile(Object o, long offset);

    abstract void putByte(Object o, long offset, byte value);

    abstract void putInt(Object o, long offset, int value);

    abstract void putLong(Object o, long offset, long value);

    abstract void putReference(Object o, long offset, Object value);

    /** A store that is visible after all earlier writes of this thread. */
    abstract void putLongRelease(Object o, long offset, long value);

    /** A sequentially consistent store. */
    abstract void putLongVolatile(Object o, long offset, long value);

    /** Native byte order, any alignment. */
    abstract long getLongUnaligned(Object o, long offset);

    /** Native byte order, any alignment. */
    abstract void putIntUnaligned(Object o, long offset, int value);

    /** Native byte order, any alignment. */
    abstract void putLongUnaligned(Object o, long offset, long value);

    abstract boolean compareAndSetLong(Object o, long offset, long expected, long value);

    abstract boolean compareAndSetReference(Object o, long offset, Object expected, Object value);

    abstract long getAndAddLong(Object o, long offset, long delta);

    /** Orders stores before it before stores after it. */
    abstract void storeFence();

    /** Cold. Copies bytes between two primitive arrays. */
    abstract void copy(Object from, long fromOffset, Object to, long toOffset, long bytes);

    /** Cold. */
    abstract long fieldOffset(Field field);

    /**
     * Cold. Finds the field by name even if reflection hides it.
     *
     * @return −1 if the class declares no such instance field, or if this JDK does not give its offset
     */
    abstract long fieldOffset(Class<?> holder, String name);

    /** Cold. The offset of a static field from {@link #staticFieldBase}. */
    abstract long staticFieldOffset(Field field);

    /** Cold. The object that holds a static field. This call does not initialise the class of the field. */
    abstract Object staticFieldBase(Field field);

    /** Cold. */
    abstract long arrayBase(Class<?> array);

    /** Cold. */
    abstract int arrayScale(Class<?> array);

    /**
     * Cold. Defines a class in the boot loader.
     *
     * @param name binary name
     * @throws LinkageError if a class of that name exists, or if the bytes are not a class file
     */
    public abstract Class<?> defineClass(String name, byte[] data);

    /** Cold. Whether the static initialiser of a class has completed. */
    public abstract boolean isInitialized(Class<?> type);
}
