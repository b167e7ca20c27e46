package btpy.launcher;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.security.ProtectionDomain;
import java.util.function.Consumer;

/** Defines a class file in the boot loader of JDK 8. By reflection: {@code sun.misc.Unsafe} has lost the method since. */
final class Jdk8Definer implements Consumer<byte[]> {
    private final Object unsafe;
    private final Method defineClass;

    Jdk8Definer() throws ReflectiveOperationException {
        Class<?> type = Class.forName("sun.misc.Unsafe");
        Field field = type.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        unsafe = field.get(null);
        defineClass = type.getMethod("defineClass", String.class, byte[].class, int.class, int.class, ClassLoader.class,
            ProtectionDomain.class);
    }

    @Override
    public void accept(byte[] data) {
        try {
            defineClass.invoke(unsafe, null, data, 0, data.length, null, null);
        } catch (ReflectiveOperationException refused) {
            throw new LinkageError(refused.toString(), refused);
        }
    }
}
