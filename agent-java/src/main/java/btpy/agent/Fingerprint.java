package btpy.agent;

import java.util.zip.Adler32;
import java.util.zip.CRC32;

/**
 * Tells class files, and parts of them, apart: CRC-32, Adler-32 and length, 12 bytes. Native in every JVM, so it takes microseconds also while the
 * agent's own code is new and interpreted. ({@link Digest} then takes a millisecond for a class of 6 kB: more than all else that a class
 * being loaded waits for.) It guards against mixing class files up, not against anybody who means to: who answers has
 * proven to be the client, and who changes classes in the target can do anything there.
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

    /** The first 8 bytes of the fingerprint of a part. Throws IndexOutOfBoundsException when it passes the end. */
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
