package btpy.runtime;

import java.lang.ref.WeakReference;

/**
 * A field of classes of a library. Its name is found by the name of the class, which depends on the version of the
 * library. The offsets in the last two classes are cached, because recorded and unrecorded spans have different
 * classes.
 */
final class KnownField {
    private static final Memory MEMORY = Memory.instance();

    /** The result of {@link #read} for an object of an unlisted class, or of a class without the fields. */
    static final Object UNKNOWN = new Object();

    /** Pairs: the end of the name of a class, then the name of a field. */
    private final String[] rows;

    private Seen first;
    private Seen second;

    /** Immutable, so that threads may exchange it without synchronisation. */
    private static final class Seen extends WeakReference<Class<?>> {
        final long offset;

        Seen(Class<?> type, long offset) {
            super(type);
            this.offset = offset;
        }
    }

    /**
     * @param rows pairs of the end of a class name (the whole name, or the part after a dot) and a field that the class
     * may have
     */
    KnownField(String... rows) {
        this.rows = rows;
    }

    /** Returns the reference in the field; {@link #UNKNOWN} if the class is not known. */
    Object read(Object target) {
        Class<?> type = target.getClass();
        Seen seen = first;
        if (seen == null || seen.get() != type) {
            seen = second;
            if (seen == null || seen.get() != type) {
                seen = new Seen(type, find(type));
                second = first;
                first = seen;
            }
        }
        return seen.offset < 0 ? UNKNOWN : MEMORY.getReference(target, seen.offset);
    }

    private long find(Class<?> type) {
        String name = ClassNames.of(type);
        Layout layout = Layouts.of(type);
        for (int i = 0; i < rows.length; i += 2) {
            int field = isOrEndsIn(name, rows[i]) ? layout.find(rows[i + 1], 'L') : -1;
            if (field >= 0) {
                return layout.offsets[field];
            }
        }
        return -1;
    }

    /** Whether the name is {@code end}, or ends with a dot and {@code end}: shaded copies have a prefix. */
    static boolean isOrEndsIn(String name, String end) {
        int from = Strings.length(name) - Strings.length(end);
        return from >= 0
                && (from == 0 || Strings.charAt(name, from - 1) == '.')
                && Strings.regionMatches(name, from, end, 0, Strings.length(end));
    }
}
