package btpy.agent;

import btpy.runtime.Headroom;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.instrument.Instrumentation;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import java.security.SecureRandom;

/** Code that depends on the version of the JDK or on the operating system. */
final class Platform {
    /** The memory that restoring classes may need at once, mainly for the list of all loaded classes. */
    private static final int SPARE_BYTES = 512 << 10;

    private static final OutOfMemoryError EXHAUSTED = new OutOfMemoryError("Java heap space");

    private static boolean opened;

    private Platform() {
    }

    /**
     * Makes {@code jdk.internal.misc}, which the runtime needs, {@code jdk.internal.module} and {@code sun.nio.ch}
     * accessible to the agent. This is permanent, because modules cannot be closed again. Nothing to do on JDK 8.
     */
    static synchronized void openInternals(Instrumentation instrumentation) {
        if (!opened && major() >= 9) {
            Jdk9.export(instrumentation, "jdk.internal.misc", "jdk.internal.module", "sun.nio.ch");
        }
        opened = true;
    }

    /** It is called before threads of the application need it, so that its classes are loaded. */
    static void readFromBase() {
        if (major() >= 9) {
            Jdk9.read(Object.class.getModule());
        }
    }

    /** Lets the module of a class access all members of the handlers. This is permanent. */
    static void openHandlers(Class<?> user) {
        if (major() >= 9) {
            Jdk9.openHandlers(user);
        }
    }

    static synchronized boolean hasOpenInternals() {
        return opened;
    }

    /** A blocking connection to {@code unix:/path} (JDK 16 and later) or {@code tcp:port} of the loopback interface. */
    static SocketChannel connect(String endpoint) throws IOException {
        if (endpoint.startsWith("tcp:")) {
            InetAddress loopback = InetAddress.getByAddress(new byte[] {127, 0, 0, 1});
            SocketChannel channel = SocketChannel.open(new InetSocketAddress(loopback, Integer.parseInt(endpoint.substring(4))));
            // A question must not wait until the client's system has acknowledged the message before it (40 ms).
            return channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        }
        if (!endpoint.startsWith("unix:")) {
            throw new ProtocolException("an endpoint that is neither unix: nor tcp:");
        }
        if (major() < 16) {
            throw new IOException("no Unix domain sockets in this JDK");
        }
        return Jdk16.connect(endpoint.substring(5));
    }

    /**
     * {@code count} random bytes of the operating system. If it has no device for them, they come from SecureRandom,
     * which loads the security providers of the application and may wait for entropy.
     */
    static byte[] random(int count) throws IOException {
        byte[] bytes = new byte[count];
        File device = new File("/dev/urandom");
        if (!device.exists()) {
            new SecureRandom().nextBytes(bytes);
            return bytes;
        }
        try (RandomAccessFile in = new RandomAccessFile(device, "r")) {
            in.readFully(bytes);
        }
        return bytes;
    }

    /** The process id as the target sees it, 0 if it is not known. */
    static int pid() {
        try {
            String self = new File("/proc/self").getCanonicalFile().getName();
            if (!self.equals("self")) {
                return Integer.parseInt(self);
            }
        } catch (IOException | NumberFormatException missingFile) {
            // another way follows below
        }
        return major() >= 9 ? Jdk9.pid() : 0;
    }

    /**
     * Whether a retransformation on this JDK removes the {@code MethodParameters} of a class, even if no byte changes
     * (JDK-8240908: fixed in 17.0.20 and 19).
     */
    static boolean losesParameterNames() {
        int[] version = version();
        return version[0] < 17 || version[0] == 18 || version[0] == 17 && version[2] < 20;
    }

    /** Whether transformers are called for anonymous classes, which later versions hide from them. */
    static boolean tellsAnonymousClasses() {
        return major() < 9;
    }

    /**
     * Throws OutOfMemoryError if little memory is left, because {@code java.lang.instrument} prints to the standard
     * error of the target if it runs out of memory during a call. The JVM does not react to this error. If the JVM
     * threw the error itself, {@code -XX:+ExitOnOutOfMemoryError} would end it.
     */
    static void needMemory() {
        if (!Headroom.hasWithoutCollection(SPARE_BYTES)) {
            throw EXHAUSTED;
        }
    }

    private static int major() {
        return version()[0];
    }

    /** Feature, interim and update of {@code java.version}; JDK 8 calls itself 1.8. */
    private static int[] version() {
        String text = System.getProperty("java.version", "");
        int[] version = new int[3];
        int at = 0;
        for (int i = 0; i < version.length && at < text.length(); i++) {
            while (at < text.length() && Character.isDigit(text.charAt(at))) {
                version[i] = version[i] * 10 + text.charAt(at++) - '0';
            }
            at++;
        }
        return version;
    }
}
