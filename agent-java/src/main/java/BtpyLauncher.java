import btpy.handlers.Starter;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.security.ProtectionDomain;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * The entry point for the JVM. It defines the classes of the agent and of the run-time in the boot loader, on JDK 9 and
 * later in their own module ({@code btpy.launcher.Definer}), then starts the agent there.
 *
 * <p>It does not use the boot class path, although a manifest can extend it. When anything has been appended to it,
 * HotSpot stops sharing the archived classes of the application (class data sharing) and prints a warning at every
 * attach. The classes are in one entry of this jar, each after its superclass and interfaces. They are defined once in
 * the life of the JVM; later attaches find them there.
 *
 * <p>This class is in no package. For a class of a named package the JVM's loader reads the manifest of the jar for
 * that package, and parsing a manifest loads twenty classes that check signatures.
 *
 * <p>It never prints and never throws: a target in which it cannot work continues undisturbed.
 */
public final class BtpyLauncher {
    private BtpyLauncher() {
    }

    /** The entry point in a running JVM. */
    public static void agentmain(String options, Instrumentation instrumentation) {
        launch(options, instrumentation);
    }

    /**
     * The entry point for {@code -javaagent}. Without options it does nothing, but even then it makes later attaches
     * cheaper: up to JDK 21, if an agent may retransform, HotSpot records from the start which compiled code depends on
     * which methods, and later discards only that code.
     */
    public static void premain(String options, Instrumentation instrumentation) {
        if (options != null && !options.isEmpty()) {
            launch(options, instrumentation);
        }
    }

    private static void launch(String options, Instrumentation instrumentation) {
        try {
            if (!isDefined()) {
                define(instrumentation);
            }
            Starter.start(options, instrumentation);
        } catch (Throwable failure) {
            // no error may reach the target's standard error
        }
    }

    private static boolean isDefined() {
        try {
            return Class.forName("btpy.handlers.Starter", false, null) != null;
        } catch (ClassNotFoundException first) {
            return false;
        }
    }

    /** Defines the classes of {@code btpy/boot.classes}, a sequence of class files, each after its length in four bytes. */
    private static void define(Instrumentation instrumentation) throws Exception {
        // The classes are read from the jar itself, because a resource of a class loader would load URL connections and
        // their caches.
        try (ZipFile jar = new ZipFile(new File(BtpyLauncher.class.getProtectionDomain().getCodeSource().getLocation().toURI()))) {
            Consumer<byte[]> definer = isJdk8() ? new Jdk8Definer() : moduleDefiner(jar, instrumentation);
            ZipEntry entry = jar.getEntry("btpy/boot.classes");
            InputStream in = jar.getInputStream(entry);
            // one at a time, because all classes together have 400 kB
            for (long remaining = entry.getSize(); remaining > 0; ) {
                byte[] length = read(in, 4); // no DataInputStream: on JDK 21 it loads 17 classes
                byte[] data = read(in, (length[0] & 0xFF) << 24 | (length[1] & 0xFF) << 16 | (length[2] & 0xFF) << 8 | length[3] & 0xFF);
                definer.accept(data);
                remaining -= 4 + data.length;
            }
        }
    }

    /** Creates the definer of classes. Only the stack of the caller refers to it, so the application cannot find it. */
    @SuppressWarnings("unchecked")
    private static Consumer<byte[]> moduleDefiner(ZipFile jar, Instrumentation instrumentation) throws Exception {
        ZipEntry entry = jar.getEntry("btpy/launcher/Definer.class");
        byte[] data = read(jar.getInputStream(entry), (int) entry.getSize());
        Object definer = new Exported(instrumentation).define(data).getDeclaredConstructor().newInstance();
        ((Runnable) definer).run();
        return (Consumer<byte[]>) definer;
    }

    private static boolean isJdk8() {
        return System.getProperty("java.specification.version", "").startsWith("1.");
    }

    private static byte[] read(InputStream in, int count) throws IOException {
        byte[] data = new byte[count];
        for (int at = 0; at < data.length; ) {
            int read = in.read(data, at, data.length - at);
            if (read < 0) {
                throw new EOFException("the agent's jar");
            }
            at += read;
        }
        return data;
    }

    /**
     * A loader to whose module internal packages are exported. After the classes are defined, the loader and its
     * exports become garbage; an export to the module of the application would remain. Only an Instrumentation can
     * create such exports.
     */
    private static final class Exported extends ClassLoader {
        Exported(Instrumentation instrumentation) {
            super(null);
            Set<Module> ownModules = Collections.singleton(getUnnamedModule());
            Map<String, Set<Module>> exports = new HashMap<String, Set<Module>>();
            exports.put("jdk.internal.misc", ownModules);
            exports.put("jdk.internal.module", ownModules);
            instrumentation.redefineModule(Object.class.getModule(), new HashSet<Module>(), exports,
                new HashMap<String, Set<Module>>(), new HashSet<Class<?>>(), new HashMap<Class<?>, List<Class<?>>>());
        }

        Class<?> define(byte[] data) {
            // The class gets the permissions of the launcher, because a security manager may grant them to its jar.
            return defineClass(null, data, 0, data.length, BtpyLauncher.class.getProtectionDomain());
        }
    }

    /**
     * Defines class files in the boot loader of JDK 8. It uses reflection, because later JDKs removed the method from
     * {@code sun.misc.Unsafe}.
     */
    private static final class Jdk8Definer implements Consumer<byte[]> {
        private final Object unsafe;
        private final Method defineClass;

        Jdk8Definer() throws ReflectiveOperationException {
            Class<?> type = Class.forName("sun.misc.Unsafe");
            Field field = type.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            unsafe = field.get(null);
            defineClass = type.getMethod("defineClass", String.class, byte[].class, int.class, int.class, ClassLoader.class,
                ProtectionDomain.class);
        }

        @Override
        public void accept(byte[] data) {
            try {
                defineClass.invoke(unsafe, null, data, 0, data.length, null, null);
            } catch (ReflectiveOperationException failure) {
                throw new LinkageError(failure.toString(), failure);
            }
        }
    }
}
