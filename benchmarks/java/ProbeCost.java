import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/**
 * Measures the cost of a probe for a method of about two nanoseconds. All cases share a JVM, so that ratios are fair;
 * every case has its own method and loop, so that no case spoils the profile of another.
 *
 * <p>Commands on stdin: {@code measure CASE WARMUPS ROUNDS CALLS PAUSE_MS} prints {@code result CASE ns ns …},
 * nanoseconds for a call, one figure for each round; {@code end} ends.
 */
public final class ProbeCost {
    private static final long MIX = 0x9E3779B97F4A7C15L;

    private ProbeCost() {}

    /** Calls its method in a loop; each result goes into the next call, so that no call can be left out. */
    private interface Case {
        long run(int calls);
    }

    /** Probed by scripts. */
    static final class Target {
        private Target() {}

        static long counted(long x, int i) {
            return (x * MIX ^ x >>> 29) * MIX + i;
        }

        static long timed(long x, int i) {
            return (x * MIX ^ x >>> 29) * MIX + i;
        }

        static long recorded(long x, int i) {
            return (x * MIX ^ x >>> 29) * MIX + i;
        }

        static long untouched(long x, int i) {
            return (x * MIX ^ x >>> 29) * MIX + i;
        }
    }

    /** The same work, written by hand into the method by a careful engineer. */
    static final class ByHand {
        static final LongAdder COUNT = new LongAdder();
        static final AtomicLong SUM = new AtomicLong();
        static final AtomicLongArray BUCKETS = new AtomicLongArray(256);
        static final ByteBuffer RING = ByteBuffer.allocateDirect(8 << 20);
        static final AtomicLong NEXT = new AtomicLong();

        private ByHand() {}

        static long counted(long x, int i) {
            COUNT.increment();
            return (x * MIX ^ x >>> 29) * MIX + i;
        }

        static long timed(long x, int i) {
            long start = System.nanoTime();
            long result = (x * MIX ^ x >>> 29) * MIX + i;
            long took = System.nanoTime() - start;
            SUM.addAndGet(took);
            BUCKETS.incrementAndGet(bucket(took));
            return result;
        }

        /** Writes the time, the thread and three values into a ring buffer without a reader. */
        static long recorded(long x, int i) {
            long result = (x * MIX ^ x >>> 29) * MIX + i;
            int at = (int) (NEXT.getAndAdd(64) & RING.capacity() - 1);
            RING.putLong(at, System.nanoTime());
            RING.putLong(at + 8, Thread.currentThread().getId());
            RING.putLong(at + 16, x);
            RING.putInt(at + 24, i);
            RING.putLong(at + 32, result);
            return result;
        }

        private static int bucket(long nanos) {
            if (nanos < 4) {
                return (int) nanos;
            }
            int exponent = 63 - Long.numberOfLeadingZeros(nanos);
            return (exponent - 1 << 2) + (int) (nanos >>> exponent - 2 & 3);
        }
    }

    private static final Map<String, Case> CASES = new LinkedHashMap<>();

    static {
        CASES.put("untouched", calls -> {
            long x = 1;
            for (int i = 0; i < calls; i++) {
                x = Target.untouched(x, i);
            }
            return x;
        });
        CASES.put("counted", calls -> {
            long x = 1;
            for (int i = 0; i < calls; i++) {
                x = Target.counted(x, i);
            }
            return x;
        });
        CASES.put("timed", calls -> {
            long x = 1;
            for (int i = 0; i < calls; i++) {
                x = Target.timed(x, i);
            }
            return x;
        });
        CASES.put("recorded", calls -> {
            long x = 1;
            for (int i = 0; i < calls; i++) {
                x = Target.recorded(x, i);
            }
            return x;
        });
        CASES.put("counted by hand", calls -> {
            long x = 1;
            for (int i = 0; i < calls; i++) {
                x = ByHand.counted(x, i);
            }
            return x;
        });
        CASES.put("timed by hand", calls -> {
            long x = 1;
            for (int i = 0; i < calls; i++) {
                x = ByHand.timed(x, i);
            }
            return x;
        });
        CASES.put("recorded by hand", calls -> {
            long x = 1;
            for (int i = 0; i < calls; i++) {
                x = ByHand.recorded(x, i);
            }
            return x;
        });
    }

    private static long sink;

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        String line;
        while ((line = in.readLine()) != null && !line.equals("end")) {
            String[] words = line.split(" ");
            String name = words[1].replace('_', ' ');
            measure(name, number(words[2]), number(words[3]), number(words[4]), number(words[5]));
        }
        System.out.println("sink " + sink);
    }

    private static void measure(String name, int warmups, int rounds, int calls, int pauseMillis)
            throws InterruptedException {
        Case measured = CASES.get(name);
        StringBuilder text = new StringBuilder("result ").append(words(name));
        for (int round = -warmups; round < rounds; round++) {
            long start = System.nanoTime();
            sink += measured.run(calls);
            long took = System.nanoTime() - start;
            if (round >= 0) {
                text.append(' ').append(String.format("%.3f", (double) took / calls));
            }
            if (pauseMillis > 0) {
                Thread.sleep(pauseMillis);
            }
        }
        System.out.println(text);
    }

    private static String words(String name) {
        return name.replace(' ', '_');
    }

    private static int number(String word) {
        return Integer.parseInt(word.replace("_", ""));
    }
}
