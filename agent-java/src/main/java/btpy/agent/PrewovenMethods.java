package btpy.agent;

import static btpy.agent.ClassHeader.MEMBER_HEAD;
import static btpy.agent.ClassHeader.u2;
import static btpy.agent.ClassHeader.u4;

/**
 * Methods of a class that the client has woven into the class file before the JVM shows the class to the transformer.
 *
 * <p>The JVM shows an equivalent class file, in which methods may be in another order and attributes may be missing.
 * The woven code of a method depends on the version of the class file, on its constant pool, and on the flags and the
 * Code attribute of the method. If these are all the same, the woven Code attributes replace the existing ones, and the
 * new constants follow the old ones. The rest of the class file is not changed. The comparison uses a {@link
 * Fingerprint} of each part: comparing bytes in code that is still interpreted takes almost a millisecond for a class.
 */
final class PrewovenMethods {
    private static final int VERSION_AT = 4;
    private static final int POOL_AT = 8;

    /** The fingerprint of the part from the version to the end of the constant pool. */
    private final long beginningHash;
    private final int beginningLength;
    private final int poolCount;
    /** The constants that are added to those of the class. */
    final byte[] constants;
    private final int codeName;

    /** The names of the parameters in the class file of the client. */
    private final ParameterNames parameterNames;

    /**
     * For each method its flags, {@code name_index << 16 | descriptor_index}, the fingerprint and the length of its
     * Code attribute, and the woven Code attribute.
     */
    private final int[] flags;
    private final int[] methods;
    private final long[] shownCodes;
    private final int[] shownLengths;
    private final byte[][] codes;

    /** Reads the last part of {@code PrewovenMethods} (docs/protocol.md). */
    PrewovenMethods(Payload message) throws ProtocolException {
        beginningHash = message.u8();
        beginningLength = message.size();
        poolCount = message.u2();
        constants = message.bytes();
        codeName = message.u2();
        parameterNames = ParameterNames.of(message.byteArrays());
        flags = new int[message.count(22)];
        methods = new int[flags.length];
        shownCodes = new long[flags.length];
        shownLengths = new int[flags.length];
        codes = new byte[flags.length][];
        for (int i = 0; i < flags.length; i++) {
            flags[i] = message.u2();
            methods[i] = message.u4();
            shownCodes[i] = message.u8();
            shownLengths[i] = message.u4();
            codes[i] = message.bytes();
        }
    }

    /**
     * Returns the names of the parameters of a class that the JVM shows without them. If the client has woven another
     * class, these are the names in the class file of the loader, which runs the code of the loader.
     */
    ParameterNames parameterNames(Class<?> type, byte[] shownFile) {
        if (beginsAs(shownFile)) {
            return parameterNames;
        }
        try {
            ParameterNames names = ParameterNames.of(type);
            return names == null ? parameterNames : names;
        } catch (Throwable failure) { // of the loader, or no memory is left
            return parameterNames;
        }
    }

    private boolean beginsAs(byte[] shownFile) {
        return beginningLength <= shownFile.length - VERSION_AT
                && Fingerprint.sums(shownFile, VERSION_AT, beginningLength) == beginningHash;
    }

    /**
     * Returns the class with the woven methods, or null if the shown class differs from the one that the client has
     * woven.
     */
    byte[] weaveInto(byte[] shownFile) {
        try {
            if (!beginsAs(shownFile)) {
                return null;
            }
            int poolEnd = VERSION_AT + beginningLength;
            Places places = new Places(methods.length);
            return find(shownFile, poolEnd, places) ? insert(shownFile, poolEnd, places) : null;
        } catch (IndexOutOfBoundsException invalidFile) {
            return null;
        }
    }

    /** The offset of the content of each method's Code attribute, and the order of the methods in the class. */
    private static final class Places {
        final int[] codes;
        final int[] order;

        Places(int methods) {
            codes = new int[methods];
            order = new int[methods];
        }
    }

    /** Finds the methods. Returns false if a method is missing or differs. */
    private boolean find(byte[] b, int poolEnd, Places places) {
        int count = 0;
        int at = ClassHeader.fieldsAt(b, poolEnd);
        for (int table = 0; table < 2; table++) { // fields, methods
            int members = u2(b, at);
            at += 2;
            for (int member = 0; member < members; member++) {
                int head = at;
                int method = table == 0 ? -1 : indexOf(u4(b, head + 2));
                at += MEMBER_HEAD;
                for (int attributes = u2(b, head + 6); attributes > 0; attributes--) {
                    int end = ClassHeader.endOfAttribute(b, at);
                    if (method >= 0 && u2(b, at) == codeName && places.codes[method] == 0) {
                        int code = at + ClassHeader.ATTRIBUTE_HEAD;
                        int length = end - code;
                        if (u2(b, head) != flags[method] || length != shownLengths[method]
                            || Fingerprint.sums(b, code, length) != shownCodes[method]) {
                            return false;
                        }
                        places.codes[method] = code;
                        places.order[count++] = method;
                    }
                    at = end;
                }
            }
        }
        return count == methods.length;
    }

    private int indexOf(int method) {
        for (int i = 0; i < methods.length; i++) {
            if (methods[i] == method) {
                return i;
            }
        }
        return -1;
    }

    private byte[] insert(byte[] b, int poolEnd, Places places) {
        int size = b.length + constants.length;
        for (int i = 0; i < methods.length; i++) {
            size += codes[i].length - u4(b, places.codes[i] - 4);
        }
        byte[] out = new byte[size];
        int to = copy(b, 0, poolEnd, out, 0);
        out[POOL_AT] = (byte) (poolCount >>> 8);
        out[POOL_AT + 1] = (byte) poolCount;
        to = copy(constants, 0, constants.length, out, to);
        int from = poolEnd;
        for (int i : places.order) {
            to = copy(b, from, places.codes[i] - 4, out, to);
            for (int shift = 24; shift >= 0; shift -= 8) {
                out[to++] = (byte) (codes[i].length >>> shift);
            }
            to = copy(codes[i], 0, codes[i].length, out, to);
            from = places.codes[i] + u4(b, places.codes[i] - 4);
        }
        copy(b, from, b.length, out, to);
        return out;
    }

    /** Copies [from, end) and returns the end of the copy. */
    private static int copy(byte[] source, int from, int end, byte[] target, int to) {
        System.arraycopy(source, from, target, to, end - from);
        return to + end - from;
    }
}
