package btpy.runtime;

/**
 * Functions of the language on strings. They return null for null. A text longer than {@link #MAX_LENGTH} throws {@link
 * ProbeError#BUDGET}, so that the work of one firing is bounded for every string of the application.
 */
public final class Texts {
    /** The maximum number of characters of a text that a function reads or creates. */
    static final int MAX_LENGTH = 1 << 20;

    /**
     * The largest number of characters that one search compares. Without this limit, the number would be the product of
     * the two lengths if the part nearly matches everywhere in the text.
     */
    private static final int MOST_COMPARED = 4 * MAX_LENGTH;

    /** The replacement of a hidden text. As a separate value it is sent unchanged. */
    static final String REDACTED = "\u2022\u2022\u2022";


    private Texts() {}

    /** Returns the length of a text, or throws if it is too long. */
    static int length(String s) {
        int length = Strings.length(s);
        if (length > MAX_LENGTH) {
            throw ProbeError.BUDGET;
        }
        return length;
    }

    /** Returns the string, or throws if it is too long. */
    static String bounded(String s) {
        length(s);
        return s;
    }

    /** The first position of the part; −1 if there is none. */
    static int indexOf(String s, String part) {
        return search(s, part, 0, Strings.length(s) - Strings.length(part), 1);
    }

    /** The last position of the part; −1 if there is none. */
    static int lastIndexOf(String s, String part) {
        return search(s, part, Strings.length(s) - Strings.length(part), 0, -1);
    }

    /** Searches each position from {@code from} to {@code to}, and compares at most {@link #MOST_COMPARED} characters. */
    private static int search(String s, String part, int from, int to, int step) {
        int count = length(part);
        length(s);
        int remaining = MOST_COMPARED;
        for (int at = from; step > 0 ? at <= to : at >= to; at += step) {
            int equalChars = 0;
            while (equalChars < count && Strings.charAt(s, at + equalChars) == Strings.charAt(part, equalChars)) {
                equalChars++;
            }
            if (equalChars == count) {
                return at;
            }
            remaining -= equalChars + 1;
            if (remaining < 0) {
                throw ProbeError.BUDGET;
            }
        }
        return -1;
    }

    private static char[] characters(String s) {
        char[] characters = new char[length(s)];
        for (int i = 0; i < characters.length; i++) {
            characters[i] = Strings.charAt(s, i);
        }
        return characters;
    }

    /** Returns part {@code index} between separators, counted from the end if negative; null if there is no such part. */
    public static String split(String s, String separator, int index) {
        if (s == null || separator == null) {
            return null;
        }
        int length = length(s);
        int step = Strings.length(separator);
        int partIndex = index;
        if (index < 0) {
            for (int at = 0; (at = find(s, separator, at, length)) >= 0; at += step) {
                partIndex++;
            }
            partIndex++; // there is one part more than separators
        }
        int start = 0;
        for (int part = 0; partIndex >= 0; part++) {
            int end = find(s, separator, start, length);
            if (part == partIndex) {
                return s.substring(start, end < 0 ? length : end);
            }
            if (end < 0) {
                return null;
            }
            start = end + step;
        }
        return null;
    }

    /** The first position of {@code part} at {@code from} or later; −1 if there is none. An empty part is never found. */
    private static int find(String s, String part, int from, int length) {
        int count = Strings.length(part);
        if (count == 0) {
            return -1;
        }
        char firstChar = Strings.charAt(part, 0);
        for (int i = from; i <= length - count; i++) {
            if (Strings.charAt(s, i) == firstChar && Strings.regionMatches(s, i, part, 0, count)) {
                return i;
            }
        }
        return -1;
    }

    public static String replace(String s, String from, String to) {
        if (s == null || from == null || to == null) {
            return null;
        }
        int length = length(s);
        int at = find(s, from, 0, length);
        if (at < 0) {
            return s;
        }
        StringBuilder text = new StringBuilder(length);
        int start = 0;
        for (; at >= 0; at = find(s, from, start, length)) {
            text.append(s, start, at).append(to);
            start = at + Strings.length(from);
            if (text.length() > MAX_LENGTH) {
                throw ProbeError.BUDGET;
            }
        }
        return text.append(s, start, length).toString();
    }

    public static String truncate(String s, int most) {
        if (s == null) {
            return null;
        }
        int length = Strings.cut(s, most < 0 ? 0 : most);
        return length == Strings.length(s) ? s : s.substring(0, length);
    }

    /** Returns the captured part of the text: at most as many characters as the session allows. */
    public static String limited(Session session, String s) {
        return truncate(s, session.limits.chars);
    }

    /** Returns the same number for equal texts, in all sessions of one client. */
    public static Object hash(Session session, String s) {
        return s == null ? null : Long.valueOf(session.limits.hash.of(s));
    }

    /** Returns the same result for every text, so that no operation on it can reveal the text. */
    public static String redact(String s) {
        return s == null ? null : REDACTED;
    }

