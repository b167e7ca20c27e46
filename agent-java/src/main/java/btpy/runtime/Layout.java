package btpy.runtime;

import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;

/**
 * Where the instance fields of one class are: its own first, then those of its superclasses. Knows the class weakly, so that a
 * tracer that looked at an application's objects does not keep the application loaded.
 */
final class Layout extends WeakReference<Class<?>> {
    private static final Memory MEMORY = Memory.instance();

    final int hash;
    final String[] names;
    final long[] offsets;
    /** First characters of the descriptors: B C D F I J S Z, or L for every reference. */
    final char[] types;
    /** Whether the name of the field is one of {@link Secrets}; a session may know more of them. */
    final boolean[] secret;
    /** Fields of the source code; the compiler's own (the outer instance) can be asked for but are not shown. */
    final boolean[] shown;
    /** What {@link Containers} knows of the class; null: it is not a collection whose inside is known. */
    final Containers.Shape shape;

    /** One field, right behind the header of an object. */
    private static final class Smallest {
        byte field;
    }

    private static final long HEADER = Math.max(0, MEMORY.fieldOffset(Smallest.class, "field"));

    private Layout(Class<?> type, int hash, int count) {
        super(type);
        this.hash = hash;
        this.names = new String[count];
        this.offsets = new long[count];
        this.types = new char[count];
        this.secret = new boolean[count];
        this.shown = new boolean[count];
        this.shape = Containers.shape(type);
    }

    /**
     * Asks reflection, which may load the classes of the fields: done once for a class. A class whose fields cannot be listed
     * (a field's class is missing) has those of its superclasses only.
     */
    static Layout of(Class<?> type, int hash) {
        Field[][] declared = new Field[64][];
        int levels = 0;
        int count = 0;
        for (Class<?> c = type; c != null && levels < declared.length; c = c.getSuperclass()) {
            Field[] fields;
            try {
                fields = c.getDeclaredFields();
            } catch (LinkageError missing) {
                continue;
            } catch (SecurityException refused) {
                continue;
            }
            for (Field field : fields) {
                count += Modifier.isStatic(field.getModifiers()) ? 0 : 1;
            }
            declared[levels++] = fields;
        }
        Layout layout = new Layout(type, hash, count);
        int at = 0;
        for (int level = 0; level < levels; level++) {
            for (Field field : declared[level]) {
                if (!Modifier.isStatic(field.getModifiers())) {
                    layout.set(at++, field);
                }
            }
        }
        return layout;
    }

    private void set(int i, Field field) {
        names[i] = field.getName();
        offsets[i] = MEMORY.fieldOffset(field);
        types[i] = typeOf(field.getType());
        secret[i] = Secrets.names(names[i]);
        shown[i] = !field.isSynthetic()
                && (field.getDeclaringClass() != Throwable.class
                        || names[i].equals("detailMessage")
                        || names[i].equals("cause"));
    }

    private static char typeOf(Class<?> type) {
        return type == int.class ? 'I'
                : type == long.class ? 'J'
                : type == boolean.class ? 'Z'
                : type == double.class ? 'D'
                : type == byte.class ? 'B'
                : type == char.class ? 'C'
                : type == short.class ? 'S'
                : type == float.class ? 'F'
                : 'L';
    }

    /** Where the last field ends: the size of an instance, before it is rounded up. Fields that reflection hides are not seen. */
    long end() {
        long end = HEADER;
        for (int i = 0; i < offsets.length; i++) {
            end = Math.max(end, offsets[i] + sizeOf(types[i]));
        }
        return end;
    }

    private static int sizeOf(char type) {
        switch (type) {
            case 'J':
            case 'D':
                return 8;
            case 'I':
            case 'F':
                return 4;
            case 'C':
            case 'S':
                return 2;
            case 'L':
                return Memory.REFERENCE_SCALE;
            default:
                return 1;
        }
    }

    /** @return −1 when there is no such field */
    int find(String name) {
        String[] names = this.names;
        for (int i = 0; i < names.length; i++) {
            if (names[i] == name) { // both come from constant pools: the JVM interns them
                return i;
            }
        }
        for (int i = 0; i < names.length; i++) {
            if (Strings.equal(names[i], name)) {
                return i;
            }
        }
        return -1;
    }

    /** The value as the language holds it: Long, Double, Boolean, Character or the reference. */
    Object read(Object target, int field) {
        long offset = offsets[field];
        switch (types[field]) {
            case 'I':
                return Long.valueOf(MEMORY.getInt(target, offset));
            case 'J':
                return Long.valueOf(MEMORY.getLong(target, offset));
            case 'Z':
                return Boolean.valueOf(MEMORY.getByte(target, offset) != 0);
            case 'D':
                return Double.valueOf(MEMORY.getDouble(target, offset));
            case 'B':
                return Long.valueOf(MEMORY.getByte(target, offset));
            case 'C':
                return Character.valueOf(MEMORY.getChar(target, offset));
            case 'S':
                return Long.valueOf(MEMORY.getShort(target, offset));
            case 'F':
                return Double.valueOf(MEMORY.getFloat(target, offset));
            default:
                return MEMORY.getReference(target, offset);
        }
    }
}
