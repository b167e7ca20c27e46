package btpy.runtime;

import java.util.Arrays;

/**
 * Reads the content of JDK collections from their fields. Supports only exact, known classes of {@code java.util},
 * because {@code size()} or an iterator of other classes may take the application's locks or run its code. For the same
 * reason it does not open views made by {@code Collections.synchronized…} and {@code unmodifiable…}.
 *
 * <p>Other threads may change the fields at any moment, so every step is bounded and no value is trusted.
 */
final class Containers {
    private static final Memory MEMORY = Memory.instance();
    /** The largest number of buckets of a hash table that are searched for elements. */
    private static final int MAX_BUCKETS = 4096;
    /** The largest number of nodes in one chain or one path of a tree. */
    private static final int MAX_CHAIN = 256;

    private static final Object[] NO_ELEMENTS = {};

    /** The way in which a class stores its elements. */
    enum Form {
        /** {@code a}: Object[]; {@code b}: int size, or the whole array if absent. */
        ARRAY,
        /** {@code a}: Object[]; {@code b}, {@code c}: head and tail, excluding the tail. */
        DEQUE,
        /** {@code a}: Object[] with empty places, {@code b}: int size. */
        SPARSE_SET,
        /** {@code a}: Object[] of alternating keys and values with empty places, {@code b}: int size. */
        SPARSE_MAP,
        /** {@code a}, {@code b}: the elements themselves; empty places hold the JDK's marker. */
        FIELDS,
        /** {@code a}: key, {@code b}: value. */
        ENTRY,
        /** No elements. */
        EMPTY_LIST,
        EMPTY_MAP,
        /** {@code a}: first node, {@code b}: int size; nodes have item, next. */
        LINKED,
        /** {@code a}: Node[] table, {@code b}: int size; nodes have key, value or val, next. */
        HASH_MAP,
        /** As HASH_MAP, but {@code b} is a long base count, and further counts are in cells. */
        CONCURRENT_MAP,
        /** {@code a}: first entry, {@code b}: int size; entries have key, value, after. */
        LINKED_MAP,
        /** {@code a}: root, {@code b}: int size; entries have key, value, left, right. */
        TREE_MAP,
        /** {@code a}: the map with the keys. */
        MAP_KEYS,
    }

    /** {@code name form a b c}: the class, its form, and the fields that the form needs. */
    private static final String[][] TABLE = {
        {"java.util.ArrayList", "ARRAY", "elementData", "size"},
        {"java.util.Vector", "ARRAY", "elementData", "elementCount"},
        {"java.util.Stack", "ARRAY", "elementData", "elementCount"},
        {"java.util.PriorityQueue", "ARRAY", "queue", "size"},
        {"java.util.Arrays$ArrayList", "ARRAY", "a"},
        {"java.util.concurrent.CopyOnWriteArrayList", "ARRAY", "array"},
        {"java.util.ImmutableCollections$ListN", "ARRAY", "elements"},
        {"java.util.ImmutableCollections$List12", "FIELDS", "e0", "e1"},
        {"java.util.ImmutableCollections$Set12", "FIELDS", "e0", "e1"},
        {"java.util.ImmutableCollections$SetN", "SPARSE_SET", "elements", "size"},
        {"java.util.ImmutableCollections$MapN", "SPARSE_MAP", "table", "size"},
        {"java.util.ImmutableCollections$Map1", "ENTRY", "k0", "v0"},
        {"java.util.Collections$SingletonList", "FIELDS", "element"},
        {"java.util.Collections$SingletonSet", "FIELDS", "element"},
        {"java.util.Collections$SingletonMap", "ENTRY", "k", "v"},
        {"java.util.Collections$EmptyList", "EMPTY_LIST"},
        {"java.util.Collections$EmptySet", "EMPTY_LIST"},
        {"java.util.Collections$EmptyMap", "EMPTY_MAP"},
        {"java.util.ArrayDeque", "DEQUE", "elements", "head", "tail"},
        {"java.util.LinkedList", "LINKED", "first", "size"},
        {"java.util.HashMap", "HASH_MAP", "table", "size"},
        {"java.util.LinkedHashMap", "LINKED_MAP", "head", "size"},
        {"java.util.concurrent.ConcurrentHashMap", "CONCURRENT_MAP", "table", "baseCount", "counterCells"},
        {"java.util.TreeMap", "TREE_MAP", "root", "size"},
        {"java.util.HashSet", "MAP_KEYS", "map"},
        {"java.util.LinkedHashSet", "MAP_KEYS", "map"},
        {"java.util.TreeSet", "MAP_KEYS", "m"},
        {"java.util.concurrent.ConcurrentHashMap$KeySetView", "MAP_KEYS", "map"},
    };

    /** The form and the fields of a class in the table. */
    static final class Shape {
        final Form form;
        final String[] fields;

        Shape(Form form, String[] fields) {
            this.form = form;
            this.fields = fields;
        }