    /**
     * Returns a statement without the parts that differ between executions: literals become {@code ?}, a list of them
     * {@code (?)}, comments are removed, and blanks become one.
     */
    public static String normalizeSql(String s) {
        if (s == null) {
            return null;
        }
        char[] sql = characters(s);
        StringBuilder text = new StringBuilder(sql.length < 1024 ? sql.length : 1024);
        int at = 0;
        while (at < sql.length) {
            char c = sql[at];
            int nextChar = at + 1 < sql.length ? sql[at + 1] : 0;
            if (c == '-' && nextChar == '-') {
                while (at < sql.length && sql[at] != '\n') {
                    at++;
                }
                blank(text);
            } else if (c == '/' && nextChar == '*') {
                at += 3;
                while (at < sql.length && !(sql[at - 1] == '*' && sql[at] == '/')) {
                    at++;
                }
                at++;
                blank(text);
            } else if (c == '\'') {
                at = quoted(sql, at, '\'');
                placeholder(text);
            } else if (c == '"' || c == '`') {
                int end = quoted(sql, at, c);
                text.append(sql, at, end - at);
                at = end;
            } else if (isDigit(c) && (text.length() == 0 || !isWord(text.charAt(text.length() - 1)))) {
                at = number(sql, at);
                placeholder(text);
            } else if (isBlank(c)) {
                at++;
                blank(text);
            } else {
                if ((c == ')' || c == ',' || c == ';') && endsWith(text, ' ')) {
                    text.setLength(text.length() - 1);
                }
                if (c == '?') {
                    placeholder(text);
                } else if (c != ';' || at + 1 < sql.length) {
                    text.append(c);
                }
                at++;
            }
        }
        if (endsWith(text, ' ')) {
            text.setLength(text.length() - 1);
        }
        return text.toString();
    }

    private static void blank(StringBuilder text) {
        if (text.length() != 0 && !endsWith(text, ' ') && !endsWith(text, '(')) {
            text.append(' ');
        }
    }

    /** Appends a {@code ?}, unless it continues a list of them: {@code (?, ?} remains {@code (?}. */
    private static void placeholder(StringBuilder text) {
        int end = text.length();
        while (end > 0 && text.charAt(end - 1) == ' ') {
            end--;
        }
        if (end > 2 && text.charAt(end - 1) == ',' && text.charAt(end - 2) == '?' && text.charAt(end - 3) == '(') {
            text.setLength(end - 1);
        } else {
            text.append('?');
        }
    }

    private static boolean endsWith(StringBuilder text, char c) {
        return text.length() != 0 && text.charAt(text.length() - 1) == c;
    }

    /** Returns the position after a quoted text that begins at {@code at}. A quote inside is written twice. */
    private static int quoted(char[] sql, int at, char quote) {
        int i = at + 1;
        while (i < sql.length) {
            if (sql[i] == quote) {
                if (i + 1 >= sql.length || sql[i + 1] != quote) {
                    return i + 1;
                }
                i++;
            }
            i++;
        }
        return sql.length;
    }

    private static int number(char[] sql, int at) {
        int i = at;
        while (i < sql.length
                && (isWord(sql[i])
                        || sql[i] == '.'
                        || (sql[i] == '-' || sql[i] == '+') && (sql[i - 1] == 'e' || sql[i - 1] == 'E'))) {
            i++;
        }
        return i;
    }

    /** Returns the path of a URL, without host, query and fragment. Segments that are identifiers become {@code {id}}. */
    public static String urlPath(String s) {
        if (s == null) {
            return null;
        }
        int end = length(s);
        for (int i = 0; i < end; i++) {
            char c = Strings.charAt(s, i);
            if (c == '?' || c == '#') {
                end = i;
            }
        }
        int at = 0;
        for (int i = 0; i + 2 < end && at == 0; i++) {
            char c = Strings.charAt(s, i);
            if (c == '/') {
                break;
            }
            if (c == ':' && Strings.charAt(s, i + 1) == '/' && Strings.charAt(s, i + 2) == '/') {
                at = i + 3;
                while (at < end && Strings.charAt(s, at) != '/') {
                    at++;
                }
                if (at == end) {
                    return "/";
                }
            }
        }
        StringBuilder text = new StringBuilder(end - at);
        while (at < end) {
            int from = at;
            while (at < end && Strings.charAt(s, at) != '/') {
                at++;
            }
            if (isId(s, from, at)) {
                text.append("{id}");
            } else {
                text.append(s, from, at);
            }
            if (at < end) {
                text.append('/');
                at++;
            }
        }
        return text.toString();
    }

    /**
     * Whether a segment consists of digits, or of at least eight hexadecimal digits and hyphens with at least one digit
     * (a UUID, a hash).
     */
    private static boolean isId(String s, int from, int to) {
        int digits = 0;
        int letters = 0;
        for (int i = from; i < to; i++) {
            char c = Strings.charAt(s, i);
            if (isDigit(c)) {
                digits++;
            } else if (c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' || c == '-') {
                letters++;
            } else {
                return false;
            }
        }
        return digits != 0 && (letters == 0 || to - from >= 8);
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }

    private static boolean isWord(char c) {
        return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c > 0x7F;
    }

    private static boolean isBlank(char c) {
        return c == ' ' || c >= '\t' && c <= '\r';
    }
}
