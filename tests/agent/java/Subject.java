import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;

/** Carries out the orders on stdin, and answers each with one line. */
public final class Subject {
    interface Greeting {
        String text();
    }

    static class Base implements Greeting {
        public String text() {
            return "Base says plain!";
        }
    }

    static class Derived extends Base {
        @Override
        public String text() {
            return "Derived says plain!";
        }
    }

    /** Loaded only by an order, together with its superclass. */
    static class LateBase extends Base {
        @Override
        public String text() {
            return "LateBase says plain!";
        }
    }

    static class Late extends LateBase {
        @Override
        public String text() {
            return "Late says plain!";
        }
    }

    static class Later {
        @Override
        public String toString() {
            return "Later says plain!";
        }
    }

    @Deprecated
    static class Marked {
        @Override
        public String toString() {
            return "Marked says plain!";
        }
    }

    /** Finds the classes in this directory and the classes of the JDK, but no other class of the boot loader. */
    static final class Island extends URLClassLoader {
        Island(URL[] urls) {
            super(urls, null);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.startsWith("btpy.")) {
                throw new ClassNotFoundException(name);
            }
            return super.loadClass(name, resolve);
        }
    }

    /** The loader of the classes that {@code make} orders name. */
    private static ClassLoader loader = Subject.class.getClassLoader();

    public static void main(String[] args) throws Exception {
        Runnable hidden = () -> System.out.println("ready");
        Base base = new Base();
        Derived derived = new Derived();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        hidden.run();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println("> " + obey(line.split(" "), base, derived));
        }
    }

    private static String obey(String[] order, Base base, Derived derived) throws Exception {
        switch (order[0]) {
            case "base":
                return base.text();
            case "derived":
                return derived.text();
            case "make":
                return say(Class.forName(order[1], true, loader));
            case "renew": // from now on, the orders load the classes of this file again
                loader = new URLClassLoader(new URL[] {here()}, Subject.class.getClassLoader().getParent());
                return "renewed";
            case "make-interrupted":
                Thread.currentThread().interrupt();
                String said = say(Class.forName(order[1]));
                return said + " " + Thread.interrupted();
            case "make-on-island":
                return say(Class.forName(order[1], true, new Island(new URL[] {here()})));
            case "threads":
                Set<String> names = new TreeSet<>();
                for (Thread thread : Thread.getAllStackTraces().keySet()) {
                    if (thread.getName().startsWith("btpy") || thread.getClass().getName().startsWith("btpy")) {
                        names.add(thread.getName());
                    }
                }
                return names.toString();
            case "hoard":
                return hoard(Integer.parseInt(order[1]));
            default:
                throw new IllegalArgumentException(order[0]);
        }
    }

    private static URL here() throws Exception {
        return new File(Subject.class.getProtectionDomain().getCodeSource().getLocation().toURI()).toURI().toURL();
    }

    /** Fills the whole heap for this number of milliseconds. */
    private static String hoard(int millis) throws Exception {
        rest(1); // links `rest` while there is memory
        Object[] last = {};
        for (int size = 1 << 18; size > 0; ) {
            try {
                Object[] next = new Object[size];
                next[0] = last;
                last = next;
            } catch (OutOfMemoryError full) {
                size >>= 1;
            }
        }
        rest(millis);
        int length = last.length;
        last = null;
        return "free of " + length;
    }

    /** Thread.sleep may allocate memory, and parkNanos does not. */
    private static void rest(int millis) {
        for (long end = System.nanoTime() + millis * 1_000_000L; System.nanoTime() - end < 0; ) {
            LockSupport.parkNanos(1_000_000);
        }
    }

    private static String say(Class<?> type) throws Exception {
        java.lang.reflect.Constructor<?> constructor = type.getDeclaredConstructor();
        constructor.setAccessible(true);
        Object made = constructor.newInstance();
        try {
            java.lang.reflect.Method text = type.getMethod("text");
            text.setAccessible(true);
            return (String) text.invoke(made);
        } catch (NoSuchMethodException absent) {
            return made.toString();
        }
    }
}
