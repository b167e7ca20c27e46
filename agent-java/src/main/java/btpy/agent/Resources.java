package btpy.agent;

import java.io.IOException;
import java.io.InputStream;

/** Class files as the loader of a class gives them out; never what the JVM holds, which only a retransformation shows. */
final class Resources {
    private static final int MAX_CLASS_FILE = 8 << 20;

    private Resources() {
    }

    /** Null when there is none, it cannot be read or it is absurdly large. Runs the code of the class's loader. */
    static byte[] classFile(Class<?> type) {
        String path = type.getName().replace('.', '/') + ".class";
        try {
            InputStream in = type.getResourceAsStream("/" + path);
            if (in == null) {
                return null;
            }
            try {
                return readAll(in);
            } finally {
                in.close();
            }
        } catch (IOException | RuntimeException | LinkageError unreadable) {
            return null;
        }
    }

    private static byte[] readAll(InputStream in) throws IOException {
        byte[] buffer = new byte[16 << 10];
        int size = 0;
        while (true) {
            int count = in.read(buffer, size, buffer.length - size);
            if (count < 0) {
                byte[] exact = new byte[size];
                System.arraycopy(buffer, 0, exact, 0, size);
                return exact;
            }
            size += count;
            if (size > MAX_CLASS_FILE) {
                return null;
            }
            if (size == buffer.length) {
                byte[] larger = new byte[size * 2];
                System.arraycopy(buffer, 0, larger, 0, size);
                buffer = larger;
            }
        }
    }
}
