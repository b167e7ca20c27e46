package btpy.runtime;

import java.util.Arrays;

/**
 * Loops and lookups of scripts: arrays, and collections that {@link Containers} can read. No method of an application's
 * object is called, so keys are found by value only if the value is a string, a number or an enum constant.
 */
public final class Elements {
    /** The maximum number of elements of one loop, even if the script requests more. */
    static final int MAX_ITEMS = 1000;

    /** The maximum number of elements that {@code in} compares one by one. */
    private static final int MOST_COMPARED = 10_000;

    private static final int MOST_CHAIN = 256;
    private static final Object[] NONE = {};

    private Elements() {}

    /**
     * Returns the element of an array or a list, or the value of the key in a map. Returns null for null.
     *
     * @param at the position at which an index out of range is counted
     * @throws ProbeError if the target is neither an array nor a known collection
     */
    public static Object element(Session session, Object target, long index, int at) {
        if (target == null) {
            return null;
        }
        if (!target.getClass().isArray()) {
            Layout layout = Layouts.of(target);
            if (layout.shape == null) {
                throw ProbeError.BAD_CAST;
            }
            if (layout.shape.isMap()) {
                return value(target, Long.valueOf(index));
            }
            Object value = Containers.element(target, index);
            if (value == Containers.ABSENT) {
                session.note(ProbeError.KIND_INDEX, at);
                return null;
            }
            return value;
        }
        if (index < 0 || index >= Values.length(target)) {
            session.note(ProbeError.KIND_INDEX, at);
            return null;
        }
        return element(target, (int) index);
    }

    /**
     * Like {@link #element}, for arrays and lists with an integer index. Returns the value of the key in a map, null if it is
     * missing.
     */
    public static Object entry(Session session, Object target, Object key, int at) {
        if (target == null) {
            return null;
        }
        if (target.getClass().isArray() || Layouts.of(target).shape != null && !Layouts.of(target).shape.isMap()) {
            return element(session, target, Dynamic.toLong(key), at);
        }
        return value(target, key);
    }

    /**
     * As {@link #entry}, for a key that the script does not name. The value is hidden if the key is the name of a
     * secret.
     */
    public static Object entryOfAny(Session session, Object target, Object key, int at) {
        return names(session, key) ? Texts.REDACTED : entry(session, target, key, at);
    }

    private static boolean names(Session session, Object key) {
        return session.limits.redact && key instanceof String && session.limits.names.hide((String) key);
    }

    /**
     * Returns the elements of a loop. Values with the names of secrets are hidden.
     *
     * @param most the largest number of elements; 0 or less: none
     * @param pairs 1: keys and values, or indices and elements, alternating
     * @param at the position at which {@link ProbeError#KIND_CUT} is counted if there are more; −1: no error is counted
     * @throws ProbeError if the container is not an array or a known collection
     */
    public static Object[] items(Session session, Object container, int most, int pairs, int probe, int at) {
        int bound = most < MAX_ITEMS ? most : MAX_ITEMS;
        Object[] elements = of(container, bound, pairs != 0);
        if (pairs != 0) {
            for (int i = 0; i + 1 < elements.length; i += 2) {
                if (names(session, elements[i])) {
                    elements[i + 1] = Texts.REDACTED;
                }
            }
        }
        if (container != null && at >= 0 && size(container) > bound) {
            session.errors.count(probe, at, ProbeError.KIND_CUT, null);
        }
        return elements;
    }

    /** The number of elements; −1 if the object is not an array or a known collection. */
    static int size(Object o) {
        return o.getClass().isArray() ? Values.length(o) : Containers.size(o);
    }

    /**
     * Returns the first {@code most} elements. With {@code pairs}, returns alternating keys and values of a map, or
     * indices and elements of other containers. Without {@code pairs}, returns the keys of a map, or the elements of
     * other containers. Null has no elements.
     *
     * @throws ProbeError if the container is not an array or a known collection
     */
    static Object[] of(Object o, int most, boolean pairs) {
        if (o == null) {
            return NONE;
        }
        int size = size(o);
        if (size < 0) {
            throw ProbeError.BAD_CAST;
        }
        int count = size < most ? size : most;
        if (count <= 0) {
            return NONE;
        }
        boolean isMap = !o.getClass().isArray() && Layouts.of(o).shape.isMap();
        Object[] elements = new Object[count];
        if (o.getClass().isArray()) {
            for (int i = 0; i < count; i++) {
                elements[i] = element(o, i);
            }
        } else if (isMap) {
            Object[] keysAndValues = new Object[2 * count];
            count = Containers.elements(o, keysAndValues) / 2;
            if (pairs) {
                return shorten(keysAndValues, 2 * count);
            }
            for (int i = 0; i < count; i++) {
                elements[i] = keysAndValues[2 * i];
            }
        } else {
            count = Containers.elements(o, elements);
        }
        if (!pairs) {
            return shorten(elements, count);
        }
        Object[] indicesAndElements = new Object[2 * count];
        for (int i = 0; i < count; i++) {
            indicesAndElements[2 * i] = Long.valueOf(i);
            indicesAndElements[2 * i + 1] = elements[i];
        }
        return indicesAndElements;
    }

