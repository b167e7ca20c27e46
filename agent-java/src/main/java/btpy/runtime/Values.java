package btpy.runtime;

/**
 * Writes values in the format of docs/runtime.md ("Records").
 *
 * <p>With an array, the writer writes values; without an array, the same code measures their size. The object may
 * change between measuring and writing. The writer never exceeds its space: it omits values that no longer fit, and
 * marks the omission.
 *
 * <p>No method of an object is called. Objects are shown by their fields, and JDK collections by the elements that
 * {@link Containers} reads.
 */
final class Values {
    static final int NULL = 0;
    static final int FALSE = 1;
    static final int TRUE = 2;
    static final int INT = 3;
    static final int LONG = 4;
    static final int DOUBLE = 5;
    static final int CHAR = 6;
    static final int LATIN1 = 7;
    static final int UTF16 = 8;
    static final int CUT = 9;
    static final int OBJECT = 10;
    static final int SEQUENCE = 11;
    static final int STACK = 12;
    static final int ENUM = 13;
    static final int UNOPENED = 14;
    static final int REDACTED = 15;
    static final int UNREADABLE = 16;
    static final int MAP = 17;
    static final int END = 0xFF;

    /** Reasons why an object was not opened. */
    static final int WHY_DEPTH = 0;
    static final int WHY_CYCLE = 1;

    static final int NO_ROOM = -1;
    static final int NOT_SIMPLE = -2;

    private static final Memory MEMORY = Memory.instance();
    private static final long ENUM_NAME = MEMORY.fieldOffset(Enum.class, "name");
    private static final int MAX_CLASS_NAME = 1024;

    private final Session session;
    private final Limits limits;
    private final long[] words;
    private final Object[] path;
    private int end;

    /**
     * Creates a writer; if {@code words} is null, it only measures. Positions are bytes from the start of the array.
     * {@code end} is the first byte after the writer's space.
     */
    Values(Session session, long[] words, int end, int depth) {
        this.session = session;
        this.limits = session.limits;
        this.words = words;
        this.end = end;
        this.path = new Object[depth];
    }

    /** @return the position after the value, which is written completely, or {@link #NO_ROOM} */
    int write(Object o, int at) {
        return write(o, at, 0);
    }

    static void put1(long[] words, int at, int value) {
        if (words != null) {
            MEMORY.putByte(words, Memory.LONG_BASE + at, (byte) value);
        }
    }

    static void put2(long[] words, int at, int value) {
        put1(words, at, value);
        put1(words, at + 1, value >>> 8);
    }

    static void put4(long[] words, int at, int value) {
        if (words != null) {
            MEMORY.putIntUnaligned(words, Memory.LONG_BASE + at, ordered(value));
        }
    }

    static void put8(long[] words, int at, long value) {
        if (words != null) {
            MEMORY.putLongUnaligned(words, Memory.LONG_BASE + at, ordered(value));
        }
    }

    /** Converts the byte order of this processor to that of records, or back. */
    static int ordered(int v) {
        return Memory.BIG_ENDIAN ? swap(v) : v;
    }

    static long ordered(long v) {
        return Memory.BIG_ENDIAN ? swap(v) : v;
    }

    /** Replaces {@code Integer.reverseBytes}, which may be traced. */
    private static int swap(int v) {
        v = (v & 0x00FF00FF) << 8 | v >>> 8 & 0x00FF00FF;
        return v << 16 | v >>> 16;
    }

    /** Replaces {@code Long.reverseBytes}, which may be traced. */
    private static long swap(long v) {
        v = (v & 0x00FF00FF00FF00FFL) << 8 | v >>> 8 & 0x00FF00FF00FF00FFL;
        v = (v & 0x0000FFFF0000FFFFL) << 16 | v >>> 16 & 0x0000FFFF0000FFFFL;
        return v << 32 | v >>> 32;
    }

