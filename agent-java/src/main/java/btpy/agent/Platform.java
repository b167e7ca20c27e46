package btpy.agent;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.Instrumentation;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.SocketAddress;
import java.nio.channels.SocketChannel;
import java.security.SecureRandom;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** All that is newer than Java 8 or depends on the operating system, reached by reflection; each has a fallback for older JDKs. */
final class Platform {
    private Platform() {
    }

    /**
     * Exports {@code jdk.internal.misc} to the module of the agent, which is the unnamed module of the boot loader. The
     * export stays for the life of the JVM: modules can only be opened. Nothing to do on JDK 8.
     */
    static void openInternals(Instrumentation instrumentation) throws Exception {
        Class<?> module;
        try {
            module = Class.forName("java.lang.Module");
        } catch (ClassNotFoundException jdk8) {
            return;
        }
        Object base = Class.class.getMethod("getModule").invoke(Object.class);
        Object ours = Class.class.getMethod("getModule").invoke(Platform.class);
        Set<Object> to = Collections.singleton(ours);
        Map<String, Set<Object>> exports = new HashMap<String, Set<Object>>();
        exports.put("jdk.internal.misc", to);
        Instrumentation.class
            .getMethod("redefineModule", module, Set.class, Map.class, Map.class, Set.class, Map.class)
            .invoke(instrumentation, base, Collections.emptySet(), exports, Collections.emptyMap(), Collections.emptySet(),
                Collections.emptyMap());
    }

    /** A blocking connection to {@code unix:/path} (JDK 16 and later) or {@code tcp:port} of the loopback interface. */
    static SocketChannel connect(String endpoint) throws IOException {
        if (endpoint.startsWith("tcp:")) {
            InetAddress loopback = InetAddress.getByAddress(new byte[] {127, 0, 0, 1});
            return SocketChannel.open(new InetSocketAddress(loopback, Integer.parseInt(endpoint.substring(4))));
        }
        if (!endpoint.startsWith("unix:")) {
            throw new ProtocolException("an endpoint that is neither unix: nor tcp:");
        }
        try {
            Class<?> addresses = Class.forName("java.net.UnixDomainSocketAddress");
            SocketAddress address = (SocketAddress) addresses.getMethod("of", String.class).invoke(null, endpoint.substring(5));
            Object unix = Class.forName("java.net.StandardProtocolFamily").getField("UNIX").get(null);
            SocketChannel channel = (SocketChannel) SocketChannel.class.getMethod("open", ProtocolFamily.class).invoke(null, unix);
            try {
                channel.connect(address);
                return channel;
            } catch (Throwable failed) {
                channel.close();
                throw failed;
            }
        } catch (ReflectiveOperationException absent) {
            throw new IOException("no Unix domain sockets in this JDK", absent);
        } catch (IOException | RuntimeException | Error failed) {
            throw failed;
        } catch (Throwable failed) {
            throw new IOException(failed);
        }
    }

    /**
     * {@code count} random bytes of the operating system. SecureRandom, where there is no such device, loads the security
     * providers of the application and may wait for entropy.
     */
    static byte[] random(int count) throws IOException {
        byte[] bytes = new byte[count];
        File device = new File("/dev/urandom");
        if (!device.exists()) {
            new SecureRandom().nextBytes(bytes);
            return bytes;
        }
        InputStream in = new FileInputStream(device);
        try {
            for (int have = 0; have < count; ) {
                int got = in.read(bytes, have, count - have);
                if (got < 0) {
                    throw new IOException("/dev/urandom ended");
                }
                have += got;
            }
        } finally {
            in.close();
        }
        return bytes;
    }

    /** The process id as the target sees it, 0 when it cannot be told. */
    static int pid() {
        try {
            String self = new File("/proc/self").getCanonicalFile().getName();
            if (!self.equals("self")) {
                return Integer.parseInt(self);
            }
            Object current = Class.forName("java.lang.ProcessHandle").getMethod("current").invoke(null);
            return ((Long) Class.forName("java.lang.ProcessHandle").getMethod("pid").invoke(current)).intValue();
        } catch (IOException | ReflectiveOperationException | NumberFormatException unknown) {
            return 0;
        }
    }

    /**
     * Whether a retransformation on this JDK takes the {@code MethodParameters} of a class away, even when no byte changes
     * (JDK-8240908: fixed in 17.0.20 and 19).
     */
    static boolean losesParameterNames(String javaVersion) {
        int[] version = new int[3];
        int at = 0;
        for (int i = 0; i < version.length && at < javaVersion.length(); i++) {
            while (at < javaVersion.length() && Character.isDigit(javaVersion.charAt(at))) {
                version[i] = version[i] * 10 + javaVersion.charAt(at++) - '0';
            }
            at++;
        }
        return version[0] < 17 || version[0] == 18 || version[0] == 17 && version[2] < 20;
    }
}
