import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.reflect.Array;
import java.lang.reflect.Field;

/** Calls the traced method ({@code call N}), and prints its threads, files and memory ({@code state}). */
public final class Soaked {
    private Soaked() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("call")) {
                int sum = 0;
                for (int i = 0; i < Integer.parseInt(words[1]); i++) {
                    sum += step(i);
                }
                System.out.println("called " + sum);
            } else {
                System.out.println("state " + state());
            }
        }
    }

    /** Traced. */
    static int step(int i) {
        return i & 3;
    }

    private static String state() throws Exception {
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(20);
        }
        long metaspace = 0;
        long code = 0;
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            String name = pool.getName();
            metaspace += name.equals("Metaspace") ? pool.getUsage().getUsed() : 0;
            code += name.startsWith("Code") ? pool.getUsage().getUsed() : 0;
        }
        long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
        int threads = ManagementFactory.getThreadMXBean().getThreadCount();
        int files = new File("/proc/self/fd").list().length;
        return "threads=" + threads + " files=" + files + " locals=" + threadLocals() + " heap=" + heap
            + " metaspace=" + metaspace + " code=" + code;
    }

    /** Entries of the main thread; −1 if the JDK does not allow access to them. */
    private static int threadLocals() {
        try {
            Field map = Thread.class.getDeclaredField("threadLocals");
            map.setAccessible(true);
            Object table = map.get(Thread.currentThread());
            if (table == null) {
                return 0;
            }
            Field entries = table.getClass().getDeclaredField("table");
            entries.setAccessible(true);
            int count = 0;
            Object array = entries.get(table);
            for (int i = 0; i < Array.getLength(array); i++) {
                count += Array.get(array, i) == null ? 0 : 1;
            }
            return count;
        } catch (ReflectiveOperationException | RuntimeException closed) {
            return -1;
        }
    }
}
