package btpy.runtime;

/**
 * Operations on values whose type is only known when a probe fires: Long, Double, Boolean, Character, strings and
 * references, and the boxes of other primitives that an application passes. A null operand throws {@link
 * ProbeError#NULL_OPERAND} and a value of the wrong type {@link ProbeError#BAD_CAST}, unless stated otherwise. No
 * method of an application's object is called.
 */
public final class Dynamic {
    private static final Memory MEMORY = Memory.instance();
    private static final long MESSAGE = MEMORY.fieldOffset(Throwable.class, "detailMessage");
    private static final long CAUSE = MEMORY.fieldOffset(Throwable.class, "cause");
    /** The largest number of superclasses and interfaces that {@link #instanceOf} examines. */
    private static final int MAX_TYPES = 1000;

    private Dynamic() {}

    public static Object add(Object a, Object b) {
        return apply('+', a, b);
    }

    public static Object subtract(Object a, Object b) {
        return apply('-', a, b);
    }

    public static Object multiply(Object a, Object b) {
        return apply('*', a, b);
    }

    public static Object divide(Object a, Object b) {
        return apply('/', a, b);
    }

    public static Object remainder(Object a, Object b) {
        return apply('%', a, b);
    }

    public static Object and(Object a, Object b) {
        return apply('&', a, b);
    }

    public static Object or(Object a, Object b) {
        return apply('|', a, b);
    }

    public static Object xor(Object a, Object b) {
        return apply('^', a, b);
    }

    /**
     * Java's arithmetic. Two integral operands give Long, and a Double operand gives Double. {@code & | ^} also accept
     * two booleans.
     */
    static Object apply(char operator, Object a, Object b) {
        require(a);
        require(b);
        if (operator == '+' && (a instanceof String || b instanceof String)) {
            return concat(text(a), text(b));
        }
        if (a instanceof Boolean && b instanceof Boolean) {
            boolean x = ((Boolean) a).booleanValue();
            boolean y = ((Boolean) b).booleanValue();
            switch (operator) {
                case '&':
                    return Boolean.valueOf(x & y);
                case '|':
                    return Boolean.valueOf(x | y);
                case '^':
                    return Boolean.valueOf(x ^ y);
                default:
                    throw ProbeError.BAD_CAST;
            }
        }
        if (isDouble(a) || isDouble(b)) {
            double x = toDouble(a);
            double y = toDouble(b);
            switch (operator) {
                case '+':
                    return Double.valueOf(x + y);
                case '-':
                    return Double.valueOf(x - y);
                case '*':
                    return Double.valueOf(x * y);
                case '/':
                    return Double.valueOf(x / y);
                case '%':
                    return Double.valueOf(x % y);
                default:
                    throw ProbeError.BAD_CAST;
            }
        }
        long x = toLong(a);
        long y = toLong(b);
        switch (operator) {
            case '+':
                return Long.valueOf(x + y);
            case '-':
                return Long.valueOf(x - y);
            case '*':
                return Long.valueOf(x * y);
            case '/':
                return Long.valueOf(x / divisor(y));
            case '%':
                return Long.valueOf(x % divisor(y));
            case '&':
                return Long.valueOf(x & y);
            case '|':
                return Long.valueOf(x | y);
            default:
                return Long.valueOf(x ^ y);
        }
    }

    private static long divisor(long y) {
        if (y == 0) {
            throw ProbeError.DIV_ZERO;
        }
        return y;
    }

    public static Object shiftLeft(Object a, int by) {
        return Long.valueOf(integral(a) << by);
    }

    public static Object shiftRight(Object a, int by) {
        return Long.valueOf(integral(a) >> by);
    }

    public static Object shiftRightUnsigned(Object a, int by) {
        return Long.valueOf(integral(a) >>> by);
    }

    public static Object negate(Object a) {
        return isDouble(require(a)) ? (Object) Double.valueOf(-toDouble(a)) : (Object) Long.valueOf(-toLong(a));
    }

