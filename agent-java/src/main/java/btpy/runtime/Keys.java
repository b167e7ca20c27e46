package btpy.runtime;

/**
 * Converts keys and plain values to the form in which a map stores them, which is never an object of the application.
 *
 * <p>Long, Double, Boolean, Character, {@link Stack} and short strings are stored unchanged. Other numbers become Long
 * or Double, enum constants and classes become their names, long strings {@link Cut}, all other objects {@link
 * Identity}. {@link #same} compares a stored value with an unconverted one, so that finding a key allocates nothing.
 *
 * <p>Most keys are <i>plain</i>: null, strings and Long. The methods for these call nothing that can be traced.
 */
final class Keys {
    private static final Memory MEMORY = Memory.instance();
    private static final long LONG_VALUE = MEMORY.fieldOffset(Long.class, "value");

    private Keys() {}

    /** The beginning of a string that is longer than the limit. Two strings with the same beginning are one key. */
    static final class Cut {
        final String head;
        /** The number of characters of the first such string. */
        final int length;

        Cut(String head, int length) {
            this.head = head;
            this.length = length;
        }
    }

    /** An object whose content is not read. */
    static final class Identity {
        final String className;
        final int hash;

        Identity(String className, int hash) {
            this.className = className;
            this.hash = hash;
        }
    }

    static Object store(Object o, int limit) {
        if (o == null || o instanceof Long || o instanceof Double || o instanceof Boolean || o instanceof Character
                || o instanceof Stack) {
            return o;
        }
        if (o instanceof String) {
            return text((String) o, limit);
        }
        if (o instanceof Integer || o instanceof Short || o instanceof Byte) {
            return Long.valueOf(((Number) o).longValue());
        }
        if (o instanceof Float) {
            return Double.valueOf(((Float) o).doubleValue());
        }
        if (o instanceof Enum) {
            return text(Values.enumName(o), limit);
        }
        if (o instanceof Class) {
            return text(((Class<?>) o).getName(), limit);
        }
        if (o instanceof Cut || o instanceof Identity) {
            return o;
        }
        return new Identity(o.getClass().getName(), System.identityHashCode(o));
    }

    private static Object text(String s, int limit) {
        int count = Strings.cut(s, limit);
        int length = Strings.length(s);
        return count == length ? s : new Cut(s.substring(0, count), length);
    }

    static boolean isPlain(Object o) {
        return o instanceof String || o == null || o instanceof Long;
    }

    /** The {@link #hash} of a plain value. */
    static int plainHash(Object o, int limit) {
        return o instanceof String
                ? Strings.hash((String) o, Strings.cut((String) o, limit))
                : o == null ? 0 : mix(MEMORY.getLong(o, LONG_VALUE));
    }

    /**
     * Whether the stored value equals the plain value {@code o}. A false result is inconclusive if {@code o} is too
     * long for a key.
     */
    static boolean plainSame(Object stored, Object o) {
        if (stored == o) {
            return true;
        }
        if (o instanceof String) {
            return stored instanceof String && Strings.equal((String) stored, (String) o);
        }
        return o != null && stored instanceof Long
                && MEMORY.getLong(stored, LONG_VALUE) == MEMORY.getLong(o, LONG_VALUE);
    }

    static int hash(Object o, int limit) {
        if (isPlain(o)) {
            return plainHash(o, limit);
        }
        if (o instanceof Integer || o instanceof Short || o instanceof Byte) {
            return mix(((Number) o).longValue());
        }
        if (o instanceof Double || o instanceof Float) {
            return mix(bits(((Number) o).doubleValue()));
        }
        if (o instanceof Boolean) {
            return ((Boolean) o).booleanValue() ? 1231 : 1237;
        }
        if (o instanceof Character) {
            return mix(((Character) o).charValue());
        }
        if (o instanceof Enum) {
            return hash(Values.enumName(o), limit);
        }
        if (o instanceof Class) {
            return hash(((Class<?>) o).getName(), limit);
        }
        return mix(System.identityHashCode(o));
    }

    /** A hash with 64 bits: equal values have equal hashes, and different values nearly always have different ones. */
    static long hash64(Object o, int limit) {
        String text = o instanceof String ? (String) o
                : o instanceof Enum ? Values.enumName(o)
                : o instanceof Class ? ((Class<?>) o).getName()
                : null;
        if (text == null) {
            return mix64(o instanceof Long || o instanceof Integer || o instanceof Short || o instanceof Byte
                    ? ((Number) o).longValue()
                    : o instanceof Double || o instanceof Float
                            ? bits(((Number) o).doubleValue()) ^ 0xD0
                            : hash(o, limit) * 0x9E3779B97F4A7C15L);
        }
        long hash = 0xCBF29CE484222325L;
        int count = Strings.cut(text, limit);
        for (int i = 0; i < count; i++) {
            hash = (hash ^ Strings.charAt(text, i)) * 0x9E3779B97F4A7C15L;
            hash ^= hash >>> 29;
        }
        return mix64(hash);
    }

