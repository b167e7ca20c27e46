package btpy.runtime;

/**
 * Computes the results of methods of the JDK and of Tomcat from the fields of the object. The methods themselves would
 * run code of the application, wait, write, or take unbounded time.
 *
 * <p>No method of the object is called. {@link Texts#MAX_LENGTH} limits the number of characters that a method reads
 * and returns.
 */
final class Substitutes {
    /** The names of methods. The constants below are indices. */
    private static final String[] NAMES = {
        "length", "isEmpty", "charAt", "indexOf", "lastIndexOf", "contains", "startsWith", "endsWith",
        "equals", "equalsIgnoreCase", "compareTo", "substring", "toLowerCase", "toUpperCase", "trim",
        "hashCode", "toString", "toPlainString", "signum", "precision", "intValue", "longValue",
        "doubleValue", "bitLength", "toEpochDay", "toEpochSecond", "getNameCount", "getMethod",
        "getRequestURI", "getQueryString", "getHeader", "getStatus",
    };

    static final int LENGTH = 0;
    static final int IS_EMPTY = 1;
    static final int CHAR_AT = 2;
    static final int INDEX_OF = 3;
    static final int LAST_INDEX_OF = 4;
    static final int CONTAINS = 5;
    static final int STARTS_WITH = 6;
    static final int ENDS_WITH = 7;
    static final int EQUALS = 8;
    static final int EQUALS_IGNORE_CASE = 9;
    static final int COMPARE_TO = 10;
    static final int SUBSTRING = 11;
    static final int TO_LOWER_CASE = 12;
    static final int TO_UPPER_CASE = 13;
    static final int TRIM = 14;
    static final int HASH_CODE = 15;
    static final int TO_STRING = 16;
    static final int TO_PLAIN_STRING = 17;
    static final int SIGNUM = 18;
    static final int PRECISION = 19;
    static final int INT_VALUE = 20;
    static final int LONG_VALUE = 21;
    static final int DOUBLE_VALUE = 22;
    static final int BIT_LENGTH = 23;
    static final int TO_EPOCH_DAY = 24;
    static final int TO_EPOCH_SECOND = 25;
    static final int GET_NAME_COUNT = 26;
    static final int GET_METHOD = 27;
    static final int GET_REQUEST_URI = 28;
    static final int GET_QUERY_STRING = 29;
    static final int GET_HEADER = 30;
    static final int GET_STATUS = 31;

    /** The owners of methods, in the order of the cases of {@link #call}. */
    private static final String[] OWNERS = {
        "java.lang.String#", "java.math.BigDecimal#", "java.math.BigInteger#", "java.time.", "org.apache.catalina.connector.",
        "java.util.UUID#", "java.net.URI#", "sun.nio.fs.UnixPath#", "sun.nio.fs.WindowsPath#", "java.lang.Character#",
    };

    private Substitutes() {}

    /**
     * Returns the number of {@code owner#name(types)} for {@link #call}.
     *
     * @throws IllegalArgumentException if the method has no substitute
     */
    static int number(String method) {
        String name = method.substring(method.indexOf('#') + 1, method.indexOf('('));
        for (int owner = 0; owner < OWNERS.length; owner++) {
            for (int i = 0; i < NAMES.length; i++) {
                if (method.startsWith(OWNERS[owner]) && name.equals(NAMES[i])) {
                    return owner << 8 | i;
                }
            }
        }
        throw new IllegalArgumentException(method);
    }

    /**
     * Returns the result of the method for an object of exactly the owner's class.
     *
     * @throws ProbeError if an argument has another type, an index is out of range, or the work would exceed the
     * limit
     */
    static Object call(int number, Object target, Object[] arguments) {
        int method = number & 0xFF;
        switch (number >>> 8) {
            case 0:
                return ofString((String) target, method, arguments);
            case 1:
                return Decimals.ofDecimal(target, method);
            case 2:
                return Decimals.ofInteger(target, method);
            case 3:
                return Calendars.call(target, method);
            case 4:
                return Servlets.call(target, method, arguments);
            case 5:
                return uuid(Calendars.number(target, "mostSigBits"), Calendars.number(target, "leastSigBits"));
            case 6:
                return uri(target);
            case 7:
                return method == TO_STRING ? path(target) : Long.valueOf(names((byte[]) Fields.read(target, "path")));
            case 8:
                return Fields.read(target, "path");
            default:
                return Dynamic.text(target);
        }
    }

