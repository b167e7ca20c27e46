package btpy.runtime;

/**
 * The names of secrets in one session: those of {@link Secrets}, and those that the user of the session added. Another session in
 * the same JVM may have others.
 *
 * <p>A name that was added is compared with the letters and digits of a whole name, and with those behind its last dot, in lower
 * case where they are ASCII; a star stands for any number of them. One comparison takes at most the product of the two lengths. The client sends no more than 64
 * names of 64 characters, so a comparison cannot keep a thread of the application busy.
 */
final class SecretNames {
    /** Characters of a name that can be one of a secret. */
    private static final int LONGEST = 64;

    /** A power of two: classes of which it is remembered which fields are secret. */
    private static final int REMEMBERED = 256;

    private final char[][] added;
    /** By hash of the layout. Threads may overwrite the answers of each other: each can be found anew. */
    private final Answer[] answers;

    /** The secret fields of a class. The layout does not keep its class loaded. */
    private static final class Answer {
        final Layout layout;
        final boolean[] secret;

        Answer(Layout layout, boolean[] secret) {
            this.layout = layout;
            this.secret = secret;
        }
    }

    SecretNames(String[] added) {
        this.added = new char[added.length][];
        for (int i = 0; i < added.length; i++) {
            this.added[i] = added[i].toCharArray();
        }
        this.answers = new Answer[added.length == 0 ? 0 : REMEMBERED];
    }

    /** Whether the value under this name is to be hidden. */
    boolean hide(String name) {
        return Secrets.names(name) || added.length > 0 && isAdded(name);
    }

    /** The same for each field of a layout. The caller does not change the array. */
    boolean[] fields(Layout layout) {
        if (added.length == 0) {
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
        for (char[] pattern : added) {
            if (matches(pattern, letters, 0, count) || segment > 0 && matches(pattern, letters, segment, count)) {
                return true;
            }
        }
        return false;
    }

    /** Goes back to the last star only, so each letter is compared once for each character of the pattern at most. */
    private static boolean matches(char[] pattern, char[] letters, int from, int count) {
        int at = from;
        int in = 0;
        int star = -1;
        int retry = 0;
        while (at < count) {
            if (in < pattern.length && pattern[in] == '*') {
                star = in++;
                retry = at;
            } else if (in < pattern.length && pattern[in] == letters[at]) {
                in++;
                at++;
            } else if (star >= 0) {
                in = star + 1;
                at = ++retry;
            } else {
                return false;
            }
        }
        while (in < pattern.length && pattern[in] == '*') {
            in++;
        }
        return in == pattern.length;
    }
}
