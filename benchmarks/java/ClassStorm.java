import java.io.BufferedReader;
import java.io.File;
import java.io.FileWriter;
import java.io.InputStreamReader;
import java.io.Writer;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

/**
 * Loads classes: arguments are a jar and a file of class names. "load FILE" on standard input loads all classes in a
 * new loader, which stays referenced. It prints "loaded CLASSES NANOSECONDS CPU-NANOSECONDS" of the loading thread. For
 * each class whose loading loaded no other class, it writes the name and the nanoseconds into the file.
 */
public final class ClassStorm {
    private ClassStorm() {}

    private static final class Counting extends URLClassLoader {
        int defined;

        Counting(URL jar) {
            super(new URL[] {jar}, ClassLoader.getPlatformClassLoader());
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            Class<?> found = super.findClass(name);
            defined++;
            return found;
        }
    }

    public static void main(String[] arguments) throws Exception {
        URL jar = new File(arguments[0]).toURI().toURL();
        List<String> names = Files.readAllLines(Paths.get(arguments[1]));
        List<ClassLoader> kept = new ArrayList<>();
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Counting loader = new Counting(jar);
            kept.add(loader);
            long[] nanos = new long[names.size()];
            long begin = System.nanoTime();
            long processor = threads.getCurrentThreadCpuTime();
            for (int i = 0; i < nanos.length; i++) {
                int before = loader.defined;
                long start = System.nanoTime();
                try {
                    Class.forName(names.get(i), false, loader);
                } catch (ClassNotFoundException | LinkageError absent) {
                    continue; // the class extends a class that the jar does not have
                }
                if (loader.defined == before + 1) {
                    nanos[i] = System.nanoTime() - start;
                }
            }
            processor = threads.getCurrentThreadCpuTime() - processor;
            long total = System.nanoTime() - begin;
            try (Writer out = new FileWriter(line.substring("load ".length()))) {
                for (int i = 0; i < nanos.length; i++) {
                    if (nanos[i] != 0) {
                        out.write(names.get(i) + " " + nanos[i] + "\n");
                    }
                }
            }
            System.out.println("loaded " + loader.defined + " " + total + " " + processor);
        }
        System.exit(0);
    }
}