    /**
     * Writes null, strings, boxes, stacks, classes and enums, without allocation. Returns {@link #NOT_SIMPLE} for other
     * values.
     */
    static int simple(Session session, Object o, long[] words, int at, int end) {
        if (o == null) {
            return tag(words, at, end, NULL);
        }
        if (o instanceof String) {
            return o == Texts.REDACTED
                    ? tag(words, at, end, REDACTED)
                    : string((String) o, session.limits.chars, words, at, end);
        }
        if (o instanceof Long) {
            return number(words, at, end, LONG, ((Long) o).longValue());
        }
        if (o instanceof Integer || o instanceof Short || o instanceof Byte) {
            return integer(words, at, end, INT, ((Number) o).intValue());
        }
        if (o instanceof Double || o instanceof Float) {
            return number(words, at, end, DOUBLE, Double.doubleToRawLongBits(((Number) o).doubleValue()));
        }
        if (o instanceof Boolean) {
            return tag(words, at, end, ((Boolean) o).booleanValue() ? TRUE : FALSE);
        }
        if (o instanceof Character) {
            return character(words, at, end, ((Character) o).charValue());
        }
        if (o instanceof Stack) {
            session.stacks.use((Stack) o);
            return integer(words, at, end, STACK, ((Stack) o).id);
        }
        if (o instanceof Class) {
            return string(((Class<?>) o).getName(), MAX_CLASS_NAME, words, at, end);
        }
        if (o instanceof Enum) {
            if (end - at < 1) {
                return NO_ROOM;
            }
            put1(words, at, ENUM);
            int next = string(enumClass(o).getName(), MAX_CLASS_NAME, words, at + 1, end);
            return next < 0 ? NO_ROOM : string(enumName(o), session.limits.chars, words, next, end);
        }
        return NOT_SIMPLE;
    }

    private static int tag(long[] words, int at, int end, int tag) {
        if (end - at < 1) {
            return NO_ROOM;
        }
        put1(words, at, tag);
        return at + 1;
    }

    private static int number(long[] words, int at, int end, int tag, long bits) {
        if (end - at < 9) {
            return NO_ROOM;
        }
        put1(words, at, tag);
        put8(words, at + 1, bits);
        return at + 9;
    }

    private static int integer(long[] words, int at, int end, int tag, int value) {
        if (end - at < 5) {
            return NO_ROOM;
        }
        put1(words, at, tag);
        put4(words, at + 1, value);
        return at + 5;
    }

    private static int character(long[] words, int at, int end, char value) {
        if (end - at < 3) {
            return NO_ROOM;
        }
        put1(words, at, CHAR);
        put2(words, at + 1, value);
        return at + 3;
    }

    static int string(String s, int limit, long[] words, int at, int end) {
        int length = Strings.length(s);
        int count = Strings.cut(s, limit);
        boolean latin1 = Strings.isLatin1(s, count);
        int body = latin1 ? count : 2 * count;
        int next = at + (count < length ? 5 : 0) + 3 + body;
        if (next > end) {
            return NO_ROOM;
        }
        if (words != null) {
            if (count < length) {
                put1(words, at, CUT);
                put4(words, at + 1, length);
                at += 5;
            }
            put1(words, at, latin1 ? LATIN1 : UTF16);
            put2(words, at + 1, count);
            if (latin1) {
                Strings.copyLatin1(s, count, words, Memory.LONG_BASE + at + 3);
            } else {
                Strings.copyUtf16(s, count, words, Memory.LONG_BASE + at + 3);
            }
        }
        return next;
    }

    /** Returns the enum class. Each constant with a body has its own subclass. */
    private static Class<?> enumClass(Object constant) {
        Class<?> type = constant.getClass();
        return type.getSuperclass() == Enum.class ? type : type.getSuperclass();
    }

    static String enumName(Object constant) {
        return (String) MEMORY.getReference(constant, ENUM_NAME);
    }

