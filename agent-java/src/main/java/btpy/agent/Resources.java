package btpy.agent;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;

/**
 * Reads class files from the loader of a class. They may differ from the code in the JVM, which only a retransformation
 * shows.
 */
final class Resources {
    private static final int MAX_CLASS_FILE = 8 << 20;

    private Resources() {
    }

    /**
     * Returns null if there is no class file, if it cannot be read or if it is too large. Runs code of the class's
     * loader.
     */
    static byte[] classFile(Class<?> type) {
        try {
            return readAll(type.getResourceAsStream("/" + path(type.getName())));
        } catch (IOException | RuntimeException | LinkageError failure) {
            return null;
        }
    }

    /**
     * Returns the class file of a class that is possibly not loaded, as {@code loader} finds it. A null loader is the boot
     * loader.
     */
    static byte[] classFile(ClassLoader loader, String name) {
        try {
            String path = path(name);
            return readAll(loader == null ? Object.class.getResourceAsStream("/" + path) : loader.getResourceAsStream(path));
        } catch (IOException | RuntimeException | LinkageError failure) {
            return null;
        }
    }

    private static String path(String name) {
        return name.replace('.', '/') + ".class";
    }

    /** Reads and closes the stream. */
    private static byte[] readAll(InputStream in) throws IOException {
        try (InputStream stream = in) {
            return stream == null ? null : content(stream);
        }
    }

    private static byte[] content(InputStream in) throws IOException {
        byte[] buffer = new byte[16 << 10];
        int size = 0;
        int count;
        while ((count = in.read(buffer, size, buffer.length - size)) >= 0) {
            size += count;
            if (size > MAX_CLASS_FILE) {
                return null;
            }
            if (size == buffer.length) {
                buffer = Arrays.copyOf(buffer, size * 2);
            }
        }
        return Arrays.copyOf(buffer, size);
    }
}