    /** Applies {@code !} to a boolean, or {@code ~} to an integer. */
    public static Object not(Object a) {
        return require(a) instanceof Boolean
                ? (Object) Boolean.valueOf(!((Boolean) a).booleanValue())
                : (Object) Long.valueOf(~integral(a));
    }

    private static Object require(Object o) {
        if (o == null) {
            throw ProbeError.NULL_OPERAND;
        }
        return o;
    }

    private static boolean isDouble(Object o) {
        return o instanceof Double || o instanceof Float;
    }

    private static boolean isIntegral(Object o) {
        return o instanceof Long || o instanceof Integer || o instanceof Short || o instanceof Byte || o instanceof Character;
    }

    private static long integral(Object o) {
        if (!isIntegral(require(o))) {
            throw ProbeError.BAD_CAST;
        }
        return toLong(o);
    }

    public static int toInt(Object o) {
        return (int) toLong(o);
    }

    /** A Double loses its fraction, as in a cast. */
    public static long toLong(Object o) {
        require(o);
        if (o instanceof Character) {
            return ((Character) o).charValue();
        }
        if (isIntegral(o)) {
            return ((Number) o).longValue();
        }
        if (isDouble(o)) {
            return (long) ((Number) o).doubleValue();
        }
        throw ProbeError.BAD_CAST;
    }

    public static double toDouble(Object o) {
        return isDouble(require(o)) ? ((Number) o).doubleValue() : (double) toLong(o);
    }

    public static boolean truth(Object o) {
        if (!(require(o) instanceof Boolean)) {
            throw ProbeError.BAD_CAST;
        }
        return ((Boolean) o).booleanValue();
    }

    /** Called when the firing has run the maximal number of statements. */
    public static void exhausted() {
        throw ProbeError.BUDGET;
    }

    /**
     * Returns a number less than, equal to or greater than 0, as for a {@code Comparator}. The result is 1 if an
     * operand is a NaN, so that {@code <} and {@code <=} are false.
     */
    public static int compare(Object a, Object b) {
        require(a);
        require(b);
        if (a instanceof String && b instanceof String) {
            return Strings.compare((String) a, (String) b);
        }
        if (isDouble(a) || isDouble(b)) {
            double x = toDouble(a);
            double y = toDouble(b);
            return x < y ? -1 : x == y ? 0 : 1;
        }
        long x = toLong(a);
        long y = toLong(b);
        return x < y ? -1 : x > y ? 1 : 0;
    }

    /**
     * Null-safe comparison: strings and boxes by value, an enum constant with a string by its name, other objects by
     * identity.
     */
    public static boolean equal(Object a, Object b) {
        if (isDouble(a) && isNumber(b) || isNumber(a) && isDouble(b)) {
            return toDouble(a) == toDouble(b); // a NaN differs from itself
        }
        if (a == b) {
            return true;
        }
        if (a == null || b == null) {
            return false;
        }
        if (a instanceof String) {
            return b instanceof String
                    ? Strings.equal((String) a, (String) b)
                    : b instanceof Enum && Strings.equal((String) a, Values.enumName(b));
        }
        if (b instanceof String) {
            return a instanceof Enum && Strings.equal(Values.enumName(a), (String) b);
        }
        if (isIntegral(a) && isIntegral(b)) {
            return toLong(a) == toLong(b);
        }
        return a instanceof Boolean && b instanceof Boolean
                && ((Boolean) a).booleanValue() == ((Boolean) b).booleanValue();
    }

    private static boolean isNumber(Object o) {
        return isDouble(o) || isIntegral(o);
    }

    /**
     * Returns strings, boxes, enum constants and classes as text, and other objects as {@code Type@hash}. Returns
     * "null" for null.
     */
    public static String text(Object o) {
        if (o == null) {
            return "null";
        }
        if (o instanceof String) {
            return (String) o;
        }
        if (o instanceof Enum) {
            return Values.enumName(o);
        }
        if (o instanceof Class) {
            return ((Class<?>) o).getName();
        }
        if (isNumber(o) || o instanceof Boolean) {
            return o.toString();
        }
        return o.getClass().getName().concat("@").concat(Integer.toHexString(System.identityHashCode(o)));
    }

