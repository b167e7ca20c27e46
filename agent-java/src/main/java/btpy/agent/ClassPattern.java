package btpy.agent;

import java.util.regex.Pattern;

/** One {@code Pattern} of docs/protocol.md. Names are binary names with dots. */
final class ClassPattern {
    static final int EXACT = 0;
    static final int SIMPLE_NAME = 1;
    static final int GLOB = 2;
    static final int REGEX = 3;
    static final int SUBTYPE = 4;
    static final int ANNOTATED = 5;
    static final int SUBTYPE_SIMPLE_NAME = 6;

    /**
     * The largest number of characters that a regular expression may read for one name, because it runs on threads of
     * the application.
     */
    private static final int REGEX_READS = 20_000;

    final int kind;

    /** Constants that a matching class file must contain; empty: any class file. */
    final byte[][] constants;
    private final String text;
    private final Pattern regex;

    /** Reads a {@code list<ClassPattern>}. */
    static ClassPattern[] list(Payload request) throws ProtocolException {
        ClassPattern[] patterns = new ClassPattern[request.count(9)];
        for (int i = 0; i < patterns.length; i++) {
            patterns[i] = new ClassPattern(request.u1(), request.string(), request.byteArrays());
        }
        return patterns;
    }

    /** Throws ProtocolException for an unknown kind or a regular expression that does not compile. */
    ClassPattern(int kind, String text, byte[]... constants) throws ProtocolException {
        this.kind = kind;
        this.text = text;
        this.constants = constants;
        if (kind < EXACT || kind > SUBTYPE_SIMPLE_NAME) {
            throw new ProtocolException("a pattern of kind " + kind);
        }
        try {
            regex = kind == REGEX ? Pattern.compile(text) : null;
            if (regex != null) {
                matchesRegex(text); // this loads the classes for matching on a thread of the agent, as Warmup does for other classes
            }
        } catch (IllegalArgumentException | StackOverflowError syntaxError) {
            throw new ProtocolException("the regular expression " + text + " does not compile in Java");
        }
    }

    /** True for the kinds that test supertypes. For these, {@link #matchesText} tests each supertype. */
    boolean isBySupertype() {
        return kind == SUBTYPE || kind == SUBTYPE_SIMPLE_NAME;
    }

    /** Whether a name matches. The kind of the pattern decides whether it is the name of the class, of a supertype, or of an annotation. */
    boolean matchesText(String name) {
        switch (kind) {
            case EXACT:
            case SUBTYPE:
                return name.equals(text);
            case SIMPLE_NAME:
            case SUBTYPE_SIMPLE_NAME:
                return isSimpleName(name, text);
            case REGEX:
                return matchesRegex(name);
            default:
                return matchesGlob(text, 0, name, 0);
        }
    }

    /** Whether all constants occur in the class file. */
    boolean mayBeIn(byte[] classFile) {
        for (byte[] constant : constants) {
            if (!contains(classFile, constant)) {
                return false;
            }
        }
        return true;
    }

    private static boolean contains(byte[] bytes, byte[] part) {
        int last = part.length - 1;
        for (int at = last; at >= 0 && at < bytes.length; at++) {
            if (bytes[at] == part[last] && ClassHeader.equal(bytes, at - last, part, 0, last)) {
                return true;
            }
        }
        return part.length == 0;
    }

    /**
     * Whether {@code simple} is the part of {@code name} after the last dot, or after the last {@code $} of a member
     * class: {@code a.Outer$Inner} has the simple name {@code Inner}, and {@code a.Outer$1} has {@code Outer$1}.
     */
    private static boolean isSimpleName(String name, String simple) {
        int start = name.lastIndexOf('.') + 1;
        int inner = name.lastIndexOf('$') + 1;
        if (inner > start && inner < name.length() && !Character.isDigit(name.charAt(inner))) {
            start = inner;
        }
        return name.length() - start == simple.length() && name.endsWith(simple);
    }

    private boolean matchesRegex(String name) {
        try {
            return regex.matcher(new MeteredText(name)).matches();
        } catch (StackOverflowError | TooManyReads endlessMatch) {
            return false;
        }
    }

    /**
     * Matches a glob: {@code *} stands for characters of one segment, {@code **} for any characters, {@code ?} for one
     * character of a segment. Only the last star of each kind is retried.
     */
    private static boolean matchesGlob(String glob, int g, String name, int n) {
        int starAt = -1;
        int deepAt = -1;
        int starName = 0;
        int deepName = 0;
        while (true) {
            if (g < glob.length() && glob.charAt(g) == '*') {
                if (glob.startsWith("**", g)) {
                    g += 2;
                    deepAt = g;
                    deepName = n;
                    starAt = -1;
                } else {
                    g++;
                    starAt = g;
                    starName = n;
                }
                continue;
            }
            if (n == name.length() && g == glob.length()) {
                return true;
            }
            if (n < name.length() && g < glob.length()) {
                char expectedChar = glob.charAt(g);
                if (expectedChar == '?' ? name.charAt(n) != '.' : expectedChar == name.charAt(n)) {
                    g++;
                    n++;
                    continue;
                }
            }
            if (starAt >= 0 && starName < name.length() && name.charAt(starName) != '.') {
                g = starAt;
                n = ++starName;
            } else if (deepAt >= 0 && deepName < name.length()) {
                g = deepAt;
                n = ++deepName;
                starAt = -1;
            } else {
                return false;
            }
        }
    }

    /** A text that stops the matching after {@link #REGEX_READS} reads, because a pattern may need exponential time. */
    private static final class MeteredText implements CharSequence {
        private final String text;
        private int reads;

        MeteredText(String text) {
            this.text = text;
        }

        @Override
        public char charAt(int index) {
            if (++reads > REGEX_READS) {
                throw TooManyReads.INSTANCE;
            }
            return text.charAt(index);
        }

        @Override
        public int length() {
            return text.length();
        }

        @Override
        public CharSequence subSequence(int start, int end) {
            return text.substring(start, end);
        }

        @Override
        public String toString() {
            return text;
        }
    }

    private static final class TooManyReads extends RuntimeException {
        private static final long serialVersionUID = 1L;
        static final TooManyReads INSTANCE = new TooManyReads();

        private TooManyReads() {
            super(null, null, false, false);
        }
    }
}