    private int write(Object o, int at, int depth) {
        int next = simple(session, o, words, at, end);
        if (next != NOT_SIMPLE) {
            return next;
        }
        for (int i = 0; i < depth; i++) {
            if (path[i] == o) {
                return unopened(o, at, WHY_CYCLE);
            }
        }
        Class<?> type = o.getClass();
        boolean opened = depth < path.length;
        if (opened) {
            path[depth] = o;
        }
        if (type.isArray()) {
            return array(o, type, at, opened ? depth + 1 : -1);
        }
        Layout layout = Layouts.of(type);
        if (layout.shape != null) {
            int size = Containers.size(o);
            if (size >= 0) {
                return layout.shape.isMap()
                        ? map(o, type, size, at, opened ? depth + 1 : -1)
                        : list(o, type, size, at, opened ? depth + 1 : -1);
            }
        }
        return opened ? fields(o, layout, at, depth + 1) : unopened(o, at, WHY_DEPTH);
    }

    private int unopened(Object o, int at, int why) {
        int whyAt = header(UNOPENED, o.getClass(), System.identityHashCode(o), at);
        if (whyAt < 0) {
            return NO_ROOM;
        }
        put1(words, whyAt, why);
        return whyAt + 1;
    }

    private int fields(Object o, Layout layout, int at, int depth) {
        end--; // reserves the last byte
        int countAt = header(OBJECT, o.getClass(), System.identityHashCode(o), at);
        if (countAt < 0) {
            end++;
            return NO_ROOM;
        }
        int next = countAt + 1;
        int count = 0;
        boolean more = false;
        boolean[] secret = limits.redact ? limits.names.fields(layout) : null;
        for (int i = 0; i < layout.names.length; i++) {
            if (!layout.shown[i]) {
                continue;
            }
            int value = count < limits.fields ? string(layout.names[i], MAX_CLASS_NAME, words, next, end) : NO_ROOM;
            int valueEnd = value < 0
                    ? NO_ROOM
                    : secret != null && secret[i] ? tag(words, value, end, REDACTED) : field(o, layout, i, value, depth);
            if (valueEnd < 0) {
                more = true;
                break;
            }
            next = valueEnd;
            count++;
        }
        end++;
        put1(words, countAt, count);
        put1(words, next, more ? 1 : 0);
        return next + 1;
    }

    private int field(Object o, Layout layout, int i, int at, int depth) {
        long offset = layout.offsets[i];
        switch (layout.types[i]) {
            case 'J':
                return number(words, at, end, LONG, MEMORY.getLong(o, offset));
            case 'D':
                return number(words, at, end, DOUBLE, MEMORY.getLong(o, offset));
            case 'F':
                return number(words, at, end, DOUBLE, Double.doubleToRawLongBits(Float.intBitsToFloat(MEMORY.getInt(o, offset))));
            case 'Z':
                return tag(words, at, end, MEMORY.getByte(o, offset) != 0 ? TRUE : FALSE);
            case 'I':
                return integer(at, MEMORY.getInt(o, offset));
            case 'S':
                return integer(at, (short) MEMORY.getChar(o, offset));
            case 'B':
                return integer(at, MEMORY.getByte(o, offset));
            case 'C':
                return character(at, MEMORY.getChar(o, offset));
            default:
                return write(MEMORY.getReference(o, offset), at, depth);
        }
    }

    private int integer(int at, int value) {
        return integer(words, at, end, INT, value);
    }

    private int character(int at, char value) {
        return character(words, at, end, value);
    }

    /**
     * Writes the tag, the class name and a number, the length or the identity hash, and reserves one byte.
     * @return the position of that byte
     */
    private int header(int tag, Class<?> type, int number, int at) {
        if (end - at < 1) {
            return NO_ROOM;
        }
        put1(words, at, tag);
        int next = string(type.getName(), MAX_CLASS_NAME, words, at + 1, end);
        if (next < 0 || end - next < 5) {
            return NO_ROOM;
        }
        put4(words, next, number);
        return next + 4;
    }

    /** Writes an array. With {@code depth} −1, writes only the length of the array. */
    private int array(Object array, Class<?> type, int at, int depth) {
        int length = length(array);
        int countAt = header(SEQUENCE, type, length, at);
        if (countAt < 0) {
            return NO_ROOM;
        }
        return elements(array, depth < 0 ? 0 : length < limits.elements ? length : limits.elements, countAt, depth);
    }

