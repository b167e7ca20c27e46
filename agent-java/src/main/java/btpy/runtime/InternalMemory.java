package btpy.runtime;

import java.lang.reflect.Field;
import jdk.internal.misc.Unsafe;

/** {@link Memory} of JDK 12 and later. */
final class InternalMemory extends Memory {
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();

    /** @throws NoSuchMethodError on JDK 9 to 11, where the accessor is called {@code getObject} */
    InternalMemory() {
        UNSAFE.getReference(new Object[1], arrayBase(Object[].class));
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
        return UNSAFE.getReference(o, offset);
    }

    @Override
    Object getReferenceVolatile(Object o, long offset) {
        return UNSAFE.getReferenceVolatile(o, offset);
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
        UNSAFE.putReference(o, offset, value);
    }

    @Override
    void putLongRelease(Object o, long offset, long value) {
        UNSAFE.putLongRelease(o, offset, value);
    }

    @Override
    void putLongVolatile(Object o, long offset, long value) {
        UNSAFE.putLongVolatile(o, offset, value);
    }

    @Override
    long getLongUnaligned(Object o, long offset) {
        return UNSAFE.getLongUnaligned(o, offset);
    }

    @Override
    void putIntUnaligned(Object o, long offset, int value) {
        UNSAFE.putIntUnaligned(o, offset, value);
    }

    @Override
    void putLongUnaligned(Object o, long offset, long value) {
        UNSAFE.putLongUnaligned(o, offset, value);
    }

    @Override
    boolean compareAndSetLong(Object o, long offset, long expected, long value) {
        return UNSAFE.compareAndSetLong(o, offset, expected, value);
    }

    @Override
    boolean compareAndSetReference(Object o, long offset, Object expected, Object value) {
        return UNSAFE.compareAndSetReference(o, offset, expected, value);
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
        return InternalNames.fieldOffset(holder, name);
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
        return InternalNames.arrayBase(array);
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
        return InternalNames.defineClass(name, data);
    }
}
