package btpy.launcher;

import btpy.agent.Agent;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.Instrumentation;
import java.util.function.Consumer;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * What the JVM starts: defines the classes of the agent and of the run-time in the boot loader, then starts the agent there.
 *
 * <p>They are not found through the boot class path, although a manifest can extend it: once anything has been appended, HotSpot
 * stops sharing the archived classes of the application (class data sharing) and complains on its standard output at every
 * attach. They travel in one entry of this jar, each after its superclass and interfaces, and are defined once in the life
 * of the JVM; a later attach finds them there.
 *
 * <p>Nothing is ever printed and nothing is thrown: a target in which this cannot work goes on as if nothing had happened.
 */
public final class Launcher {
    private Launcher() {
    }

    /** For a JVM that runs already. */
    public static void agentmain(String options, Instrumentation instrumentation) {
        launch(options, instrumentation);
    }

    /** For {@code -javaagent}. */
    public static void premain(String options, Instrumentation instrumentation) {
        launch(options, instrumentation);
    }

    private static void launch(String options, Instrumentation instrumentation) {
        try {
            if (!defined()) {
                define(instrumentation);
            }
            Agent.start(options, instrumentation);
        } catch (Throwable unusable) {
            // whatever it is, it must not reach the target's standard error
        }
    }

    private static boolean defined() {
        try {
            return Class.forName("btpy.agent.Agent", false, null) != null;
        } catch (ClassNotFoundException first) {
            return false;
        }
    }

    /** {@code btpy/boot.classes} is a row of class files, each after its length in four bytes. */
    private static void define(Instrumentation instrumentation) throws Exception {
        // Read from the jar itself: a resource of a class loader would bring in URL connections and their caches.
        ZipFile jar = new ZipFile(new File(Launcher.class.getProtectionDomain().getCodeSource().getLocation().toURI()));
        try {
            Consumer<byte[]> definer = jdk8() ? new Jdk8Definer() : exported(jar, instrumentation);
            byte[] all = read(jar, "btpy/boot.classes");
            for (int at = 0; at < all.length; ) { // no DataInputStream: on JDK 21 it brings in 17 classes
                int length = (all[at] & 0xFF) << 24 | (all[at + 1] & 0xFF) << 16 | (all[at + 2] & 0xFF) << 8 | all[at + 3] & 0xFF;
                byte[] data = new byte[length];
                System.arraycopy(all, at + 4, data, 0, length);
                definer.accept(data);
                at += 4 + length;
            }
        } finally {
            jar.close();
        }
    }

    private static boolean jdk8() {
        return System.getProperty("java.specification.version", "").startsWith("1.");
    }

    @SuppressWarnings("unchecked")
    private static Consumer<byte[]> exported(ZipFile jar, Instrumentation instrumentation) throws Exception {
        byte[] data = read(jar, "btpy/launcher/Definer.class");
        return (Consumer<byte[]>) new Exported(instrumentation).define(data).getDeclaredConstructor().newInstance();
    }

    private static byte[] read(ZipFile jar, String name) throws IOException {
        ZipEntry entry = jar.getEntry(name);
        InputStream in = jar.getInputStream(entry);
        byte[] data = new byte[(int) entry.getSize()];
        for (int at = 0; at < data.length; ) {
            int read = in.read(data, at, data.length - at);
            if (read < 0) {
                throw new EOFException(name);
            }
            at += read;
        }
        return data;
    }
}