    /** Writes the number of shown elements at {@code countAt}, and these elements of an array, at most {@code limit}. */
    private int elements(Object array, int limit, int countAt, int depth) {
        int next = countAt + 1;
        int count = 0;
        while (count < limit) {
            int valueEnd = element(array, count, next, depth);
            if (valueEnd < 0) {
                break;
            }
            next = valueEnd;
            count++;
        }
        put1(words, countAt, count);
        return next;
    }

    private int element(Object array, int i, int at, int depth) {
        if (array instanceof Object[]) {
            return write(((Object[]) array)[i], at, depth);
        }
        if (array instanceof byte[]) {
            return integer(at, ((byte[]) array)[i]);
        }
        if (array instanceof int[]) {
            return integer(at, ((int[]) array)[i]);
        }
        if (array instanceof short[]) {
            return integer(at, ((short[]) array)[i]);
        }
        if (array instanceof char[]) {
            return character(at, ((char[]) array)[i]);
        }
        if (array instanceof boolean[]) {
            return tag(words, at, end, ((boolean[]) array)[i] ? TRUE : FALSE);
        }
        if (array instanceof long[]) {
            return number(words, at, end, LONG, ((long[]) array)[i]);
        }
        double value = array instanceof float[] ? ((float[]) array)[i] : ((double[]) array)[i];
        return number(words, at, end, DOUBLE, Double.doubleToRawLongBits(value));
    }

    static int length(Object array) {
        return array instanceof Object[]
                ? ((Object[]) array).length
                : array instanceof byte[]
                ? ((byte[]) array).length
                : array instanceof int[]
                ? ((int[]) array).length
                : array instanceof long[]
                ? ((long[]) array).length
                : array instanceof char[]
                ? ((char[]) array).length
                : array instanceof double[]
                ? ((double[]) array).length
                : array instanceof boolean[]
                ? ((boolean[]) array).length
                : array instanceof short[] ? ((short[]) array).length : ((float[]) array).length;
    }

    /** The size of an array in bytes before rounding up. */
    static long bytes(Object array) {
        long length = length(array);
        return array instanceof Object[]
                ? Memory.REFERENCE_BASE + Memory.REFERENCE_SCALE * length
                : array instanceof long[] || array instanceof double[]
                ? Memory.LONG_BASE + 8 * length
                : array instanceof int[] || array instanceof float[]
                ? Memory.INT_BASE + 4 * length
                : array instanceof char[] || array instanceof short[]
                ? Memory.CHAR_BASE + 2 * length
                : Memory.BYTE_BASE + length;
    }

    private int list(Object list, Class<?> type, int size, int at, int depth) {
        int countAt = header(SEQUENCE, type, size, at);
        if (countAt < 0) {
            return NO_ROOM;
        }
        Object[] elements = new Object[depth < 0 ? 0 : size < limits.elements ? size : limits.elements];
        return elements(elements, elements.length == 0 ? 0 : Containers.elements(list, elements), countAt, depth);
    }

    private int map(Object map, Class<?> type, int size, int at, int depth) {
        int countAt = header(MAP, type, size, at);
        if (countAt < 0) {
            return NO_ROOM;
        }
        Object[] pairs = new Object[2 * (depth < 0 ? 0 : size < limits.elements ? size : limits.elements)];
        int pairCount = pairs.length == 0 ? 0 : Containers.elements(map, pairs) / 2;
        int next = countAt + 1;
        int count = 0;
        while (count < pairCount) {
            Object key = pairs[2 * count];
            int value = write(key, next, depth);
            if (value < 0) {
                break;
            }
            int valueEnd = limits.redact && key instanceof String && limits.names.hide((String) key)
                    ? tag(words, value, end, REDACTED)
                    : write(pairs[2 * count + 1], value, depth);
            if (valueEnd < 0) {
                break;
            }
            next = valueEnd;
            count++;
        }
        put1(words, countAt, count);
        return next;
    }
}
