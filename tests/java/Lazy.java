import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;

/**
 * Loads classes on command; its argument is a jar of them. Commands: "run NAME TIMES" uses the application's loader,
 * "apart NAME TIMES" a separate loader, and "altered NAME TIMES" a loader that changes the class file. "all FIRST END"
 * runs each of the classes G0000, G0001 and so on in [FIRST, END) once, with the application's loader. The answer is
 * "ran" and the number of runs.
 */
public final class Lazy {
    private Lazy() {}

    private static final class Apart extends URLClassLoader {
        private final boolean alters;

        Apart(URL archive, boolean alters) {
            super(new URL[] {archive}, ClassLoader.getPlatformClassLoader());
            this.alters = alters;
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            if (!alters) {
                return super.findClass(name);
            }
            try (InputStream in = getResourceAsStream(name + ".class")) {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                for (int next = in.read(); next >= 0; next = in.read()) {
                    out.write(next);
                }
                byte[] bytes = out.toByteArray();
                bytes[7]++; // increases the version of the class file
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException unreadable) {
                throw new ClassNotFoundException(name);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        URL archive = new File(arguments[0]).toURI().toURL();
        ClassLoader own = Lazy.class.getClassLoader();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            int ran = 0;
            if (words[0].equals("all")) {
                for (int i = Integer.parseInt(words[1]); i < Integer.parseInt(words[2]); i++) {
                    ran += run(own, String.format("G%04d", i), 1);
                }
            } else {
                ClassLoader loader = words[0].equals("run") ? own : new Apart(archive, words[0].equals("altered"));
                ran = run(loader, words[1], Integer.parseInt(words[2]));
            }
            System.out.println("ran " + ran);
        }
    }

    private static int run(ClassLoader loader, String name, int times) throws Exception {
        Runnable guest = (Runnable) Class.forName(name, true, loader).getDeclaredConstructor().newInstance();
        for (int i = 0; i < times; i++) {
            guest.run();
        }
        return times;
    }
}