    public static String concat(String a, String b) {
        return (a == null ? "null" : a).concat(b == null ? "null" : b);
    }

    public static Object contains(String s, String part) {
        return s == null || part == null ? null : Boolean.valueOf(Texts.indexOf(s, part) >= 0);
    }

    public static Object startsWith(String s, String prefix) {
        return s == null || prefix == null ? null : Boolean.valueOf(matchesAt(s, 0, prefix));
    }

    public static Object endsWith(String s, String suffix) {
        return s == null || suffix == null
                ? null
                : Boolean.valueOf(matchesAt(s, Strings.length(s) - Strings.length(suffix), suffix));
    }

    /** Returns the first position of the part as a Long; null if there is none, or if an argument is null. */
    public static Object indexOf(String s, String part) {
        if (s == null || part == null) {
            return null;
        }
        int at = Texts.indexOf(s, part);
        return at < 0 ? null : Long.valueOf(at);
    }

    private static boolean matchesAt(String s, int at, String part) {
        int length = Strings.length(part);
        return at >= 0 && length <= Strings.length(s) - at && Strings.regionMatches(s, at, part, 0, length);
    }

    /** Returns the characters from {@code from} to before {@code to}, both clamped to the string. Returns null for null. */
    public static String substring(String s, int from, int to) {
        if (s == null) {
            return null;
        }
        int length = Strings.length(s);
        int end = to < 0 ? 0 : to > length ? length : to;
        int start = from < 0 ? 0 : from > end ? end : from;
        return s.substring(start, end);
    }

    public static String lower(String s) {
        return s == null ? null : Texts.bounded(s).toLowerCase(java.util.Locale.ROOT);
    }

    public static String upper(String s) {
        return s == null ? null : Texts.bounded(s).toUpperCase(java.util.Locale.ROOT);
    }

    public static String trim(String s) {
        return s == null ? null : Texts.bounded(s).trim();
    }

    public static String typeName(Object o) {
        return o == null ? null : o.getClass().getName();
    }

    public static int identity(Object o) {
        return System.identityHashCode(o);
    }

    /** The length of a string, an array or a known collection; null for other objects. */
    public static Object length(Object o) {
        if (o == null) {
            return null;
        }
        if (o instanceof String) {
            return Long.valueOf(Strings.length((String) o));
        }
        if (o.getClass().isArray()) {
            return Long.valueOf(Values.length(o));
        }
        int size = Containers.size(o);
        return size < 0 ? null : Long.valueOf(size);
    }

    /** The bytes of the object without the objects that it refers to. Returns null for null. */
    public static Object shallowSize(Object o) {
        if (o == null) {
            return null;
        }
        long bytes = o.getClass().isArray() ? Values.bytes(o) : Layouts.of(o).end();
        return Long.valueOf((bytes + 7) & -8L); // objects are aligned to 8 unless -XX:ObjectAlignmentInBytes changes that
    }

    /**
     * Reads the message from the field, because {@code getMessage} may be a method of the application. Returns null for
     * null.
     */
    public static String message(Object throwable) {
        if (throwable == null) {
            return null;
        }
        return (String) MEMORY.getReference(exception(throwable), MESSAGE);
    }

    public static Object cause(Object throwable) {
        if (throwable == null) {
            return null;
        }
        Object cause = MEMORY.getReference(exception(throwable), CAUSE);
        return cause == throwable ? null : cause;
    }

    private static Throwable exception(Object o) {
        if (!(o instanceof Throwable)) {
            throw ProbeError.BAD_CAST;
        }
        return (Throwable) o;
    }

    public static String enumName(Object o) {
        if (o == null) {
            return null;
        }
        if (!(o instanceof Enum)) {
            throw ProbeError.BAD_CAST;
        }
        return Values.enumName(o);
    }

