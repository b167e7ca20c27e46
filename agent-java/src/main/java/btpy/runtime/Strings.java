package btpy.runtime;

/**
 * Reads the characters of a {@code String} from its fields. {@code String} itself may be traced, so none of its methods
 * is called.
 *
 * <p>JDK 9 and later: {@code byte[] value} and {@code byte coder} (0: one byte for each character, Latin-1; 1: two
 * bytes, native order). JDK 8: {@code char[] value}.
 */
final class Strings {
    private static final Memory MEMORY = Memory.instance();
    private static final long VALUE = MEMORY.fieldOffset(String.class, "value");
    private static final long HASH = MEMORY.fieldOffset(String.class, "hash");
    private static final long CODER = MEMORY.fieldOffset(String.class, "coder");

    private Strings() {}

    static int length(String s) {
        Object value = MEMORY.getReference(s, VALUE);
        return CODER < 0 ? ((char[]) value).length : ((byte[]) value).length >> MEMORY.getByte(s, CODER);
    }

    static char charAt(String s, int index) {
        Object value = MEMORY.getReference(s, VALUE);
        if (CODER < 0) {
            return ((char[]) value)[index];
        }
        byte[] bytes = (byte[]) value;
        return MEMORY.getByte(s, CODER) == 0
                ? (char) (bytes[index] & 0xFF)
                : MEMORY.getChar(bytes, Memory.BYTE_BASE + 2L * index);
    }

    /** Whether the first {@code count} characters fit one byte each. */
    static boolean isLatin1(String s, int count) {
        if (isBytes(s)) {
            return true;
        }
        for (int i = 0; i < count; i++) {
            if (charAt(s, i) > 0xFF) {
                return false;
            }
        }
        return true;
    }

    /** The number of characters to keep, at most {@code limit}, so that no surrogate pair is split. */
    static int cut(String s, int limit) {
        int length = length(s);
        if (length <= limit) {
            return length;
        }
        char lastChar = limit == 0 ? 0 : charAt(s, limit - 1);
        return lastChar >= '\uD800' && lastChar <= '\uDBFF' ? limit - 1 : limit;
    }

    /**
     * Returns {@code String.hashCode} of the first {@code count} characters. The hash of the whole string is stored in
     * the string, as {@code hashCode} itself does. Otherwise each firing would read all characters of a key whose hash has not been
     * computed.
     */
    static int hash(String s, int count) {
        boolean all = count == length(s);
        int hash = all ? MEMORY.getInt(s, HASH) : 0;
        if (hash != 0) {
            return hash;
        }
        for (int i = 0; i < count; i++) {
            hash = 31 * hash + charAt(s, i);
        }
        if (all && hash != 0) {
            MEMORY.putInt(s, HASH, hash);
        }
        return hash;
    }

    static boolean equal(String a, String b) {
        if (a == b) {
            return true;
        }
        int length = length(a);
        if (length != length(b)) {
            return false;
        }
        return isBytes(a) && isBytes(b)
                ? equalBytes(MEMORY.getReference(a, VALUE), MEMORY.getReference(b, VALUE), length)
                : regionMatches(a, 0, b, 0, length);
    }

    /** Whether the string stores one byte for each character. */
    private static boolean isBytes(String s) {
        return CODER >= 0 && MEMORY.getByte(s, CODER) == 0;
    }

    private static boolean equalBytes(Object a, Object b, int count) {
        long end = Memory.BYTE_BASE + count;
        long at = Memory.BYTE_BASE;
        for (; at <= end - 8; at += 8) {
            if (MEMORY.getLongUnaligned(a, at) != MEMORY.getLongUnaligned(b, at)) {
                return false;
            }
        }
        for (; at < end; at++) {
            if (MEMORY.getByte(a, at) != MEMORY.getByte(b, at)) {
                return false;
            }
        }
        return true;
    }

    static boolean regionMatches(String a, int aFrom, String b, int bFrom, int count) {
        for (int i = 0; i < count; i++) {
            if (charAt(a, aFrom + i) != charAt(b, bFrom + i)) {
                return false;
            }
        }
        return true;
    }

    static int compare(String a, String b) {
        int aLength = length(a);
        int bLength = length(b);
        for (int i = 0; i < aLength && i < bLength; i++) {
            int difference = charAt(a, i) - charAt(b, i);
            if (difference != 0) {
                return difference;
            }
        }
        return aLength - bLength;
    }

    /** Writes the first {@code count} characters, which must be Latin-1, as one byte each. */
    static void copyLatin1(String s, int count, Object target, long offset) {
        if (!isBytes(s)) {
            for (int i = 0; i < count; i++) {
                MEMORY.putByte(target, offset + i, (byte) charAt(s, i));
            }
            return;
        }
        Object bytes = MEMORY.getReference(s, VALUE);
        int i = 0;
        for (; i <= count - 8; i += 8) {
            MEMORY.putLongUnaligned(target, offset + i, MEMORY.getLongUnaligned(bytes, Memory.BYTE_BASE + i));
        }
        for (; i < count; i++) {
            MEMORY.putByte(target, offset + i, MEMORY.getByte(bytes, Memory.BYTE_BASE + i));
        }
    }

    /** Writes the first {@code count} characters as two bytes each, little-endian. */
    static void copyUtf16(String s, int count, Object target, long offset) {
        for (int i = 0; i < count; i++) {
            char c = charAt(s, i);
            MEMORY.putByte(target, offset + 2L * i, (byte) c);
            MEMORY.putByte(target, offset + 2L * i + 1, (byte) (c >>> 8));
        }
    }
}
