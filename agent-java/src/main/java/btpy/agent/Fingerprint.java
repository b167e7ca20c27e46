package btpy.agent;

import java.util.zip.Adler32;
import java.util.zip.CRC32;

/**
 * Distinguishes class files, and parts of them: CRC-32, Adler-32 and length, 12 bytes. Its checksums are native in
 * every JVM, so it takes microseconds even while the agent's own code is interpreted. ({@link Digest} would take a
 * millisecond in interpreted code for a class of 6 kB, which is longer than the rest of the wait of a class load.) It
 * protects against confusing class files, not against attackers: only the proven client answers, and code that changes
 * classes in the target can already do anything there.
 */
final class Fingerprint {
    static final int LENGTH = 12;

    private Fingerprint() {
    }

    static byte[] of(byte[] classFile) {
        long sums = sums(classFile, 0, classFile.length);
        byte[] print = new byte[LENGTH];
        put(print, 0, (int) (sums >>> 32));
        put(print, 4, (int) sums);
        put(print, 8, classFile.length);
        return print;
    }

    /** The first 8 bytes of the fingerprint of a part. Throws IndexOutOfBoundsException if the part exceeds the end. */
    static long sums(byte[] bytes, int from, int length) {
        CRC32 crc = new CRC32();
        crc.update(bytes, from, length);
        Adler32 adler = new Adler32();
        adler.update(bytes, from, length);
        return crc.getValue() << 32 | adler.getValue();
    }

    private static void put(byte[] print, int at, int value) {
        for (int i = 0; i < 4; i++) {
            print[at + i] = (byte) (value >>> 24 - 8 * i);
        }
    }
}
