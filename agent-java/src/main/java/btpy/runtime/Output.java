package btpy.runtime;

import java.util.Arrays;

/** A growing big-endian payload of the wire protocol. Only agent threads use it. */
final class Output {
    private byte[] bytes = new byte[512];
    private int count;

    private int room(int size) {
        int at = count;
        if (at + size > bytes.length) {
            byte[] larger = Arrays.copyOf(bytes, Math.max(2 * bytes.length, at + size));
            bytes = larger;
        }
        count = at + size;
        return at;
    }

    void u1(int value) {
        int at = room(1); // call this first, because it may replace the array
        bytes[at] = (byte) value;
    }

    void u4(int value) {
        set4(room(4), value);
    }

    void u8(long value) {
        u4((int) (value >>> 32));
        u4((int) value);
    }

    /** Writes little-endian, the byte order of numbers in values. */
    void littleEndian(long value, int bytes) {
        for (int i = 0; i < bytes; i++) {
            u1((int) (value >>> 8 * i));
        }
    }

    /** Reserves space for a number that is known later. */
    int skip4() {
        return room(4);
    }

    void set4(int at, int value) {
        bytes[at] = (byte) (value >>> 24);
        bytes[at + 1] = (byte) (value >>> 16);
        bytes[at + 2] = (byte) (value >>> 8);
        bytes[at + 3] = (byte) value;
    }

    /**
     * Removes the bytes that were written since the count was {@code before}, unless {@code keep}. Returns {@code
     * keep}.
     */
    boolean truncateUnless(int start, boolean keep) {
        count = keep ? count : start;
        return keep;
    }

    int count() {
        return count;
    }

    /** Writes length and UTF-8. A lone surrogate is written as three bytes. */
    void string(String s) {
        int lengthAt = skip4();
        int start = count;
        int length = Strings.length(s);
        for (int i = 0; i < length; i++) {
            char c = Strings.charAt(s, i);
            if (c < 0x80) {
                u1(c);
            } else if (c < 0x800) {
                u1(0xC0 | c >> 6);
                u1(0x80 | c & 0x3F);
            } else if (Character.isHighSurrogate(c) && i + 1 < length && Character.isLowSurrogate(Strings.charAt(s, i + 1))) {
                int point = Character.toCodePoint(c, Strings.charAt(s, ++i));
                u1(0xF0 | point >> 18);
                u1(0x80 | point >> 12 & 0x3F);
                u1(0x80 | point >> 6 & 0x3F);
                u1(0x80 | point & 0x3F);
            } else {
                u1(0xE0 | c >> 12);
                u1(0x80 | c >> 6 & 0x3F);
                u1(0x80 | c & 0x3F);
            }
        }
        set4(lengthAt, count - start);
    }

    /** Writes a `value` of docs/runtime.md that is a string. */
    void stringValue(String s) {
        int length = Math.min(Strings.length(s), 0xFFFF);
        boolean latin1 = Strings.isLatin1(s, length);
        u1(latin1 ? Values.LATIN1 : Values.UTF16);
        littleEndian(length, 2);
        for (int i = 0; i < length; i++) {
            littleEndian(Strings.charAt(s, i), latin1 ? 1 : 2);
        }
    }

    void append(Output other) {
        int at = room(other.count());
        System.arraycopy(other.bytes, 0, bytes, at, other.count());
    }

    byte[] toBytes() {
        return Arrays.copyOf(bytes, count);
    }
}