        boolean isMap() {
            return form == Form.ENTRY
                    || form == Form.EMPTY_MAP
                    || form == Form.SPARSE_MAP
                    || form == Form.HASH_MAP
                    || form == Form.CONCURRENT_MAP
                    || form == Form.LINKED_MAP
                    || form == Form.TREE_MAP;
        }
    }

    private Containers() {}

    /** @return null unless the class is in the table and was loaded by the boot loader */
    static Shape shape(Class<?> type) {
        if (type.getClassLoader() != null) {
            return null;
        }
        String name = type.getName();
        for (String[] row : TABLE) {
            if (Strings.equal(row[0], name)) {
                return new Shape(Form.valueOf(row[1]), Arrays.copyOfRange(row, 2, row.length));
            }
        }
        return null;
    }

    /**
     * The number of elements or pairs; −1 if the class is unknown, or if its fields differ from the expected fields.
     */
    static int size(Object o) {
        Layout layout = Layouts.of(o);
        if (layout.shape == null) {
            return -1;
        }
        switch (layout.shape.form) {
            case EMPTY_LIST:
            case EMPTY_MAP:
                return 0;
            case ENTRY:
                return 1;
            case ARRAY:
            case SPARSE_SET:
            case SPARSE_MAP:
            case LINKED:
            case HASH_MAP:
            case LINKED_MAP:
            case TREE_MAP:
                if (layout.shape.fields.length > 1) {
                    return clamp(integer(layout, o, 1));
                }
                Object array = reference(layout, o, 0);
                return array instanceof Object[] ? ((Object[]) array).length : -1;
            case DEQUE: {
                Object elements = reference(layout, o, 0);
                if (!(elements instanceof Object[])) {
                    return -1;
                }
                long count = integer(layout, o, 2) - integer(layout, o, 1);
                return clamp(count < 0 ? count + ((Object[]) elements).length : count);
            }
            case FIELDS: {
                int count = 0;
                for (int i = 0; i < layout.shape.fields.length; i++) {
                    count += isElement(reference(layout, o, i), layout) ? 1 : 0;
                }
                return count;
            }
            case CONCURRENT_MAP: {
                long count = integer(layout, o, 1);
                for (Object cell : array(reference(layout, o, 2))) {
                    count += cell == null ? 0 : integer(Layouts.of(cell), cell, "value");
                }
                return clamp(count);
            }
            default: { // MAP_KEYS
                Object map = reference(layout, o, 0);
                return map == null ? -1 : size(map);
            }
        }
    }

    /** Returns element {@code index} of a list; {@link #ABSENT} if it is out of range or the object is not a known list. */
    static Object element(Object o, long index) {
        Layout layout = Layouts.of(o);
        Containers.Shape shape = layout.shape;
        if (shape == null || index < 0) {
            return ABSENT;
        }
        if (shape.form == Form.ARRAY) {
            Object[] array = array(reference(layout, o, 0));
            return index < size(o) && index < array.length ? array[(int) index] : ABSENT;
        }
        if (shape.form == Form.LINKED || shape.form == Form.FIELDS || shape.form == Form.DEQUE) {
            if (index >= MAX_BUCKETS) {
                return ABSENT;
            }
            Object[] elements = new Object[(int) index + 1];
            return elements(o, elements) > index ? elements[(int) index] : ABSENT;
        }
        return ABSENT;
    }

    static final Object ABSENT = new Object();

    /**
     * Fills {@code into} with elements in the collection's order, or with alternating keys and values of a map.
     * @return the number of filled places
     */
    static int elements(Object o, Object[] into) {
        Layout layout = Layouts.of(o);
        if (layout.shape == null) {
            return 0;
        }
        switch (layout.shape.form) {
            case ARRAY: {
                Object[] source = array(reference(layout, o, 0));
                int size = size(o);
                int count = 0;
                while (count < size && count < source.length && count < into.length) {
                    into[count] = source[count];
                    count++;
                }
                return count;
            }
            case DEQUE: {
                Object[] source = array(reference(layout, o, 0));
                int size = source.length == 0 ? 0 : size(o);
                long head = integer(layout, o, 1);
                int count = 0;
                while (count < size && count < into.length) {
                    into[count] = source[(int) ((head + count & 0x7FFFFFFF) % source.length)];
                    count++;
                }
                return count;
            }
            case SPARSE_SET: {
                int count = 0;
                for (Object element : array(reference(layout, o, 0))) {
                    if (element != null && count < into.length) {
                        into[count++] = element;
                    }
                }
                return count;
            }
            case SPARSE_MAP: {
                Object[] source = array(reference(layout, o, 0));
                int count = 0;
                for (int i = 0; i + 1 < source.length && count + 1 < into.length; i += 2) {
                    if (source[i] != null) {
                        into[count++] = source[i];
                        into[count++] = source[i + 1];
                    }
                }
                return count;
            }
            case FIELDS: {
                int count = 0;
                for (int i = 0; i < layout.shape.fields.length && count < into.length; i++) {
                    Object element = reference(layout, o, i);
                    if (isElement(element, layout)) {
                        into[count++] = element;
                    }
                }
                return count;
            }
            case ENTRY:
                return pair(reference(layout, o, 0), reference(layout, o, 1), into, 0);
            case LINKED:
                return chain(reference(layout, o, 0), "item", null, "next", into, 0, into.length);
            case LINKED_MAP:
                return chain(reference(layout, o, 0), "key", "value", "after", into, 0, into.length);
            case HASH_MAP:
                return buckets(reference(layout, o, 0), "value", into);
            case CONCURRENT_MAP:
                return buckets(reference(layout, o, 0), "val", into);
            case TREE_MAP:
                return tree(reference(layout, o, 0), into);
            case MAP_KEYS: {
                Object map = reference(layout, o, 0);
                if (map == null || Layouts.of(map).shape == null || !Layouts.of(map).shape.isMap()) {
                    return 0;
                }
                Object[] pairs = new Object[2 * into.length];
                int pairCount = elements(map, pairs) / 2;
                for (int i = 0; i < pairCount; i++) {
                    into[i] = pairs[2 * i];
                }
                return pairCount;
            }
            default:
                return 0;
        }
    }

