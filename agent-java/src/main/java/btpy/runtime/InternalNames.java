package btpy.runtime;

import java.lang.reflect.Method;
import jdk.internal.misc.Unsafe;

/** What is done once, and is best asked of {@code jdk.internal.misc.Unsafe} on every JDK that has it. */
final class InternalNames {
    private InternalNames() {}

    static long fieldOffset(Class<?> holder, String name) {
        try {
            return Unsafe.getUnsafe().objectFieldOffset(holder, name);
        } catch (InternalError absent) {
            return -1;
        }
    }

    /**
     * The result is an {@code int} before JDK 25 and a {@code long} from there on: by reflection where it is not what this was
     * compiled with, which makes the JVM keep an object for each of the hundreds of methods.
     */
    static long arrayBase(Class<?> array) {
        try {
            return Unsafe.getUnsafe().arrayBaseOffset(array);
        } catch (NoSuchMethodError otherResult) {
            return arrayBaseByReflection(array);
        }
    }

    private static long arrayBaseByReflection(Class<?> array) {
        try {
            Method method = Unsafe.class.getMethod("arrayBaseOffset", Class.class);
            return ((Number) method.invoke(Unsafe.getUnsafe(), array)).longValue();
        } catch (ReflectiveOperationException refused) {
            throw new IllegalAccessError(refused.toString());
        }
    }

    static Class<?> defineClass(String name, byte[] data) {
        return Unsafe.getUnsafe().defineClass(name, data, 0, data.length, null, null);
    }
}
