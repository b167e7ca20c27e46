package btpy.runtime;

/** The layouts of classes seen so far, for all sessions, in a bounded table that forgets layouts when it is full. */
final class Layouts {
    private static final int SIZE = 4096;
    private static final int WINDOW = 8;
    private static final Layout[] NONE = {};
    private static volatile Layout[] table = NONE;

    private Layouts() {}

    static Layout of(Object o) {
        return of(o.getClass());
    }

    static Layout of(Class<?> type) {
        int hash = System.identityHashCode(type);
        Layout[] layouts = table;
        int free = -1;
        if (layouts.length != 0) {
            for (int i = 0; i < WINDOW; i++) {
                Layout layout = layouts[hash + i & SIZE - 1];
                if (layout == null) {
                    free = hash + i & SIZE - 1;
                    break;
                }
                if (layout.hash == hash && layout.get() == type) {
                    return layout;
                }
            }
        } else {
            table = layouts = new Layout[SIZE];
        }
        Layout newLayout = Layout.of(type, hash);
        // Two threads may both write here; then one layout is lost and created again. A full window loses its first
        // layout.
        layouts[free < 0 ? hash & SIZE - 1 : free] = newLayout;
        return newLayout;
    }

    /** Returns the value of a field that holds a reference; null if there is no such field. */
    static Object reference(Object target, String name) {
        return of(target).reference(target, name);
    }

    /** Returns the value of a field that holds a whole number; null if there is no such field. */
    static Long number(Object target, String name) {
        Layout layout = of(target);
        int field = layout.find(name);
        Object value = field < 0 ? null : layout.read(target, field);
        return value instanceof Long ? (Long) value : null;
    }

    /** Called at the end of the last session, when memory may be short. */
    static void clear() {
        table = NONE;
    }
}