    private static Object ofString(String s, int method, Object[] arguments) {
        switch (method) {
            case LENGTH:
                return Long.valueOf(Strings.length(s));
            case IS_EMPTY:
                return Boolean.valueOf(Strings.length(s) == 0);
            case CHAR_AT:
                return Character.valueOf(Strings.charAt(s,
                        requireRange(Dynamic.toInt(arguments[0]), 0, Strings.length(s) - 1)));
            case INDEX_OF:
                return Long.valueOf(Texts.indexOf(s, text(arguments[0])));
            case LAST_INDEX_OF:
                return Long.valueOf(Texts.lastIndexOf(s, text(arguments[0])));
            case CONTAINS:
                return Boolean.valueOf(Texts.indexOf(s, text(arguments[0])) >= 0);
            case STARTS_WITH:
                return Dynamic.startsWith(s, text(arguments[0]));
            case ENDS_WITH:
                return Dynamic.endsWith(s, text(arguments[0]));
            case EQUALS:
                return Boolean.valueOf(arguments[0] instanceof String && Strings.equal(s, (String) arguments[0]));
            case EQUALS_IGNORE_CASE:
                return Boolean.valueOf(arguments[0] instanceof String && sameIgnoringCase(s, (String) arguments[0]));
            case COMPARE_TO:
                return Long.valueOf(Strings.compare(s, text(arguments[0])));
            case SUBSTRING:
                int length = Texts.length(s);
                int end = arguments.length == 1 ? length : requireRange(Dynamic.toInt(arguments[1]), 0, length);
                return Dynamic.substring(s, requireRange(Dynamic.toInt(arguments[0]), 0, end), end);
            case TO_LOWER_CASE:
                return Dynamic.lower(s);
            case TO_UPPER_CASE:
                return Dynamic.upper(s);
            case TRIM:
                return Dynamic.trim(s);
            case HASH_CODE:
                return Long.valueOf(Strings.hash(s, Texts.length(s)));
            default:
                return s;
        }
    }

    /** Returns the argument if it is a string, otherwise throws. */
    static String text(Object argument) {
        if (argument == null) {
            throw ProbeError.NULL_OPERAND;
        }
        if (!(argument instanceof String)) {
            throw ProbeError.BAD_CAST;
        }
        return (String) argument;
    }

    private static int requireRange(int index, int least, int most) {
        if (index < least || index > most) {
            throw ProbeError.INDEX;
        }
        return index;
    }

    private static boolean sameIgnoringCase(String a, String b) {
        int length = Texts.length(a);
        if (length != Strings.length(b)) {
            return false;
        }
        for (int i = 0; i < length; i++) {
            char x = Character.toUpperCase(Strings.charAt(a, i));
            char y = Character.toUpperCase(Strings.charAt(b, i));
            if (x != y && Character.toLowerCase(x) != Character.toLowerCase(y)) {
                return false;
            }
        }
        return true;
    }

    private static String uuid(long most, long least) {
        StringBuilder text = new StringBuilder(36);
        for (int digit = 0; digit < 32; digit++) {
            if (digit == 8 || digit == 12 || digit == 16 || digit == 20) {
                text.append('-');
            }
            long half = digit < 16 ? most : least;
            text.append(Character.forDigit((int) (half >>> 60 - 4 * (digit & 15)) & 15, 16));
        }
        return text.toString();
    }

    /** Returns the text from which the URI was created, otherwise joins its parts (RFC 2396). */
    private static String uri(Object uri) {
        String string = (String) Fields.read(uri, "string");
        if (string != null) {
            return string;
        }
        StringBuilder text = new StringBuilder();
        append(text, "", uri, "scheme", ":");
        if (Fields.read(uri, "path") == null) {
            append(text, "", uri, "schemeSpecificPart", "");
        } else if (Fields.read(uri, "host") != null) {
            String host = Texts.bounded((String) Fields.read(uri, "host"));
            boolean literal = host.indexOf(':') >= 0 && !host.startsWith("[");
            text.append("//");
            append(text, "", uri, "userInfo", "@");
            text.append(literal ? "[" : "").append(host).append(literal ? "]" : "");
            long port = Calendars.number(uri, "port");
            if (port != -1) {
                text.append(':').append(port);
            }
        } else {
            append(text, "//", uri, "authority", "");
        }
        if (Fields.read(uri, "path") != null) {
            append(text, "", uri, "path", "");
            append(text, "?", uri, "query", "");
        }
        append(text, "#", uri, "fragment", "");
        return text.toString();
    }

    private static void append(StringBuilder text, String prefix, Object target, String field, String suffix) {
        String part = (String) Fields.read(target, field);
        if (part != null) {
            text.append(prefix).append(Texts.bounded(part)).append(suffix);
        }
    }

    /** Returns the text if the path stores it, otherwise its bytes, as UTF-8 if they are not ASCII. */
    private static String path(Object path) {
        String storedPath = (String) Fields.read(path, "stringValue");
        return storedPath != null ? storedPath : decoded((byte[]) Fields.read(path, "path"));
    }

    private static String decoded(byte[] bytes) {
        if (bytes.length > Texts.MAX_LENGTH) {
            throw ProbeError.BUDGET;
        }
        return new String(bytes, java.nio.charset.Charset.forName("UTF-8"));
    }

    /** Counts the names, which are separated by one slash. The empty path has one name, the root none. */
    private static int names(byte[] path) {
        if (path.length > Texts.MAX_LENGTH) {
            throw ProbeError.BUDGET;
        }
        int names = path.length == 0 ? 1 : 0;
        for (int i = 0; i < path.length; i++) {
            if (path[i] != '/' && (i == 0 || path[i - 1] == '/')) {
                names++;
            }
        }
        return names;
    }
}