    private static int buckets(Object table, String value, Object[] into) {
        int count = 0;
        Object[] nodes = array(table);
        for (int i = 0; i < nodes.length && i < MAX_BUCKETS && count < into.length; i++) {
            Object node = nodes[i];
            if (node != null && Layouts.of(node).find("key") >= 0) {
                if (Layouts.of(node).find("first") >= 0) { // a tree bin of ConcurrentHashMap
                    node = Layouts.reference(node, "first");
                }
                count = chain(node, "key", value, "next", into, count, MAX_CHAIN);
            }
        }
        return count;
    }

    private static int chain(Object node, String key, String value, String next, Object[] into, int count, int most) {
        for (int i = 0; node != null && i < most && count < into.length; i++) {
            Object itsKey = Layouts.reference(node, key);
            if (value == null) {
                into[count++] = itsKey;
            } else {
                Object itsValue = Layouts.reference(node, value);
                // ConcurrentHashMap marks moved and reserved buckets with nodes that have neither key nor value.
                if (itsKey != null || itsValue != null || !Strings.equal(value, "val")) {
                    count = pair(itsKey, itsValue, into, count);
                }
            }
            node = Layouts.reference(node, next);
        }
        return count;
    }

    /**
     * Visits a tree in order, with the path in an array, so that a concurrent change cannot cause recursion or an
     * endless loop.
     */
    private static int tree(Object root, Object[] into) {
        Object[] path = new Object[64];
        int depth = 0;
        int count = 0;
        Object node = root;
        for (int steps = 0; steps < MAX_CHAIN + 4 * into.length && count < into.length; steps++) {
            if (node != null && depth < path.length) {
                path[depth++] = node;
                node = Layouts.reference(node, "left");
            } else if (depth == 0) {
                break;
            } else {
                Object entry = path[--depth];
                count = pair(Layouts.reference(entry, "key"), Layouts.reference(entry, "value"), into, count);
                node = Layouts.reference(entry, "right");
            }
        }
        return count;
    }

    private static int pair(Object key, Object value, Object[] into, int count) {
        if (count + 1 >= into.length) {
            return into.length;
        }
        into[count] = key;
        into[count + 1] = value;
        return count + 2;
    }

    /**
     * Whether the object is an element: {@code ImmutableCollections} fills the second place of a one-element list with
     * a marker, null or a plain object.
     */
    private static boolean isElement(Object element, Layout layout) {
        return layout.shape.fields.length == 1 || element != null && element.getClass() != Object.class;
    }

    private static int clamp(long size) {
        return size < 0 ? 0 : size > Integer.MAX_VALUE ? Integer.MAX_VALUE : (int) size;
    }

    /** Returns the object if it is an array of references, otherwise an empty array. */
    private static Object[] array(Object o) {
        return o instanceof Object[] ? (Object[]) o : NO_ELEMENTS;
    }

    private static Object reference(Layout layout, Object o, int field) {
        return field < layout.shape.fields.length ? layout.reference(o, layout.shape.fields[field]) : null;
    }

    private static long integer(Layout layout, Object o, int field) {
        return integer(layout, o, layout.shape.fields[field]);
    }

    private static long integer(Layout layout, Object o, String field) {
        int fieldIndex = layout.find(field);
        if (fieldIndex < 0) {
            return 0;
        }
        return layout.types[fieldIndex] == 'I'
                ? MEMORY.getInt(o, layout.offsets[fieldIndex])
                : layout.types[fieldIndex] == 'J' ? MEMORY.getLong(o, layout.offsets[fieldIndex]) : 0;
    }
}
