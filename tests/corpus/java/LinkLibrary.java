import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Paths;

/**
 * Links the classes named in a file, one a line, without running them, and prints {@code name outcome} for each. The other arguments
 * are the directories and jars that they come from, in the order of the search; they come before the JVM's own modules.
 */
public class LinkLibrary {
    private static final class ChildFirst extends URLClassLoader {
        ChildFirst(URL[] urls) {
            super(urls, ClassLoader.getPlatformClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                if (loaded != null) {
                    return loaded;
                }
                if (!name.startsWith("java.")) {
                    try {
                        return findClass(name);
                    } catch (ClassNotFoundException absent) {
                        // the JVM's own
                    }
                }
                return super.loadClass(name, resolve);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        URL[] urls = new URL[args.length - 1];
        for (int i = 1; i < args.length; i++) {
            urls[i - 1] = Paths.get(args[i]).toUri().toURL();
        }
        ClassLoader loader = new ChildFirst(urls);
        StringBuilder out = new StringBuilder();
        for (String name : Files.readAllLines(Paths.get(args[0]))) {
            out.append(name).append(' ').append(link(name, loader)).append('\n');
        }
        System.out.print(out);
    }

    /** What HotSpot says when the class is linked, which asking for constructors makes it do. */
    private static String link(String name, ClassLoader loader) {
        try {
            Class<?> type = Class.forName(name, false, loader);
            type.getDeclaredConstructors();
            return type.getClassLoader() == loader ? "linked" : "shadowed";
        } catch (ClassNotFoundException | NoClassDefFoundError error) {
            return "missing " + firstLine(error);
        } catch (Throwable error) {
            return "refused " + firstLine(error);
        }
    }

    private static String firstLine(Throwable error) {
        return error.toString().split("\n", 2)[0];
    }
}
