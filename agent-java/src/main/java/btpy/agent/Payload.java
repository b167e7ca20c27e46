package btpy.agent;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A cursor over one message from the client. Every read is checked against the remaining bytes before anything is
 * allocated. A message that is too short, too long or out of range is a {@link ProtocolException}.
 */
final class Payload {
    static final int PROOF = 0x02;
    static final int CONFIGURE = 0x10;
    static final int SEARCH = 0x11;
    static final int READ = 0x12;
    static final int INSTALL = 0x13;
    static final int WATCH = 0x14;
    static final int WEAVE = 0x15;
    static final int WOVEN = 0x16;
    static final int TIMER = 0x17;
    static final int SNAPSHOT = 0x18;
    static final int RELEASE = 0x19;
    static final int PING = 0x1A;
    static final int RESTORE = 0x1B;
    static final int DETACH = 0x1C;
    static final int ENABLE = 0x1D;
    static final int GO = 0x1E;
    static final int LOOK_UP = 0x1F;
    static final int HOOK = 0x20;
    static final int SEND = 0x21;
    static final int REMOVE = 0x22;
    static final int SAMPLE = 0x23;
    static final int LIMIT = 0x24;
    static final int LIST = 0x25;
    static final int JOIN = 0x26;
    static final int LEAVE = 0x27;
    static final int LEVEL = 0x28;
    static final int TELL = 0x29;
    static final int PREWEAVE = 0x2A;
    static final int LOCATE = 0x2B;

    /** The character by which the JDK replaces bytes that are not UTF-8. It has three bytes itself. */
    private static final char INVALID = '\uFFFD';

    final int type;
    private final byte[] bytes;
    private int at;

    /** {@code frame}: a frame without its length field, so that the first byte is the type. */
    Payload(byte[] frame) {
        this(frame, frame[0] & 0xFF, 1);
    }

    private Payload(byte[] bytes, int type, int at) {
        this.bytes = bytes;
        this.type = type;
        this.at = at;
    }

    /** A cursor over a part of a message that the agent has kept. */
    static Payload part(byte[] bytes) {
        return new Payload(bytes, PREWEAVE, 0);
    }

    int u1() throws ProtocolException {
        need(1);
        return bytes[at++] & 0xFF;
    }

    int u2() throws ProtocolException {
        return u1() << 8 | u1();
    }

    int u4() throws ProtocolException {
        need(4);
        int value = (bytes[at] & 0xFF) << 24 | (bytes[at + 1] & 0xFF) << 16 | (bytes[at + 2] & 0xFF) << 8 | bytes[at + 3] & 0xFF;
        at += 4;
        return value;
    }

    /** A u4 that must fit a positive int. */
    int size() throws ProtocolException {
        int value = u4();
        if (value < 0) {
            throw new ProtocolException("a number beyond 2^31 where none can be");
        }
        return value;
    }

    long u8() throws ProtocolException {
        return (long) u4() << 32 | u4() & 0xFFFFFFFFL;
    }

    boolean bool() throws ProtocolException {
        int value = u1();
        if (value > 1) {
            throw new ProtocolException("a bool of " + value);
        }
        return value == 1;
    }

    /** The count of a list whose items have at least {@code itemBytes} each. */
    int count(int itemBytes) throws ProtocolException {
        int count = u4();
        if (count < 0 || (long) count * itemBytes > bytes.length - at) {
            throw new ProtocolException("a list longer than its message");
        }
        return count;
    }

    byte[] raw(int count) throws ProtocolException {
        need(count);
        at += count;
        return Arrays.copyOfRange(bytes, at - count, at);
    }

    byte[] bytes() throws ProtocolException {
        return raw(count(1));
    }

    /** {@code list<bytes>}. */
    byte[][] byteArrays() throws ProtocolException {
        byte[][] values = new byte[count(4)][];
        for (int i = 0; i < values.length; i++) {
            values[i] = bytes();
        }
        return values;
    }

    int[] u4s() throws ProtocolException {
        int[] values = new int[count(4)];
        for (int i = 0; i < values.length; i++) {
            values[i] = u4();
        }
        return values;
    }

    long[] u8s() throws ProtocolException {
        long[] values = new long[count(8)];
        for (int i = 0; i < values.length; i++) {
            values[i] = u8();
        }
        return values;
    }

    String string() throws ProtocolException {
        int count = count(1);
        // A WEAVE has thousands of names while this class is still interpreted, but the JDK's code is compiled.
        String text = new String(bytes, at, count, StandardCharsets.UTF_8);
        if (text.length() == count && text.indexOf(INVALID) < 0) { // one byte for each character: ASCII
            at += count;
            return text;
        }
        char[] chars = new char[count];
        int end = at + count;
        int length = 0;
        while (at < end) {
            int lead = bytes[at++];
            if (lead >= 0) {
                chars[length++] = (char) lead;
            } else if ((lead & 0xE0) == 0xC0) {
                chars[length++] = (char) ((lead & 0x1F) << 6 | continuation(end));
            } else if ((lead & 0xF0) == 0xE0) {
                chars[length++] = (char) ((lead & 0x0F) << 12 | continuation(end) << 6 | continuation(end));
            } else if ((lead & 0xF8) == 0xF0) {
                int point = (lead & 0x07) << 18 | continuation(end) << 12 | continuation(end) << 6 | continuation(end);
                if (point < 0x10000 || point > 0x10FFFF) {
                    throw new ProtocolException("a string that is not UTF-8");
                }
                chars[length++] = (char) (0xD7C0 + (point >> 10));
                chars[length++] = (char) (0xDC00 | point & 0x3FF);
            } else {
                throw new ProtocolException("a string that is not UTF-8");
            }
        }
        return new String(chars, 0, length);
    }

    /** {@code list<string>}. */
    String[] strings() throws ProtocolException {
        String[] values = new String[count(4)];
        for (int i = 0; i < values.length; i++) {
            values[i] = string();
        }
        return values;
    }

    /** All bytes must have been read. */
    void end() throws ProtocolException {
        if (at != bytes.length) {
            throw new ProtocolException("message 0x" + Integer.toHexString(type) + " has " + (bytes.length - at) + " bytes left over");
        }
    }

    private int continuation(int end) throws ProtocolException {
        if (at >= end || (bytes[at] & 0xC0) != 0x80) {
            throw new ProtocolException("a string that is not UTF-8");
        }
        return bytes[at++] & 0x3F;
    }

    private void need(int count) throws ProtocolException {
        if (count < 0 || count > bytes.length - at) {
            throw new ProtocolException("message 0x" + Integer.toHexString(type) + " is too short");
        }
    }
}
