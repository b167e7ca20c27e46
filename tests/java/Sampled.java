import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;

/** Threads that wait, and one that uses a given amount of processor time, in two methods. */
public class Sampled {
    private static final Object LOCK = new Object();
    private static volatile double sink;

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 13; i++) {
            Thread thread = new Thread(Sampled::park, "parked-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        Thread burner = new Thread(Sampled::burn, "burner");
        burner.start();
        burner.join();
    }

    private static void park() {
        synchronized (LOCK) {
            while (true) {
                try {
                    LOCK.wait();
                } catch (InterruptedException nobodyInterrupts) {
                    return;
                }
            }
        }
    }

    /** Each line of input is a number of milliseconds of processor time; the answer is the time used. */
    private static void burn() {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        try {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                long before = used();
                while (used() - before < Long.parseLong(line) * 1_000_000L) {
                    hot();
                }
                System.out.println("used " + (used() - before));
            }
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
    }

    private static long used() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private static void hot() {
        double x = 1;
        for (int i = 0; i < 20_000; i++) {
            x = Math.sin(x) + 1;
        }
        sink = x;
    }
}
