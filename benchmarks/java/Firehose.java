import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Calls a method with three arguments from several threads. A line "THREADS RATE MILLISECONDS" on standard input starts
 * RATE calls a second in all (0: as many as possible). The answer is the number of calls, the time in ns, and
 * System.nanoTime at the start.
 */
public final class Firehose {
    private static final int SLICES = 1000;
    private static volatile long sink;

    private Firehose() {}

    static void event(int number, long payload, int third) {
        sink = number + payload + third;
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            int threads = Integer.parseInt(words[0]);
            long rate = Long.parseLong(words[1]);
            long nanos = Long.parseLong(words[2]) * 1_000_000L;
            CountDownLatch done = new CountDownLatch(threads);
            AtomicLong calls = new AtomicLong();
            long start = System.nanoTime();
            for (int i = 0; i < threads; i++) {
                new Thread(() -> {
                    calls.addAndGet(rate == 0 ? flood(start, nanos) : pace(start, nanos, rate / threads));
                    done.countDown();
                }, "firehose-" + i).start();
            }
            done.await();
            System.out.println("made " + calls.get() + " " + (System.nanoTime() - start) + " " + start);
        }
    }

    private static long flood(long start, long nanos) {
        long made = 0;
        while (System.nanoTime() - start < nanos) {
            for (int i = 0; i < 1000; i++) {
                event(i, made, i);
                made++;
            }
        }
        return made;
    }

    /** Makes all calls that are due, every millisecond. */
    private static long pace(long start, long nanos, long rate) {
        long made = 0;
        for (long now = 0; now < nanos; now = System.nanoTime() - start) {
            for (long due = rate * now / 1_000_000_000L; made < due; made++) {
                event((int) made, made, 7);
            }
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                return made;
            }
        }
        return made;
    }
}
