package btpy.runtime;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.security.ProtectionDomain;
import sun.misc.Unsafe;

/** {@link Memory} of JDK 8 to 11. */
final class SunMemory extends Memory {
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    private static final boolean UNALIGNED = unaligned(System.getProperty("os.arch", ""));

    private static boolean unaligned(String architecture) {
        return architecture.equals("amd64")
                || architecture.equals("x86_64")
                || architecture.equals("i386")
                || architecture.equals("x86")
                || architecture.equals("aarch64");
    }

    @Override
    byte getByte(Object o, long offset) {
        return UNSAFE.getByte(o, offset);
    }

    @Override
    char getChar(Object o, long offset) {
        return UNSAFE.getChar(o, offset);
    }

    @Override
    int getInt(Object o, long offset) {
        return UNSAFE.getInt(o, offset);
    }

    @Override
    long getLong(Object o, long offset) {
        return UNSAFE.getLong(o, offset);
    }

    @Override
    Object getReference(Object o, long offset) {
        return UNSAFE.getObject(o, offset);
    }

    @Override
    Object getReferenceVolatile(Object o, long offset) {
        return UNSAFE.getObjectVolatile(o, offset);
    }

    @Override
    long getLongVolatile(Object o, long offset) {
        return UNSAFE.getLongVolatile(o, offset);
    }

    @Override
    void putByte(Object o, long offset, byte value) {
        UNSAFE.putByte(o, offset, value);
    }

    @Override
    void putInt(Object o, long offset, int value) {
        UNSAFE.putInt(o, offset, value);
    }

    @Override
    void putLong(Object o, long offset, long value) {
        UNSAFE.putLong(o, offset, value);
    }

    @Override
    void putReference(Object o, long offset, Object value) {
        UNSAFE.putObject(o, offset, value);
    }

    @Override
    void putLongRelease(Object o, long offset, long value) {
        UNSAFE.putOrderedLong(o, offset, value);
    }

    @Override
    void putLongVolatile(Object o, long offset, long value) {
        UNSAFE.putLongVolatile(o, offset, value);
    }

    @Override
    long getLongUnaligned(Object o, long offset) {
        if (UNALIGNED) {
            return UNSAFE.getLong(o, offset);
        }
        long value = 0;
        for (int i = 0; i < 8; i++) {
            value |= (UNSAFE.getByte(o, offset + i) & 0xFFL) << (BIG_ENDIAN ? 56 - 8 * i : 8 * i);
        }
        return value;
    }

    @Override
    void putIntUnaligned(Object o, long offset, int value) {
        if (UNALIGNED) {
            UNSAFE.putInt(o, offset, value);
            return;
        }
        for (int i = 0; i < 4; i++) {
            UNSAFE.putByte(o, offset + i, (byte) (value >>> (BIG_ENDIAN ? 24 - 8 * i : 8 * i)));
        }
    }

    @Override
    void putLongUnaligned(Object o, long offset, long value) {
        if (UNALIGNED) {
            UNSAFE.putLong(o, offset, value);
            return;
        }
        for (int i = 0; i < 8; i++) {
            UNSAFE.putByte(o, offset + i, (byte) (value >>> (BIG_ENDIAN ? 56 - 8 * i : 8 * i)));
        }
    }

    @Override
    boolean compareAndSetLong(Object o, long offset, long expected, long value) {
        return UNSAFE.compareAndSwapLong(o, offset, expected, value);
    }

    @Override
    boolean compareAndSetReference(Object o, long offset, Object expected, Object value) {
        return UNSAFE.compareAndSwapObject(o, offset, expected, value);
    }

    @Override
    long getAndAddLong(Object o, long offset, long delta) {
        return UNSAFE.getAndAddLong(o, offset, delta);
    }

    @Override
    void storeFence() {
        UNSAFE.storeFence();
    }

    @Override
    void copy(Object from, long fromOffset, Object to, long toOffset, long bytes) {
        UNSAFE.copyMemory(from, fromOffset, to, toOffset, bytes);
    }

    @Override
    long fieldOffset(Field field) {
        return UNSAFE.objectFieldOffset(field);
    }

    @Override
    long fieldOffset(Class<?> holder, String name) {
        try {
            return InternalNames.fieldOffset(holder, name);
        } catch (LinkageError jdk8) {
            try {
                return UNSAFE.objectFieldOffset(holder.getDeclaredField(name));
            } catch (NoSuchFieldException missingField) {
                return -1;
            }
        }
    }

    @Override
    long staticFieldOffset(Field field) {
        return UNSAFE.staticFieldOffset(field);
    }

    @Override
    Object staticFieldBase(Field field) {
        return UNSAFE.staticFieldBase(field);
    }

    @Override
    long arrayBase(Class<?> array) {
        return UNSAFE.arrayBaseOffset(array);
    }

    @Override
    int arrayScale(Class<?> array) {
        return UNSAFE.arrayIndexScale(array);
    }

    @Override
    public boolean isInitialized(Class<?> type) {
        return !UNSAFE.shouldBeInitialized(type);
    }

    @Override
    public Class<?> defineClass(String name, byte[] data) {
        try {
            return InternalNames.defineClass(name, data);
        } catch (NoClassDefFoundError jdk8) {
            return defineClassJdk8(name, data);
        }
    }

    /** Uses reflection, because {@code sun.misc.Unsafe.defineClass} is missing in the JDKs that compile this file. */
    private static Class<?> defineClassJdk8(String name, byte[] data) {
        try {
            return (Class<?>) Unsafe.class
                    .getMethod("defineClass", String.class, byte[].class, int.class, int.class, ClassLoader.class,
                            ProtectionDomain.class)
                    .invoke(UNSAFE, name, data, 0, data.length, null, null);
        } catch (InvocationTargetException failure) {
            if (failure.getCause() instanceof LinkageError) {
                throw (LinkageError) failure.getCause();
            }
            throw new LinkageError(String.valueOf(failure.getCause()), failure);
        } catch (ReflectiveOperationException missingMethod) {
            throw new LinkageError(missingMethod.toString(), missingMethod);
        }
    }
}