    private static Object[] shorten(Object[] elements, int count) {
        return elements.length == count ? elements : Arrays.copyOf(elements, count);
    }

    /**
     * Returns element {@code i} of an array, which must be in range. Primitives are boxed as Long, Double, Boolean,
     * Character.
     */
    static Object element(Object array, int i) {
        if (array instanceof Object[]) {
            return ((Object[]) array)[i];
        }
        if (array instanceof int[]) {
            return Long.valueOf(((int[]) array)[i]);
        }
        if (array instanceof long[]) {
            return Long.valueOf(((long[]) array)[i]);
        }
        if (array instanceof byte[]) {
            return Long.valueOf(((byte[]) array)[i]);
        }
        if (array instanceof char[]) {
            return Character.valueOf(((char[]) array)[i]);
        }
        if (array instanceof double[]) {
            return Double.valueOf(((double[]) array)[i]);
        }
        if (array instanceof boolean[]) {
            return Boolean.valueOf(((boolean[]) array)[i]);
        }
        return array instanceof short[]
                ? (Object) Long.valueOf(((short[]) array)[i])
                : (Object) Double.valueOf(((float[]) array)[i]);
    }

    /**
     * Whether an element, or a key of a map, equals the value. Null contains nothing.
     *
     * @throws ProbeError if the container is not an array or a known collection, or is too long to be searched
     */
    public static boolean contains(Object o, Object value) {
        if (o == null) {
            return false;
        }
        Object table = table(o);
        if (table != null && isHashed(value)) {
            return node((Object[]) table, value) != null;
        }
        int size = size(o);
        if (size < 0) {
            throw ProbeError.BAD_CAST;
        }
        if (o.getClass().isArray()) {
            for (int i = 0; i < size; i++) {
                if (i == MOST_COMPARED) {
                    throw ProbeError.BUDGET;
                }
                if (Dynamic.equal(element(o, i), value)) {
                    return true;
                }
            }
            return false;
        }
        for (Object element : of(o, MOST_COMPARED, false)) {
            if (Dynamic.equal(element, value)) {
                return true;
            }
        }
        if (size > MOST_COMPARED) {
            throw ProbeError.BUDGET;
        }
        return false;
    }

    /**
     * Returns the value of a key in a map; null if it is missing.
     *
     * @throws ProbeError if this is not a known map, or if keys of this type cannot be found in it
     */
    static Object value(Object map, Object key) {
        Object table = table(map);
        if (table != null && isHashed(key)) {
            Object node = node((Object[]) table, key);
            if (node == null) {
                return null;
            }
            Object value = Layouts.reference(node, "value");
            return value != null ? value : Layouts.reference(node, "val");
        }
        int size = Containers.size(map);
        if (size < 0 || !Layouts.of(map).shape.isMap()) {
            throw ProbeError.BAD_CAST;
        }
        Object[] keysAndValues = of(map, MOST_COMPARED, true);
        for (int i = 0; i < keysAndValues.length; i += 2) {
            if (Dynamic.equal(keysAndValues[i], key)) {
                return keysAndValues[i + 1];
            }
        }
        if (size > MOST_COMPARED) {
            throw ProbeError.BUDGET;
        }
        return null;
    }

    /**
     * Returns the table of a HashMap, LinkedHashMap or ConcurrentHashMap, or of the map inside a set of these;
     * otherwise null.
     */
    private static Object table(Object o) {
        if (o.getClass().isArray() || Layouts.of(o).shape == null) {
            return null;
        }
        Object map = o;
        for (int i = 0; i < 2; i++) {
            Containers.Form form = Layouts.of(map).shape == null ? null : Layouts.of(map).shape.form;
            if (form == Containers.Form.HASH_MAP
                    || form == Containers.Form.LINKED_MAP
                    || form == Containers.Form.CONCURRENT_MAP) {
                Object table = Layouts.reference(map, "table");
                return table instanceof Object[] ? table : NONE;
            }
            if (form != Containers.Form.MAP_KEYS) {
                return null;
            }
            Object innerTable = Layouts.reference(map, "map");
            if (innerTable == null) {
                return null;
            }
            map = innerTable;
        }
        return null;
    }

    /** Whether the hash code of an equal key can be computed without a call. */
    private static boolean isHashed(Object key) {
        return key instanceof String || key instanceof Long;
    }

    private static Object node(Object[] table, Object key) {
        if (table.length == 0) {
            return null;
        }
        if (key instanceof String) {
            return node(table, key, Strings.hash((String) key, Strings.length((String) key)));
        }
        // The key in the map may be an Integer, whose hash code differs if it is negative.
        long number = ((Long) key).longValue();
        Object node = node(table, key, (int) (number ^ number >>> 32));
        return node != null || number >= 0 ? node : node(table, key, (int) number);
    }

    private static Object node(Object[] table, Object key, int hash) {
        Object node = table[(hash ^ hash >>> 16) & table.length - 1];
        if (node != null && Layouts.reference(node, "first") != null) { // a tree bin of ConcurrentHashMap
            node = Layouts.reference(node, "first");
        }
        for (int i = 0; node != null && i < MOST_CHAIN; i++) {
            if (Dynamic.equal(Layouts.reference(node, "key"), key)) {
                return node;
            }
            node = Layouts.reference(node, "next");
        }
        return null;
    }
}
