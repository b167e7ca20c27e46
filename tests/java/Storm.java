import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Collections;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Loads many classes in many threads at once. Arguments: the number of threads, the number of classes, and the
 * directory of Guest.class. The classes are copies of Guest with names of five characters (G0000, G0001, …). Every
 * thread creates an object of each class and runs it, in its own order.
 */
public final class Storm {
    private Storm() {}

    private static final class Copies extends ClassLoader {
        static {
            registerAsParallelCapable();
        }

        private final byte[] original;

        Copies(byte[] original) {
            super(Storm.class.getClassLoader());
            this.original = original;
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            byte[] copy = original.clone();
            byte[] from = "Guest".getBytes(StandardCharsets.US_ASCII);
            for (int at = 0; at + from.length <= copy.length; at++) {
                if (Arrays.equals(copy, at, at + from.length, from, 0, from.length)) {
                    System.arraycopy(name.getBytes(StandardCharsets.US_ASCII), 0, copy, at, from.length);
                }
            }
            return defineClass(name, copy, 0, copy.length);
        }
    }

    public static void main(String[] arguments) throws Exception {
        int threads = Integer.parseInt(arguments[0]);
        List<String> names = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(arguments[1]); i++) {
            names.add(String.format("G%04d", i));
        }
        ClassLoader copies = new Copies(Files.readAllBytes(Paths.get(arguments[2], "Guest.class")));
        BufferedReader gate = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        gate.readLine();
        CountDownLatch start = new CountDownLatch(1);
        AtomicInteger ran = new AtomicInteger();
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            List<String> order = new ArrayList<>(names);
            if (i % 2 == 1) { // all other threads race for the names in the same order
                Collections.shuffle(order, new Random(i));
            }
            Thread thread = new Thread(() -> {
                try {
                    start.await();
                    for (String name : order) {
                        ((Runnable) copies.loadClass(name).getDeclaredConstructor().newInstance()).run();
                        ran.incrementAndGet();
                    }
                } catch (ReflectiveOperationException | InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
            thread.start();
            all.add(thread);
        }
        start.countDown();
        for (Thread each : all) {
            each.join();
        }
        System.out.println("ran " + ran);
        gate.readLine();
    }
}
