package btpy.runtime;

import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;

/**
 * The offsets of the instance fields of one class, its own first, then those of its superclasses. It refers weakly to
 * the class, so that a tracer that has read an application's objects does not keep the application loaded.
 */
final class Layout extends WeakReference<Class<?>> {
    private static final Memory MEMORY = Memory.instance();

    final int hash;
    final String[] names;
    final long[] offsets;
    /** The first characters of the descriptors: B C D F I J S Z, or L for every reference. */
    final char[] types;
    /** Whether the name of the field is one of {@link Secrets}. A session may add names. */
    final boolean[] secret;
    /**
     * Whether the field is in the source code. Scripts can read fields of the compiler (the outer instance), but they
     * are not shown.
     */
    final boolean[] shown;
    /** The shape of a known collection; null for other classes. */
    final Containers.Shape shape;

    /** A class whose only field directly follows the header of an object. */
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
     * Reads the fields by reflection, which may load their classes, once for each class. If the fields of a class
     * cannot be listed (a field's class is missing), the layout contains only the fields of the superclasses.
     */
    static Layout of(Class<?> type, int hash) {
        Field[][] fieldsByLevel = new Field[64][];
        int levels = 0;
        int count = 0;
        for (Class<?> c = type; c != null && levels < fieldsByLevel.length; c = c.getSuperclass()) {
            Field[] fields;
            try {
                fields = c.getDeclaredFields();
            } catch (LinkageError | SecurityException missingClass) {
                continue;
            }
            for (Field field : fields) {
                count += Modifier.isStatic(field.getModifiers()) ? 0 : 1;
            }
            fieldsByLevel[levels++] = fields;
        }
        Layout layout = new Layout(type, hash, count);
        int at = 0;
        for (int level = 0; level < levels; level++) {
            for (Field field : fieldsByLevel[level]) {
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

    /**
     * The end of the last field, which is the size of an instance before rounding up. It does not include fields that
     * reflection hides.
     */
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

    /** @return −1 if there is no such field */
    int find(String name) {
        String[] names = this.names;
        for (int i = 0; i < names.length; i++) {
            if (names[i] == name) { // both come from constant pools, and the JVM interns them
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

    /** @return −1 if there is no such field of this type */
    int find(String name, char type) {
        int field = find(name);
        return field >= 0 && types[field] == type ? field : -1;
    }

    /** Returns the value of a field that holds a reference; null if there is no such field. */
    Object reference(Object target, String name) {
        int field = find(name, 'L');
        return field < 0 ? null : MEMORY.getReference(target, offsets[field]);
    }

    /** Returns the value in a type of the language: Long, Double, Boolean, Character or the reference. */
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
                return Double.valueOf(Double.longBitsToDouble(MEMORY.getLong(target, offset)));
            case 'B':
                return Long.valueOf(MEMORY.getByte(target, offset));
            case 'C':
                return Character.valueOf(MEMORY.getChar(target, offset));
            case 'S':
                return Long.valueOf((short) MEMORY.getChar(target, offset));
            case 'F':
                return Double.valueOf(Float.intBitsToFloat(MEMORY.getInt(target, offset)));
            default:
                return MEMORY.getReference(target, offset);
        }
    }
}
