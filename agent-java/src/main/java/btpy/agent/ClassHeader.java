package btpy.agent;

import java.util.ArrayList;
import java.util.List;

/**
 * Name, supertypes and mentioned types of a class file (JVMS §4.1), for a class that is being loaded and so has no
 * {@code Class} object yet. The agent must know whether a class extends a type in a pattern before it asks the client.
 * Asking about every class would cost each class load a round trip.
 *
 * <p>{@link #parse} returns null for an invalid class file. A pattern by supertype does not match such a file.
 */
final class ClassHeader {
    /**
     * Sizes in bytes. Bytes before the attributes of a field or method: flags, name, descriptor, number of attributes
     * (§4.6). Bytes before the content of an attribute: name, length (§4.7).
     */
    static final int MEMBER_HEAD = 8;
    static final int ATTRIBUTE_HEAD = 6;

    final String name;
    final String superclass;
    final String[] interfaces;
    private final byte[] bytes;
    /** The offset of each entry of the constant pool, by its index; 0 for an unusable index. */
    final int[] offsets;
    final int poolEnd;

    private ClassHeader(byte[] bytes, int[] offsets, int poolEnd, String name, String superclass, String[] interfaces) {
        this.bytes = bytes;
        this.offsets = offsets;
        this.poolEnd = poolEnd;
        this.name = name;
        this.superclass = superclass;
        this.interfaces = interfaces;
    }

    static ClassHeader parse(byte[] b) {
        try {
            int count = u2(b, 8);
            int[] offsets = new int[count];
            int at = 10;
            for (int i = 1; i < count; i++) {
                offsets[i] = at;
                int size = constantSize(b, at);
                if (size == 0) {
                    return null;
                }
                i += b[at] == 5 || b[at] == 6 ? 1 : 0; // Long and Double have two entries
                at += size;
            }
            String[] interfaces = new String[u2(b, at + 6)];
            for (int i = 0; i < interfaces.length; i++) {
                interfaces[i] = className(b, offsets, u2(b, at + 8 + 2 * i));
            }
            int superclass = u2(b, at + 4);
            String superName = superclass == 0 ? "" : className(b, offsets, superclass);
            return new ClassHeader(b, offsets, at, className(b, offsets, u2(b, at + 2)), superName, interfaces);
        } catch (IndexOutOfBoundsException invalidFile) {
            return null;
        }
    }

    /**
     * Whether the constant pool holds the descriptor of a type that the pattern names. The constant pool of a class
     * with an annotation holds the descriptor of the annotation (§4.7.16). Other classes may hold it, too, so the
     * client decides.
     */
    boolean mentions(ClassPattern annotation) {
        for (int i = 1; i < offsets.length; i++) {
            int at = offsets[i];
            if (at == 0 || bytes[at] != 1) {
                continue;
            }
            int length = u2(bytes, at + 1);
            if (length > 2 && bytes[at + 3] == 'L' && bytes[at + 2 + length] == ';'
                && annotation.matchesText(text(bytes, at + 4, length - 2))) {
                return true;
            }
        }
        return false;
    }

    /** The classes that the constant pool names and whose internal names begin with {@code prefix}, with dots. */
    List<String> mentionedClasses(byte[] prefix) {
        List<String> names = new ArrayList<String>();
        for (int i = 1; i < offsets.length; i++) {
            if (offsets[i] != 0 && bytes[offsets[i]] == 7 && beginsWith(bytes, offsets[u2(bytes, offsets[i] + 1)], prefix)) {
                names.add(className(bytes, offsets, i));
            }
        }
        return names;
    }

    /** The texts in a part of a constant pool that begin with {@code prefix}, with dots. */
    static List<String> texts(byte[] constants, byte[] prefix) {
        List<String> texts = new ArrayList<String>();
        for (int at = 0, size; at < constants.length && (size = constantSize(constants, at)) > 0; at += size) {
            if (constants[at] == 1 && beginsWith(constants, at, prefix)) {
                texts.add(text(constants, at + 3, size - 3));
            }
        }
        return texts;
    }

    /** Bytes of the constant at {@code at} with its tag (JVMS §4.4); 0 for an unknown tag. */
    private static int constantSize(byte[] b, int at) {
        switch (b[at]) {
            case 1: // Utf8
                return 3 + u2(b, at + 1);
            case 7: case 8: case 16: case 19: case 20: // Class String MethodType Module Package
                return 3;
            case 15: // MethodHandle
                return 4;
            case 3: case 4: case 9: case 10: case 11: case 12: case 17: case 18:
                return 5;
            case 5: case 6: // Long Double
                return 9;
            default:
                return 0;
        }
    }

    private static boolean beginsWith(byte[] b, int utf8, byte[] prefix) {
        return u2(b, utf8 + 1) >= prefix.length && equal(b, utf8 + 3, prefix, 0, prefix.length);
    }

    /** Whether {@code length} bytes are the same in both arrays. */
    static boolean equal(byte[] a, int aFrom, byte[] b, int bFrom, int length) {
        for (int i = 0; i < length; i++) {
            if (a[aFrom + i] != b[bFrom + i]) {
                return false;
            }
        }
        return true;
    }

    private static String className(byte[] b, int[] offsets, int index) {
        int utf8 = offsets[u2(b, offsets[index] + 1)];
        return text(b, utf8 + 3, u2(b, utf8 + 1));
    }

    /** Modified UTF-8 (§4.4.7) to text, slashes to dots. */
    private static String text(byte[] b, int at, int length) {
        char[] chars = new char[length];
        int count = 0;
        int end = at + length;
        while (at < end) {
            int c = b[at++];
            if (c < 0 && (c & 0xE0) == 0xC0) {
                c = (c & 0x1F) << 6 | b[at++] & 0x3F;
            } else if (c < 0) {
                c = (c & 0x0F) << 12 | (b[at++] & 0x3F) << 6 | b[at++] & 0x3F;
            }
            chars[count++] = c == '/' ? '.' : (char) c;
        }
        return new String(chars, 0, count);
    }

    /** The offset of the table of fields, which begins with their number. */
    static int fieldsAt(byte[] b, int poolEnd) {
        return poolEnd + MEMBER_HEAD + 2 * u2(b, poolEnd + 6); // flags, this, super and number of interfaces are 8 bytes, too
    }

    /** The offset after an attribute. */
    static int endOfAttribute(byte[] b, int attribute) {
        int length = u4(b, attribute + 2);
        if (length < 0) {
            throw new IndexOutOfBoundsException();
        }
        return attribute + ATTRIBUTE_HEAD + length;
    }

    static int u2(byte[] b, int at) {
        return (b[at] & 0xFF) << 8 | b[at + 1] & 0xFF;
    }

    static int u4(byte[] b, int at) {
        return u2(b, at) << 16 | u2(b, at + 2);
    }
}
