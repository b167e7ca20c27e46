import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * H2 with workers that send queries and check the answers all the time. A line of standard input makes the program
 * disturb itself: {@code interrupt}, {@code heap}, {@code metaspace}, {@code files}, {@code deep}, {@code stop}, {@code
 * storm}. {@code report} answers with the results of the workers since the last report.
 */
public final class ChaosServer {
    private static final int WORKERS = 3;
    private static final int ROWS = 97;

    private static final AtomicLong ANSWERS = new AtomicLong();
    private static final AtomicLong WRONG = new AtomicLong();
    private static final long[] PROGRESS = new long[WORKERS];
    private static final List<Thread> THREADS = new ArrayList<>();
    private static volatile boolean disturbed;

    private ChaosServer() {}

    public static void main(String[] arguments) throws Exception {
        try (Connection connection = open()) {
            fill();
            for (int i = 0; i < WORKERS; i++) {
                start(i);
            }
            System.out.println("ready");
            BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                System.out.println("> " + line + " " + order(line));
            }
        }
        System.exit(0);
    }

    private static Connection open() throws Exception {
        return DriverManager.getConnection("jdbc:h2:mem:chaos;DB_CLOSE_DELAY=-1");
    }

    /** H2 closes a database after an OutOfMemoryError. No worker sees the table before it has all its rows. */
    private static synchronized void fill() throws Exception {
        try (Connection connection = open()) {
            if (connection.getMetaData().getTables(null, null, "ITEM", null).next()) {
                return;
            }
            connection.createStatement().execute("DROP TABLE IF EXISTS filling");
            connection.createStatement().execute("CREATE TABLE filling(id INT PRIMARY KEY, name VARCHAR(40))");
            for (int i = 0; i < ROWS; i++) {
                connection.createStatement().execute("INSERT INTO filling VALUES (" + i + ", 'item " + i + "')");
            }
            connection.createStatement().execute("ALTER TABLE filling RENAME TO item");
        }
    }

    private static void start(int number) {
        Thread thread = new Thread(() -> work(number), "worker-" + number);
        thread.setDaemon(true);
        THREADS.add(thread);
        thread.start();
    }

    private static void work(int number) {
        for (int i = 0; ; i++) {
            try (Connection connection = open(); PreparedStatement select = connection.prepareStatement("SELECT name FROM item WHERE id = ?")) {
                for (; ; i++) {
                    int id = i * 7 % ROWS;
                    select.setInt(1, id);
                    try (ResultSet rows = select.executeQuery()) {
                        if (!rows.next() || !rows.getString(1).equals("item " + id)) {
                            WRONG.incrementAndGet();
                        }
                    }
                    ANSWERS.incrementAndGet();
                    PROGRESS[number]++;
                    Thread.sleep(0, 200_000);
                }
            } catch (Throwable t) {
                Thread.interrupted();
                if (!disturbed) {
                    WRONG.incrementAndGet();
                    continue;
                }
                try {
                    fill();
                } catch (Throwable again) {
                    Thread.interrupted();
                }
            }
        }
    }

    private static String order(String line) throws Exception {
        switch (line) {
            case "report":
                return report();
            case "interrupt":
                disturbed = true;
                for (int i = 0; i < 50; i++) {
                    for (Thread thread : THREADS) {
                        thread.interrupt();
                    }
                    Thread.sleep(1);
                }
                break;
            case "heap":
                disturbed = true;
                exhaustHeap();
                break;
            case "metaspace":
                disturbed = true;
                exhaustMetaspace();
                break;
            case "files":
                disturbed = true;
                exhaustFiles();
                break;
            case "deep":
                for (int i = 0; i < 50; i++) {
                    Thread deep = new Thread(null, ChaosServer::overflow, "deep", 256 << 10);
                    deep.start();
                    deep.join();
                }
                break;
            case "stop":
                stopThreads();
                break;
            case "storm":
                storm();
                break;
            default:
                return "?";
        }
        return "done";
    }

    /** Every worker must make progress within a time that is far longer than any machine needs. */
    private static String report() throws Exception {
        long[] before = PROGRESS.clone();
        String stuck = "";
        for (int i = 0; i < WORKERS; i++) {
            for (int wait = 0; PROGRESS[i] == before[i] && wait < 30_000; wait++) {
                Thread.sleep(1);
            }
            stuck += PROGRESS[i] == before[i] ? " " + THREADS.get(i).getName() : "";
        }
        disturbed = false;
        return "answers " + ANSWERS.getAndSet(0) + " wrong " + WRONG.getAndSet(0) + " stuck" + (stuck.isEmpty() ? " none" : stuck);
    }

    private static void exhaustHeap() {
        List<byte[]> held = new ArrayList<>(1 << 16);
        int size = 4 << 20;
        for (int failures = 0; failures < 60; ) {
            try {
                held.add(new byte[size]);
            } catch (OutOfMemoryError full) {
                failures++;
                size = Math.max(1 << 10, size / 2);
            }
        }
    }

    private static void exhaustMetaspace() throws Exception {
        URL[] here = {ChaosServer.class.getProtectionDomain().getCodeSource().getLocation()};
        List<Object> held = new ArrayList<>();
        try {
            for (int i = 0; i < 20_000; i++) {
                ClassLoader loader = new URLClassLoader(here, ClassLoader.getPlatformClassLoader());
                held.add(Proxy.newProxyInstance(loader, new Class<?>[] {Runnable.class}, (proxy, method, given) -> null));
                held.add(Class.forName("ChaosServer$Late", true, loader));
            }
        } catch (OutOfMemoryError | LinkageError | Exception full) {
            Thread.sleep(100);
        }
        held.clear();
        System.gc();
    }

    private static void exhaustFiles() throws Exception {
        List<FileInputStream> held = new ArrayList<>();
        try {
            while (held.size() < 100_000) {
                held.add(new FileInputStream("/dev/null"));
            }
        } catch (java.io.IOException full) {
            Thread.sleep(300);
        } finally {
            for (FileInputStream file : held) {
                file.close();
            }
        }
    }

    static int depth;

    private static void overflow() {
        try {
            descend();
        } catch (StackOverflowError bottom) {
            depth = 0;
        }
    }

    /** Traced. */
    static int descend() {
        return ++depth + descend();
    }

    /** Traced. */
    static long spin(int times) {
        long sum = 0;
        for (int i = 0; i < times; i++) {
            sum += turn(i);
        }
        return sum;
    }

    /** Traced. */
    static int turn(int i) {
        return i ^ i >>> 3;
    }

    /** Asynchronous exceptions, where the JDK still has them. */
    @SuppressWarnings("deprecation")
    private static void stopThreads() throws Exception {
        for (int i = 0; i < 20; i++) {
            Thread victim = new Thread(() -> {
                try {
                    for (int rounds = 0; rounds < 20_000; rounds++) {
                        spin(1000);
                    }
                } catch (ThreadDeath death) {
                    return;
                }
            }, "victim");
            victim.start();
            Thread.sleep(2);
            try {
                Thread.class.getMethod("stop").invoke(victim);
            } catch (java.lang.reflect.InvocationTargetException | NoSuchMethodException gone) {
                i = 20; // since JDK 20 there are none
            }
            victim.join();
        }
    }

    public static class Late implements Runnable {
        @Override
        public void run() {}
    }

    private static void storm() throws Exception {
        URL[] here = {ChaosServer.class.getProtectionDomain().getCodeSource().getLocation()};
        Thread[] loading = new Thread[4];
        for (int k = 0; k < loading.length; k++) {
            loading[k] = new Thread(() -> {
                try {
                    for (int i = 0; i < 50; i++) {
                        ClassLoader loader = new URLClassLoader(here, ClassLoader.getPlatformClassLoader());
                        ((Runnable) Class.forName("ChaosServer$Late", true, loader).getDeclaredConstructor().newInstance()).run();
                    }
                } catch (Exception impossible) {
                    WRONG.incrementAndGet();
                }
            });
            loading[k].start();
        }
        for (Thread thread : loading) {
            thread.join();
        }
    }
}