    /** Spreads every bit over all other bits (the finalizer of MurmurHash3). */
    static long mix64(long v) {
        v += 0x9E3779B97F4A7C15L; // otherwise 0 would remain 0
        v = (v ^ v >>> 33) * 0xFF51AFD7ED558CCDL;
        v = (v ^ v >>> 33) * 0xC4CEB9FE1A85EC53L;
        return v ^ v >>> 33;
    }

    /** The approximate memory of a stored value. */
    static int bytes(Object stored) {
        return stored instanceof String ? 56 + 2 * Strings.length((String) stored)
                : stored instanceof Cut ? 80 + 2 * Strings.length(((Cut) stored).head)
                : stored == null ? 0 : 24;
    }

    private static int mix(long v) {
        v *= 0x9E3779B97F4A7C15L;
        return (int) (v ^ v >>> 32);
    }

    /** Uses one bit pattern for all NaN. */
    private static long bits(double d) {
        return d != d ? 0x7FF8000000000000L : Double.doubleToRawLongBits(d);
    }

    static boolean same(Object stored, Object o, int limit) {
        if (stored == o) {
            return true;
        }
        if (stored == null || o == null) {
            return false;
        }
        if (o instanceof String) {
            int count = Strings.cut((String) o, limit);
            return count == Strings.length((String) o)
                    ? stored instanceof String && Strings.equal((String) stored, (String) o)
                    : stored instanceof Cut
                            && Strings.length(((Cut) stored).head) == count
                            && Strings.regionMatches(((Cut) stored).head, 0, (String) o, 0, count);
        }
        if (o instanceof Long || o instanceof Integer || o instanceof Short || o instanceof Byte) {
            return stored instanceof Long && ((Long) stored).longValue() == ((Number) o).longValue();
        }
        if (o instanceof Double || o instanceof Float) {
            return stored instanceof Double
                    && bits(((Double) stored).doubleValue()) == bits(((Number) o).doubleValue());
        }
        if (o instanceof Boolean) {
            return stored instanceof Boolean && ((Boolean) stored).booleanValue() == ((Boolean) o).booleanValue();
        }
        if (o instanceof Character) {
            return stored instanceof Character && ((Character) stored).charValue() == ((Character) o).charValue();
        }
        if (o instanceof Enum) {
            return same(stored, Values.enumName(o), limit);
        }
        if (o instanceof Class) {
            return same(stored, ((Class<?>) o).getName(), limit);
        }
        return stored instanceof Identity
                && !(o instanceof Stack)
                && ((Identity) stored).hash == System.identityHashCode(o)
                && Strings.equal(((Identity) stored).className, o.getClass().getName());
    }

    /** Compares two stored values. */
    static boolean same(Object a, Object b) {
        if (a instanceof Cut) {
            return b instanceof Cut && Strings.equal(((Cut) a).head, ((Cut) b).head);
        }
        if (a instanceof Identity) {
            return b instanceof Identity
                    && ((Identity) a).hash == ((Identity) b).hash
                    && Strings.equal(((Identity) a).className, ((Identity) b).className);
        }
        return !(b instanceof Cut) && !(b instanceof Identity) && same(a, b, Integer.MAX_VALUE);
    }

    /** Returns the value as a script sees it. */
    static Object shown(Object stored) {
        if (stored instanceof Cut) {
            return ((Cut) stored).head;
        }
        return stored instanceof Identity
                ? ((Identity) stored).className + "@" + Integer.toHexString(((Identity) stored).hash)
                : stored;
    }

    /** Writes the value as a `value` of docs/runtime.md. */
    static void write(Object stored, Session session, Output out) {
        if (stored == null) {
            out.u1(Values.NULL);
        } else if (stored == Texts.REDACTED) {
            out.u1(Values.REDACTED);
        } else if (stored instanceof String) {
            out.stringValue((String) stored);
        } else if (stored instanceof Cut) {
            out.u1(Values.CUT);
            out.littleEndian(((Cut) stored).length, 4);
            out.stringValue(((Cut) stored).head);
        } else if (stored instanceof Long) {
            out.u1(Values.LONG);
            out.littleEndian(((Long) stored).longValue(), 8);
        } else if (stored instanceof Double) {
            out.u1(Values.DOUBLE);
            out.littleEndian(Double.doubleToRawLongBits(((Double) stored).doubleValue()), 8);
        } else if (stored instanceof Boolean) {
            out.u1(((Boolean) stored).booleanValue() ? Values.TRUE : Values.FALSE);
        } else if (stored instanceof Character) {
            out.u1(Values.CHAR);
            out.littleEndian(((Character) stored).charValue(), 2);
        } else if (stored instanceof Stack) {
            session.stacks.use((Stack) stored);
            out.u1(Values.STACK);
            out.littleEndian(((Stack) stored).id, 4);
        } else {
            out.u1(Values.UNOPENED);
            out.stringValue(((Identity) stored).className);
            out.littleEndian(((Identity) stored).hash, 4);
            out.u1(Values.WHY_DEPTH);
        }
    }
}
