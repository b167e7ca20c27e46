package btpy.agent;

/**
 * SHA-256 and SHA-1 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104).
 *
 * <p>It does not use {@code java.security.MessageDigest}, whose first use loads some two hundred classes, reads the
 * security configuration and calls the providers of the application. All of this happens in the traced process, and the
 * waiting thread itself may be loading one of these classes.
 */
final class Digest {
    private static final int[] ROUND = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
    };

    private Digest() {
    }

    static byte[] sha256(byte[] message) {
        int[] state = {
            0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
        };
        int[] schedule = new int[64];
        int wholeLength = message.length & ~63;
        for (int at = 0; at < wholeLength; at += 64) {
            compress256(state, schedule, message, at);
        }
        byte[] tail = padded(message, wholeLength);
        for (int at = 0; at < tail.length; at += 64) {
            compress256(state, schedule, tail, at);
        }
        return bigEndian(state);
    }

    static byte[] sha1(byte[] message) {
        int[] state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
        int[] schedule = new int[80];
        int wholeLength = message.length & ~63;
        for (int at = 0; at < wholeLength; at += 64) {
            compress1(state, schedule, message, at);
        }
        byte[] tail = padded(message, wholeLength);
        for (int at = 0; at < tail.length; at += 64) {
            compress1(state, schedule, tail, at);
        }
        return bigEndian(state);
    }

    /** HMAC-SHA-256 of the parts, one after the other; {@code key} has at most 64 bytes. */
    static byte[] hmac(byte[] key, byte[]... parts) {
        byte[] inner = new byte[64];
        byte[] outer = new byte[64];
        for (int i = 0; i < 64; i++) {
            byte b = i < key.length ? key[i] : 0;
            inner[i] = (byte) (b ^ 0x36);
            outer[i] = (byte) (b ^ 0x5c);
        }
        byte[] message = inner;
        for (byte[] part : parts) {
            message = join(message, part);
        }
        return sha256(join(outer, sha256(message)));
    }

    /** Equality in a time that does not depend on where the difference is. */
    static boolean equal(byte[] a, byte[] b) {
        int difference = a.length ^ b.length;
        for (int i = 0; i < Math.min(a.length, b.length); i++) {
            difference |= a[i] ^ b[i];
        }
        return difference == 0;
    }

    /** Lower case. */
    static String hex(byte[] bytes) {
        char[] digits = new char[bytes.length * 2];
        for (int i = 0; i < bytes.length; i++) {
            digits[2 * i] = Character.forDigit(bytes[i] >> 4 & 15, 16);
            digits[2 * i + 1] = Character.forDigit(bytes[i] & 15, 16);
        }
        return new String(digits);
    }

    /** Null when the text is not an even number of hex digits. */
    static byte[] parseHex(String text) {
        if ((text.length() & 1) != 0) {
            return null;
        }
        byte[] bytes = new byte[text.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            int high = Character.digit(text.charAt(2 * i), 16);
            int low = Character.digit(text.charAt(2 * i + 1), 16);
            if (high < 0 || low < 0) {
                return null;
            }
            bytes[i] = (byte) (high << 4 | low);
        }
        return bytes;
    }

    private static void compress256(int[] state, int[] w, byte[] block, int at) {
        load(w, block, at);
        for (int t = 16; t < 64; t++) {
            int x = w[t - 15];
            int y = w[t - 2];
            int s0 = Integer.rotateRight(x, 7) ^ Integer.rotateRight(x, 18) ^ x >>> 3;
            int s1 = Integer.rotateRight(y, 17) ^ Integer.rotateRight(y, 19) ^ y >>> 10;
            w[t] = w[t - 16] + s0 + w[t - 7] + s1;
        }
        int a = state[0];
        int b = state[1];
        int c = state[2];
        int d = state[3];
        int e = state[4];
        int f = state[5];
        int g = state[6];
        int h = state[7];
        for (int t = 0; t < 64; t++) {
            int s1 = Integer.rotateRight(e, 6) ^ Integer.rotateRight(e, 11) ^ Integer.rotateRight(e, 25);
            int t1 = h + s1 + (e & f ^ ~e & g) + ROUND[t] + w[t];
            int s0 = Integer.rotateRight(a, 2) ^ Integer.rotateRight(a, 13) ^ Integer.rotateRight(a, 22);
            int t2 = s0 + (a & b ^ a & c ^ b & c);
            h = g;
            g = f;
            f = e;
            e = d + t1;
            d = c;
            c = b;
            b = a;
            a = t1 + t2;
        }
        state[0] += a;
        state[1] += b;
        state[2] += c;
        state[3] += d;
        state[4] += e;
        state[5] += f;
        state[6] += g;
        state[7] += h;
    }

    private static void compress1(int[] state, int[] w, byte[] block, int at) {
        load(w, block, at);
        for (int t = 16; t < 80; t++) {
            w[t] = Integer.rotateLeft(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
        }
        int a = state[0];
        int b = state[1];
        int c = state[2];
        int d = state[3];
        int e = state[4];
        for (int t = 0; t < 80; t++) {
            int f = t < 20 ? (b & c | ~b & d) + 0x5a827999
                : t < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                : t < 60 ? (b & c | b & d | c & d) + 0x8f1bbcdc
                : (b ^ c ^ d) + 0xca62c1d6;
            int sum = Integer.rotateLeft(a, 5) + f + e + w[t];
            e = d;
            d = c;
            c = Integer.rotateLeft(b, 30);
            b = a;
            a = sum;
        }
        state[0] += a;
        state[1] += b;
        state[2] += c;
        state[3] += d;
        state[4] += e;
    }

    /** The end of the message after the whole blocks: its rest, 0x80, zeros, the length in bits as u8. */
    private static byte[] padded(byte[] message, int from) {
        int rest = message.length - from;
        byte[] tail = new byte[rest < 56 ? 64 : 128];
        System.arraycopy(message, from, tail, 0, rest);
        tail[rest] = (byte) 0x80;
        long bits = (long) message.length * 8;
        for (int i = 0; i < 8; i++) {
            tail[tail.length - 1 - i] = (byte) (bits >>> 8 * i);
        }
        return tail;
    }

    /** The words of a block, without a call for each, because a newly loaded agent is interpreted. */
    private static void load(int[] w, byte[] block, int from) {
        int at = from;
        for (int t = 0; t < 16; t++) {
            w[t] = block[at] << 24 | (block[at + 1] & 0xFF) << 16 | (block[at + 2] & 0xFF) << 8 | block[at + 3] & 0xFF;
            at += 4;
        }
    }

    private static byte[] bigEndian(int[] words) {
        byte[] bytes = new byte[words.length * 4];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (words[i >> 2] >>> 24 - 8 * (i & 3));
        }
        return bytes;
    }

    private static byte[] join(byte[] head, byte[] tail) {
        byte[] bytes = new byte[head.length + tail.length];
        System.arraycopy(head, 0, bytes, 0, head.length);
        System.arraycopy(tail, 0, bytes, head.length, tail.length);
        return bytes;
    }
}
