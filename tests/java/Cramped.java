import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.nio.charset.StandardCharsets;

/**
 * Fills a memory pool of classes and leaves this number of KiB free, reports that, and loads as many classes as a line of its input says.
 * It prints the class that cannot be loaded.
 */
public final class Cramped extends ClassLoader {
    private static final String NAME = "Cramped$Filler";
    private final byte[] filler = new byte[1 << 16];
    private final int at; // the position of the digits in the class's name
    private int length;
    private int loaded;

    private Cramped() throws Exception {
        super(Cramped.class.getClassLoader());
        try (InputStream in = Cramped.class.getResourceAsStream(NAME + "00000.class")) {
            for (int read; (read = in.read(filler, length, filler.length - length)) > 0; ) {
                length += read;
            }
        }
        String text = new String(filler, 0, length, StandardCharsets.ISO_8859_1);
        at = text.indexOf(NAME + "00000") + NAME.length();
    }

    /** Traced. */
    static int step(int i) {
        return i + 1;
    }

    /** A copy of the class with the next name. */
    private void load() {
        loaded++;
        for (int i = 4, rest = loaded; i >= 0; i--, rest /= 10) {
            filler[at + i] = (byte) ('0' + rest % 10);
        }
        defineClass(null, filler, 0, length);
    }

    private static MemoryPoolMXBean pool(String name) {
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getName().equals(name)) {
                return pool;
            }
        }
        throw new AssertionError(name);
    }

    static class Filler00000 {
        int a(int i) { return i * 3 + b(i); }
        int b(int i) { return i * 5 + c(i); }
        int c(int i) { return i * 7 + d(i); }
        int d(int i) { return i * 11 + e(i); }
        int e(int i) { return i * 13 + f(i); }
        int f(int i) { return i * 17 + g(i); }
        int g(int i) { return i * 19 + h(i); }
        int h(int i) { return i * 23; }
    }

    public static void main(String[] arguments) throws Exception {
        MemoryPoolMXBean pool = pool(arguments[0]);
        long room = Long.parseLong(arguments[1]) << 10;
        Cramped classes = new Cramped();
        System.out.println("loaded " + step(0)); // allocates the memory for printing this line
        while (pool.getUsage().getMax() - pool.getUsage().getCommitted() > room) {
            classes.load();
        }
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            int before = classes.loaded;
            try {
                while (classes.loaded < before + Integer.parseInt(line)) {
                    classes.load();
                }
                System.out.println("loaded " + step(classes.loaded - before - 1));
            } catch (OutOfMemoryError full) {
                System.out.println("failed at " + (classes.loaded - before) + ": " + full.getMessage());
            }
        }
    }
}
