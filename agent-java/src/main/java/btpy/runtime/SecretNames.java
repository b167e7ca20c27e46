package btpy.runtime;

/**
 * The names of secrets in one session: the names of {@link Secrets}, and the names that the user of the session added. Other
 * sessions in the same JVM may have other names.
 *
 * <p>An added name is compared with the letters and digits of a whole name, and with those after its last dot. ASCII
 * letters are compared in lower case. A star matches any number of characters. A comparison takes at most the product
 * of the two lengths. The client sends at most 64 names of 64 characters, so a comparison cannot occupy a thread of the
 * application for long.
 */
final class SecretNames {
    /** The length of the longest name that can belong to a secret, in characters. */
    private static final int LONGEST = 64;

    /** The number of classes whose secret fields are cached; a power of two. */
    private static final int REMEMBERED = 256;

    private final char[][] addedNames;
    /** The cache, by hash of the layout. Threads may overwrite each other's answers, because each can be computed again. */
    private final Answer[] answers;

    /** The secret fields of a class. The layout does not prevent its class from being unloaded. */
    private static final class Answer {
        final Layout layout;
        final boolean[] secret;

        Answer(Layout layout, boolean[] secret) {
            this.layout = layout;
            this.secret = secret;
        }
    }

    SecretNames(String[] addedNames) {
        this.addedNames = new char[addedNames.length][];
        for (int i = 0; i < addedNames.length; i++) {
            this.addedNames[i] = addedNames[i].toCharArray();
        }
        this.answers = new Answer[addedNames.length == 0 ? 0 : REMEMBERED];
    }

    /** Whether the value with this name must be hidden. */
    boolean hide(String name) {
        return Secrets.names(name) || addedNames.length > 0 && isAdded(name);
    }

    /** Whether each field of a layout must be hidden. The caller must not change the array. */
    boolean[] fields(Layout layout) {
        if (addedNames.length == 0) {
            return layout.secret;
        }
        int at = layout.hash & REMEMBERED - 1;
        Answer answer = answers[at];
        if (answer == null || answer.layout != layout) {
            boolean[] secret = new boolean[layout.names.length];
            for (int i = 0; i < secret.length; i++) {
                secret[i] = layout.secret[i] || isAdded(layout.names[i]);
            }
            answer = new Answer(layout, secret);
            answers[at] = answer;
        }
        return answer.secret;
    }

    private boolean isAdded(String name) {
        int length = Strings.length(name);
        if (length > LONGEST) {
            return false;
        }
        char[] letters = new char[length];
        int count = 0;
        int segment = 0;
        for (int i = 0; i < length; i++) {
            char c = Strings.charAt(name, i);
            if (c == '.') {
                segment = count;
            } else if (c >= 'A' && c <= 'Z') {
                letters[count++] = (char) (c + 32);
            } else if (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 0x80) {
                letters[count++] = c;
            }
        }
        for (char[] pattern : addedNames) {
            if (matches(pattern, letters, 0, count) || segment > 0 && matches(pattern, letters, segment, count)) {
                return true;
            }
        }
        return false;
    }

    /** Backtracks only to the last star, so that each letter is compared at most once for each character of the pattern. */
    private static boolean matches(char[] pattern, char[] letters, int from, int count) {
        int at = from;
        int letterAt = 0;
        int star = -1;
        int retry = 0;
        while (at < count) {
            if (letterAt < pattern.length && pattern[letterAt] == '*') {
                star = letterAt++;
                retry = at;
            } else if (letterAt < pattern.length && pattern[letterAt] == letters[at]) {
                letterAt++;
                at++;
            } else if (star >= 0) {
                letterAt = star + 1;
                at = ++retry;
            } else {
                return false;
            }
        }
        while (letterAt < pattern.length && pattern[letterAt] == '*') {
            letterAt++;
        }
        return letterAt == pattern.length;
    }
}
