package btpy.runtime;

import java.lang.reflect.Field;
import java.util.Locale;
import jdk.internal.misc.Unsafe;

/** Reads layout facts once from {@code jdk.internal.misc.Unsafe}, on every JDK that has it. */
final class InternalNames {
    private InternalNames() {}

    static long fieldOffset(Class<?> holder, String name) {
        try {
            return Unsafe.getUnsafe().objectFieldOffset(holder, name);
        } catch (InternalError missingField) {
            return -1;
        }
    }

    /** The result is an {@code int} before JDK 25 and a {@code long} since then; on those JDKs the constant is read. */
    static long arrayBase(Class<?> array) {
        try {
            return Unsafe.getUnsafe().arrayBaseOffset(array);
        } catch (NoSuchMethodError otherResult) {
            return arrayBaseConstant(array.getComponentType());
        }
    }

    /**
     * Reads a constant. Finding the method by reflection would make the JVM keep an object for each of hundreds of
     * methods. Calling it, or reading the field by reflection, would create an accessor, which loads further classes.
     */
    private static long arrayBaseConstant(Class<?> element) {
        String name = element.isPrimitive() ? element.getName().toUpperCase(Locale.ROOT) : "OBJECT";
        try {
            Field constant = Unsafe.class.getField("ARRAY_" + name + "_BASE_OFFSET");
            Unsafe unsafe = Unsafe.getUnsafe();
            return unsafe.getLong(unsafe.staticFieldBase(constant), unsafe.staticFieldOffset(constant));
        } catch (NoSuchFieldException missingField) {
            throw new IllegalAccessError(missingField.toString());
        }
    }

    static Class<?> defineClass(String name, byte[] data) {
        return Unsafe.getUnsafe().defineClass(name, data, 0, data.length, null, null);
    }
}
