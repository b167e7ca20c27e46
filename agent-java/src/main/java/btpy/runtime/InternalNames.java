package btpy.runtime;

import jdk.internal.misc.Unsafe;

/** What only {@code jdk.internal.misc.Unsafe} can do, under the names that are the same from JDK 10 on. */
final class InternalNames {
    private InternalNames() {}

    static long fieldOffset(Class<?> holder, String name) {
        try {
            return Unsafe.getUnsafe().objectFieldOffset(holder, name);
        } catch (InternalError absent) {
            return -1;
        }
    }

    static Class<?> defineClass(String name, byte[] data) {
        return Unsafe.getUnsafe().defineClass(name, data, 0, data.length, null, null);
    }
}