    /**
     * Whether the name of the object's class, a superclass or an interface matches the pattern: a binary name, a name
     * without package (any package), or a glob ({@code *} within a segment, {@code **} across segments, {@code ?} one
     * character). A leading {@code +} has no further meaning. Null is an instance of nothing.
     */
    public static boolean instanceOf(Object o, String pattern) {
        return o != null && pattern != null && TypeAnswers.is(o.getClass(), pattern);
    }

    /** Like {@link #instanceOf}, for an object of this class, and without the stored answers of {@link TypeAnswers}. */
    static boolean isSubtype(Class<?> type, String pattern) {
        String name = pattern.startsWith("+") ? pattern.substring(1) : pattern;
        return fits(type, name, new int[] {MAX_TYPES});
    }

    private static boolean fits(Class<?> type, String pattern, int[] remainingTypes) {
        for (Class<?> c = type; c != null; c = c.getSuperclass()) {
            if (remainingTypes[0]-- <= 0) {
                return false;
            }
            if (glob(c.getName(), pattern)) {
                return true;
            }
            for (Class<?> face : c.getInterfaces()) {
                if (fits(face, pattern, remainingTypes)) {
                    return true;
                }
            }
        }
        return false;
    }

    private static boolean glob(String name, String pattern) {
        if (pattern.indexOf('*') < 0 && pattern.indexOf('?') < 0) {
            return hasName(name, pattern)
                    || pattern.indexOf('.') < 0
                            && Strings.length(name) > Strings.length(pattern)
                            && matchesAt(name, Strings.length(name) - Strings.length(pattern), pattern)
                            && Strings.charAt(name, Strings.length(name) - Strings.length(pattern) - 1) == '.';
        }
        return glob(name, 0, pattern, 0);
    }

    /**
     * Returns the value if it is an instance of the named type. Otherwise returns null, and counts an error at the
     * position.
     */
    public static Object cast(Session session, Object value, String type, int probe, int at) {
        if (value == null || hasName(value.getClass().getName(), type) || instanceOf(value, type)) {
            return value;
        }
        session.errors.count(probe, at, ProbeError.KIND_BAD_CAST, null);
        return null;
    }

    /** Whether a class has the binary name. A dot may replace the {@code $} of a member class. */
    static boolean hasName(String name, String spelling) {
        int length = Strings.length(spelling);
        if (Strings.length(name) != length) {
            return false;
        }
        for (int i = 0; i < length; i++) {
            char c = Strings.charAt(spelling, i);
            if (c != Strings.charAt(name, i) && !(c == '.' && Strings.charAt(name, i) == '$')) {
                return false;
            }
        }
        return true;
    }

    /** Stores only the last star of each kind, because backtracking past a later star is never needed. */
    private static boolean glob(String name, int n, String pattern, int p) {
        int nameEnd = Strings.length(name);
        int patternEnd = Strings.length(pattern);
        int starP = -1;
        int starN = 0;
        int deepP = -1;
        int deepN = 0;
        while (n < nameEnd || p < patternEnd) {
            if (p < patternEnd) {
                char c = Strings.charAt(pattern, p);
                if (c == '*') {
                    if (p + 1 < patternEnd && Strings.charAt(pattern, p + 1) == '*') {
                        p += 2;
                        deepP = p;
                        deepN = n;
                        starP = -1;
                    } else {
                        p++;
                        starP = p;
                        starN = n;
                    }
                    continue;
                }
                if (n < nameEnd && (c == '?' ? Strings.charAt(name, n) != '.' : c == Strings.charAt(name, n))) {
                    n++;
                    p++;
                    continue;
                }
            }
            if (starP >= 0 && starN < nameEnd && Strings.charAt(name, starN) != '.') {
                n = ++starN;
                p = starP;
            } else if (deepP >= 0 && deepN < nameEnd) {
                n = ++deepN;
                p = deepP;
                starP = -1;
            } else {
                return false;
            }
        }
        return true;
    }
}
