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

    /** By reflection: the result is an {@code int} before JDK 25 and a {@code long} from there on. */
    static long arrayBase(Class<?> array) {
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
