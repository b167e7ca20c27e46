package btpy.runtime;

/**
 * SipHash-2-4 (Aumasson and Bernstein 2012) of the UTF-16 code units of a text, little-endian. Without the key an
 * attacker cannot find the text by hashing other texts. No method of the JDK is called, because each may be traced.
 */
final class KeyedHash {
    private final long first;
    private final long second;

    KeyedHash(long first, long second) {
        this.first = first;
        this.second = second;
    }

    long of(String s) {
        long v0 = first ^ 0x736f6d6570736575L;
        long v1 = second ^ 0x646f72616e646f6dL;
        long v2 = first ^ 0x6c7967656e657261L;
        long v3 = second ^ 0x7465646279746573L;
        int length = Strings.length(s);
        int words = length / 4 + 1; // the last word ends with the length in bytes
        for (int i = 0; i <= words; i++) {
            boolean ends = i == words;
            long word = ends ? 0 : word(s, 4 * i, length);
            v3 ^= word;
            v2 ^= ends ? 0xff : 0;
            for (int round = ends ? 4 : 2; round > 0; round--) {
                v0 += v1;
                v1 = (v1 << 13 | v1 >>> 51) ^ v0;
                v0 = v0 << 32 | v0 >>> 32;
                v2 += v3;
                v3 = (v3 << 16 | v3 >>> 48) ^ v2;
                v0 += v3;
                v3 = (v3 << 21 | v3 >>> 43) ^ v0;
                v2 += v1;
                v1 = (v1 << 17 | v1 >>> 47) ^ v2;
                v2 = v2 << 32 | v2 >>> 32;
            }
            v0 ^= word;
        }
        return v0 ^ v1 ^ v2 ^ v3;
    }

    private static long word(String s, int from, int length) {
        long word = 0;
        int count = length - from < 4 ? length - from : 4;
        for (int i = 0; i < count; i++) {
            word |= (long) Strings.charAt(s, from + i) << 16 * i;
        }
        return count < 4 ? word | (long) (2 * length & 0xff) << 56 : word;
    }
}
