import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandles;
import java.lang.ref.WeakReference;
import java.lang.reflect.Array;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.jar.JarFile;

/** Carries out the lines of its standard input, with {@link Subject} and with classes of short-lived loaders. */
public final class Stage {
    /** The last dropped loader, as long as it is reachable. */
    private static WeakReference<ClassLoader> loader;

    private static Runnable guest;

    private static Class<?> loaded;

    private Stage() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            System.out.println(words[0] + " " + answer(words));
            System.out.flush();
        }
    }

    private static String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "call":
                return String.valueOf(call(new Subject(), Integer.parseInt(words[1])));
            case "digest":
                return Observer.digest(Class.forName(words[1]));
            case "redefine":
                byte[] bytes = Files.readAllBytes(Paths.get(words[2]));
                Observer.instrumentation().redefineClasses(new ClassDefinition(Class.forName(words[1]), bytes));
                return words[1];
            case "premain": // starts the agent of a jar, with the Instrumentation of this program's own agent
                JarFile jar = new JarFile(words[1]);
                Observer.instrumentation().appendToSystemClassLoaderSearch(jar);
                Class.forName(jar.getManifest().getMainAttributes().getValue("Premain-Class"))
                    .getMethod("premain", String.class, Instrumentation.class)
                    .invoke(null, words[2], Observer.instrumentation());
                return words[1];
            case "load": // only loaded: it is neither linked nor initialised
                loaded = new URLClassLoader(new URL[] {new File(words[1]).toURI().toURL()}, null).loadClass(words[2]);
                return words[2];
            case "begin":
                try {
                    guest = (Runnable) loaded.getDeclaredConstructor().newInstance();
                    return "begun";
                } catch (LinkageError failed) {
                    return failed.getClass().getName();
                }
            case "invite": // a Runnable of a separate loader
                URL[] urls = {new File(words[1]).toURI().toURL()};
                ClassLoader own = new URLClassLoader(urls, Stage.class.getClassLoader().getParent());
                loader = new WeakReference<>(own);
                guest = (Runnable) own.loadClass(words[2]).getDeclaredConstructor().newInstance();
                return words[2];
            case "seclude": // a class of a loader that finds only the JDK's classes in the boot loader
                URL[] places = {new File(words[1]).toURI().toURL()};
                ClassLoader secluded = new URLClassLoader(places, Stage.class.getClassLoader().getParent()) {
                    @Override
                    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
                        if (name.startsWith("btpy.")) {
                            throw new ClassNotFoundException(name);
                        }
                        return super.loadClass(name, resolve);
                    }
                };
                guest = (Runnable) secluded.loadClass(words[2]).getDeclaredConstructor().newInstance();
                return words[2];
            case "hide": // the class as a hidden class (JDK 15 and later)
                guest = hidden(Files.readAllBytes(Paths.get(words[1], words[2] + ".class")));
                return words[2];
            case "run":
                for (int i = 0; i < Integer.parseInt(words[1]); i++) {
                    guest.run();
                }
                return words[1];
            case "drop":
                guest = null;
                while (loader.get() != null) {
                    System.gc();
                    Thread.sleep(200); // the agent lets go of a loader after some seconds
                }
                return "gone";
            case "virtual": // JDK 21 and later
                return virtual(Integer.parseInt(words[1]));
            default:
                return "?";
        }
    }

    private static long call(Subject subject, int times) {
        long sum = 0;
        for (int i = 0; i < times; i++) {
            try {
                sum += subject.work(i);
            } catch (IllegalArgumentException refused) {
                sum--;
            }
        }
        return sum;
    }

    private static Runnable hidden(byte[] bytes) throws Exception {
        Class<?> options = Class.forName("java.lang.invoke.MethodHandles$Lookup$ClassOption");
        Object none = Array.newInstance(options, 0);
        MethodHandles.Lookup made = (MethodHandles.Lookup) MethodHandles.Lookup.class
            .getMethod("defineHiddenClass", byte[].class, boolean.class, none.getClass())
            .invoke(MethodHandles.lookup(), bytes, true, none);
        return (Runnable) made.lookupClass().getDeclaredConstructor().newInstance();
    }

    /** Virtual threads race to load the class; each calls it three times. */
    private static String virtual(int threads) throws Exception {
        CountDownLatch ended = new CountDownLatch(threads);
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            all.add((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable) () -> {
                call(new Subject("v"), 3);
                Thread.yield();
                ended.countDown();
            }));
        }
        ended.await();
        return String.valueOf(threads);
    }
}
