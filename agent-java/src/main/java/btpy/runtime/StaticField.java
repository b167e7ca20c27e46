package btpy.runtime;

import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;

/** A static field of a loaded class, which is read without initialising the class. It refers weakly to the class. */
final class StaticField extends WeakReference<Class<?>> {
    private static final Memory MEMORY = Memory.instance();

    private final long offset;
    private boolean initialized;

    private StaticField(Class<?> type, long offset) {
        super(type);
        this.offset = offset;
    }

    /**
     * The first of these fields that the class has and that holds a reference; null if there is no such field. May load
     * classes.
     */
    static StaticField of(Class<?> type, String... names) {
        Field[] fields;
        try {
            fields = type.getDeclaredFields();
        } catch (LinkageError | SecurityException missingClass) {
            return null;
        }
        for (String name : names) {
            for (Field field : fields) {
                if (field.getName().equals(name)
                        && Modifier.isStatic(field.getModifiers())
                        && !field.getType().isPrimitive()
                        && MEMORY.staticFieldBase(field) == type) {
                    return new StaticField(type, MEMORY.staticFieldOffset(field));
                }
            }
        }
        return null;
    }

    /** The value of the field; also null while the class is not initialised, and after it was unloaded. */
    Object read() {
        Class<?> type = get();
        if (type == null) {
            return null;
        }
        if (!initialized) {
            if (!MEMORY.isInitialized(type)) {
                return null;
            }
            initialized = true;
        }
        return MEMORY.getReferenceVolatile(type, offset);
    }
}
