package btpy.agent;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * One outgoing message: {@code u4 length · u1 type · payload}, built in a growing array. The types are those of
 * docs/protocol.md, big-endian.
 *
 * <p>A lone surrogate, which class files and strings of the application may contain, becomes three bytes.
 * {@code String.getBytes} would make it a question mark, so texts that it cannot encode are encoded here.
 */
final class Frame {
    static final int HELLO = 0x01;
    static final int WELCOME = 0x03;
    static final int CONFIGURED = 0x30;
    static final int CLASSES = 0x31;
    static final int CLASS_FILES = 0x32;
    static final int DONE = 0x33;
    static final int CLASS_BYTES = 0x34;
    static final int WEAVE_RESULT = 0x35;
    static final int EVENTS = 0x36;
    static final int STACKS = 0x37;
    static final int MAP = 0x38;
    static final int MAPS = 0x39;
    static final int ERRORS = 0x3A;
    static final int COUNTERS = 0x3B;
    static final int PONG = 0x3C;
    static final int LATE = 0x3D;
    static final int RESTORED = 0x3E;
    static final int FAREWELL = 0x3F;
    static final int TROUBLE = 0x40;
    static final int EXITING = 0x41;
    static final int SUPERTYPES = 0x42;
    static final int SESSIONS = 0x43;
    static final int JOINED = 0x44;
    static final int LEFT = 0x45;
    static final int RESTRAINED = 0x48;
    static final int LOCATIONS = 0x49;

    /** The largest length field that either side accepts. */
    static final int MAX_LENGTH = 16 << 20;

    /** The size of the arrays of a larger frame, so that no large piece of memory is needed. */
    static final int CHUNK = 1 << 16;

    /** The largest length of a text that the JDK encodes, so that no large piece of memory is needed. */
    private static final int SHORT = 1 << 10;

    /** The full arrays, then the array that is being filled. More arrays are created when they are needed. */
    private byte[][] chunks;
    private int size = 4;

    Frame(int type) {
        this(type, 256);
    }

    /** {@code capacity}: bytes of payload that are expected. */
    Frame(int type, int capacity) {
        chunks = new byte[][] {new byte[Math.min(CHUNK, capacity + 5)]};
        u1(type);
    }

    /** Bytes so far, the length field included. */
    int size() {
        return size;
    }

    int type() {
        return chunks[0][4] & 0xFF;
    }

    Frame u1(int value) {
        put(size++, value);
        return this;
    }

    Frame u2(int value) {
        return u1(value >>> 8).u1(value);
    }

    Frame u4(int value) {
        putU4(size, value);
        size += 4;
        return this;
    }

    Frame u8(long value) {
        return u4((int) (value >>> 32)).u4((int) value);
    }

    Frame bool(boolean value) {
        return u1(value ? 1 : 0);
    }

    /** The bytes without a count. */
    Frame raw(byte[] source, int offset, int count) {
        for (int remaining = count; remaining > 0; ) {
            byte[] chunk = chunk(size, remaining);
            int at = size % CHUNK;
            int part = Math.min(remaining, chunk.length - at);
            System.arraycopy(source, offset + count - remaining, chunk, at, part);
            size += part;
            remaining -= part;
        }
        return this;
    }

    Frame raw(byte[] source) {
        return raw(source, 0, source.length);
    }

    Frame bytes(byte[] source) {
        return u4(source.length).raw(source, 0, source.length);
    }

    Frame string(String text) {
        // A search describes thousands of classes while this class is still interpreted, but the JDK's code is compiled.
        if (text.length() <= SHORT) {
            byte[] encoded = text.getBytes(StandardCharsets.UTF_8);
            if (new String(encoded, StandardCharsets.UTF_8).equals(text)) {
                return bytes(encoded);
            }
        }
        int start = size;
        u4(0);
        int length = text.length();
        for (int i = 0; i < length; i++) {
            char c = text.charAt(i);
            if (c < 0x80) {
                u1(c);
            } else if (c < 0x800) {
                u1(0xC0 | c >> 6).u1(0x80 | c & 0x3F);
            } else if (c >= 0xD800 && c < 0xDC00 && i + 1 < length && (text.charAt(i + 1) & 0xFC00) == 0xDC00) {
                int point = 0x10000 + ((c & 0x3FF) << 10) + (text.charAt(++i) & 0x3FF);
                u1(0xF0 | point >> 18).u1(0x80 | point >> 12 & 0x3F).u1(0x80 | point >> 6 & 0x3F).u1(0x80 | point & 0x3F);
            } else {
                u1(0xE0 | c >> 12).u1(0x80 | c >> 6 & 0x3F).u1(0x80 | c & 0x3F);
            }
        }
        putU4(start, size - start - 4);
        return this;
    }

    /** Overwrites four bytes that {@code u4(0)} reserved at {@code at}, with a count that was not known before. */
    Frame patch(int at, int value) {
        putU4(at, value);
        return this;
    }

    /**
     * The arrays with the frame, including its length. All except the last are full, and {@link #size} bytes are valid.
     */
    byte[][] toChunks() {
        putU4(0, size - 4);
        return chunks;
    }

    /** A copy of {@code count} bytes from {@code from} on. */
    byte[] copy(int from, int count) {
        byte[] copy = new byte[count];
        for (int i = 0; i < count; i++) {
            copy[i] = chunks[(from + i) / CHUNK][(from + i) % CHUNK];
        }
        return copy;
    }

    private void putU4(int at, int value) {
        put(at, value >>> 24);
        put(at + 1, value >>> 16);
        put(at + 2, value >>> 8);
        put(at + 3, value);
    }

    private void put(int at, int value) {
        chunk(at, 1)[at % CHUNK] = (byte) value;
    }

    /** Returns the array of a position. It has space for {@code count} bytes there, or for fewer if the array ends. */
    private byte[] chunk(int position, int count) {
        int number = position / CHUNK;
        if (number == chunks.length) {
            chunks = Arrays.copyOf(chunks, number + 1);
            chunks[number] = new byte[CHUNK];
        }
        byte[] chunk = chunks[number];
        int needed = Math.min(CHUNK, position % CHUNK + count);
        if (needed > chunk.length) {
            chunk = Arrays.copyOf(chunk, Math.min(CHUNK, Math.max(needed, chunk.length * 2)));
            chunks[number] = chunk;
        }
        return chunk;
    }
}
