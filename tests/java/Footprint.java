import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;

/**
 * Prints its memory: {@code state} after a collection; {@code measure METHOD TIMES} the bytes that this thread allocates in calls of a
 * method; {@code virtual THREADS} the state while each of this number of virtual threads is inside a method.
 */
public final class Footprint {
    private static final com.sun.management.ThreadMXBean THREADS =
        (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static final String TEXT = "thirty-one characters of a string";
    private static final Object OBJECT = new Footprint();

    private final int field = 7;

    private Footprint() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        state();
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("state")) {
                System.out.println("state " + state());
            } else if (words[0].equals("measure")) {
                System.out.println("allocated " + measure(words[1], Integer.parseInt(words[2])));
            } else {
                System.out.println("virtual " + virtual(Integer.parseInt(words[1])));
            }
        }
    }

    private static String state() throws Exception {
        System.gc();
        return collected();
    }

    /** One collection is exact enough for many virtual threads, whose stacks take a second in each collection. */
    private static String collected() throws Exception {
        System.gc();
        long metaspace = 0;
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            metaspace += pool.getName().equals("Metaspace") ? pool.getUsage().getUsed() : 0; // compressed classes included
        }
        return "heap=" + ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() + " metaspace=" + metaspace
            + " classes=" + ManagementFactory.getClassLoadingMXBean().getTotalLoadedClassCount();
    }

    private static long measure(String what, int times) {
        long id = Thread.currentThread().getId();
        long before = THREADS.getThreadAllocatedBytes(id);
        long nothing = THREADS.getThreadAllocatedBytes(id) - before;
        before = THREADS.getThreadAllocatedBytes(id);
        run(what, times);
        return THREADS.getThreadAllocatedBytes(id) - before - nothing;
    }

    private static void run(String what, int times) {
        switch (what) {
            case "count":
                for (int i = 0; i < times; i++) count();
                break;
            case "keyed":
                for (int i = 0; i < times; i++) keyed(i & 7);
                break;
            case "named":
                for (int i = 0; i < times; i++) named(TEXT);
                break;
            case "hist":
                for (int i = 0; i < times; i++) hist(i);
                break;
            case "timed":
                for (int i = 0; i < times; i++) timed();
                break;
            case "values":
                for (int i = 0; i < times; i++) values(i, i, i);
                break;
            case "string":
                for (int i = 0; i < times; i++) string(TEXT);
                break;
            case "object":
                for (int i = 0; i < times; i++) object(OBJECT);
                break;
            case "stack":
                for (int i = 0; i < times; i++) stack();
                break;
            default:
                throw new IllegalArgumentException(what);
        }
    }

    static void count() {}

    static void keyed(int key) {}

    static void named(String key) {}

    static void hist(int value) {}

    static void timed() {}

    static void values(int a, long b, double c) {}

    static void string(String text) {}

    static void object(Object object) {}

    static void stack() {}

    /** Uses reflection, because it is also compiled for JDK 11. */
    private static String virtual(int threads) throws Exception {
        CountDownLatch inside = new CountDownLatch(threads);
        CountDownLatch over = new CountDownLatch(1);
        CountDownLatch ended = new CountDownLatch(threads);
        Runnable work = () -> {
            values(1, 2, 3);
            inside.countDown();
            try {
                over.await();
            } catch (InterruptedException nobody) {
                throw new AssertionError(nobody);
            }
            ended.countDown();
        };
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        for (int i = 0; i < threads; i++) {
            start.invoke(null, work);
        }
        inside.await();
        String state = collected();
        over.countDown();
        ended.await();
        return state;
    }
}
