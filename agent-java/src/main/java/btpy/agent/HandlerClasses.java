package btpy.agent;

import btpy.runtime.Memory;
import java.util.Arrays;

/**
 * Defines the classes that the client generated. They are defined in the boot loader, where HotSpot does not verify by
 * default. So each class is first linked, with verification, in a temporary loader. Its name is the hash of its
 * content, so the same class is defined once in the life of the JVM, for all sessions.
 */
final class HandlerClasses {
    private static final String PREFIX = "btpy.handlers.Handler_";
    private static final int DIGITS = 40;

    private HandlerClasses() {
    }

    /**
     * Reads a {@code list<HandlerClass>} and defines them all; returns the first error, or null.
     *
     * @param events registers the classes of JFR events among them
     */
    static String define(Payload message, JfrEvents events) throws ProtocolException {
        String error = null;
        for (int remaining = message.count(8); remaining > 0; remaining--) {
            String name = message.string();
            byte[] classFile = message.bytes();
            if (error == null) {
                error = JfrEvents.isEvent(classFile) ? events.define(name, classFile) : define(name, classFile);
            }
        }
        return error;
    }

    /** Defines a class. Returns null if the class is defined afterwards, else the reason why it is not. */
    static String define(String name, byte[] classFile) {
        if (!isHandler(name) || !name.endsWith(Digest.hex(Digest.sha1(withoutHash(classFile, name.substring(PREFIX.length())))))) {
            return name + ": the name is not the hash of the class";
        }
        if (ContextClasses.areUsedBy(ClassHeader.parse(classFile))) {
            ContextClasses.require();
        }
        if (find(name) != null) {
            return null;
        }
        try {
            verify(name, classFile);
            Warmup.loadClassesOf(classFile);
            Memory.instance().defineClass(name, classFile);
            return null;
        } catch (LinkageError | ClassNotFoundException failure) {
            // another session may have defined the class meanwhile
            return find(name) != null ? null : name + ": " + failure;
        }
    }

    /** Links the class in a separate loader. Throws LinkageError when it is not valid. */
    static void verify(String name, byte[] classFile) throws ClassNotFoundException {
        Class.forName(name, true, new VerifyingLoader(name, classFile));
    }

    /** A handler that was defined; null when there is none of that name. */
    static Class<?> find(String name) {
        if (!isHandler(name)) {
            return null;
        }
        try {
            return Class.forName(name, false, null);
        } catch (ClassNotFoundException missingClass) {
            return null;
        }
    }

    static boolean isHandler(String name) {
        return name.startsWith(PREFIX) && name.length() == PREFIX.length() + DIGITS;
    }

    private static byte[] withoutHash(byte[] classFile, String digits) {
        byte[] copy = classFile.clone();
        for (int at = 0; at + DIGITS <= copy.length; at++) {
            int i = 0;
            while (i < DIGITS && copy[at + i] == digits.charAt(i)) {
                i++;
            }
            if (i == DIGITS) {
                Arrays.fill(copy, at, at + DIGITS, (byte) '0');
                at += DIGITS - 1;
            }
        }
        return copy;
    }

    private static final class VerifyingLoader extends ClassLoader {
        private final String name;
        private final byte[] classFile;

        VerifyingLoader(String name, byte[] classFile) {
            super(null);
            this.name = name;
            this.classFile = classFile;
        }

        @Override
        protected Class<?> findClass(String requestedName) throws ClassNotFoundException {
            if (!requestedName.equals(name)) {
                throw new ClassNotFoundException(requestedName);
            }
            return defineClass(name, classFile, 0, classFile.length);
        }
    }
}
