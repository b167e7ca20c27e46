import java.net.URL;
import java.net.URLClassLoader;

/** Class loaders that define the same class again, and a class that does not exist. */
public final class DefiningClasses {
    private DefiningClasses() {}

    static final class Item {}

    public static void main(String[] arguments) throws Exception {
        Gate.await();
        for (int i = 0; i < 7; i++) {
            define();
        }
        for (int i = 0; i < 13; i++) {
            search();
        }
        System.out.println("done");
        System.out.flush();
        Gate.pass();
    }

    private static void define() throws Exception {
        URL own = DefiningClasses.class.getProtectionDomain().getCodeSource().getLocation();
        try (Plugin plugin = new Plugin(own)) {
            plugin.loadClass("DefiningClasses$Item");
        }
    }

    private static void search() {
        try {
            Class.forName("com.acme.Missing");
            throw new AssertionError("it exists");
        } catch (ClassNotFoundException e) {
            // the expected result
        }
    }

    static final class Plugin extends URLClassLoader {
        Plugin(URL classes) {
            super(new URL[] {classes}, null);
        }
    }
}
