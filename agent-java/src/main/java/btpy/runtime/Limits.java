package btpy.runtime;

/** The capture limits of a session. Each is clamped to the range of the record format. */
public final class Limits {
    /** The bytes of all event buffers together. */
    final int bufferBytes;
    /** The characters of a string before it is cut. */
    final int chars;
    /** The depth of objects up to which fields are shown; 0 shows only the class. */
    final int depth;
    /** The elements of an array or collection. */
    final int elements;
    /** The fields of an object. */
    final int fields;
    /** The frames of a stack, even if the script requests more. */
    final int frames;

    /** Whether values with the names of secrets are hidden. */
    final boolean redact;

    /** The names of secrets. */
    final SecretNames names;

    /** The hash of texts for {@code hash()}. */
    final KeyedHash hash;

    static final int MAX_DEPTH = 16;
    private static final String[] NO_NAMES = {};

    /** Limits with redaction, and with a key that is public. */
    Limits(int bufferBytes, int chars, int depth, int elements, int fields, int frames) {
        this(bufferBytes, chars, depth, elements, fields, frames, true, 0, 0, NO_NAMES);
    }

    /** @param names the names that the user adds to the names of secrets, as {@link SecretNames} compares them */
    public Limits(int bufferBytes, int chars, int depth, int elements, int fields, int frames, boolean redact,
            long firstKey, long secondKey, String[] names) {
        this.bufferBytes = within(bufferBytes, 64 << 10, 64 << 20);
        this.chars = within(chars, 1, 0xFFFF);
        this.depth = within(depth, 0, MAX_DEPTH);
        this.elements = within(elements, 0, 255);
        this.fields = within(fields, 0, 255);
        this.frames = within(frames, 1, 1024);
        this.redact = redact;
        this.names = new SecretNames(names);
        this.hash = new KeyedHash(firstKey, secondKey);
    }

    private static int within(int value, int least, int most) {
        return value < least ? least : value > most ? most : value;
    }
}
