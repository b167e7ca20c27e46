/**
 * Calls a method at a given rate, and works in the rest of the time: the time of a probe in the method is missing from
 * that work.
 *
 * <p>Arguments: pairs of calls a second and seconds. Each tenth of a second is a line {@code slice RATE CALLS WORK CPU WALL}: the rate that
 * was asked for, the calls that were made, rounds of the work, the CPU time of this thread and the time in ns.
 */
public final class Stepping {
    private static final long MIX = 0x9E3779B97F4A7C15L;
    private static final long SLICE_NANOS = 100_000_000L;
    private static final long PIECE_NANOS = 200_000L;

    private Stepping() {}

    /** A separate class, so that the work is not compiled again when this class is retransformed. */
    static final class Hot {
        private Hot() {}

        static long step(long x, int i) {
            return (x * MIX ^ x >>> 29) * MIX + i;
        }

        static long called(long x, int calls) {
            for (int i = 0; i < calls; i++) {
                x = step(x, i);
            }
            return x;
        }
    }

    private static long work(long x) {
        for (int i = 0; i < 256; i++) {
            x = (x ^ x >>> 31) * MIX + i;
        }
        return x;
    }

    public static void main(String[] arguments) throws Exception {
        long x = 1;
        for (int i = 0; i < 20_000; i++) {
            x = Hot.called(work(x), 10);
        }
        System.out.println("ready");
        System.in.read();
        java.lang.management.ThreadMXBean threads = java.lang.management.ManagementFactory.getThreadMXBean();
        for (int at = 0; at < arguments.length; at += 2) {
            long rate = Long.parseLong(arguments[at]);
            long slices = Long.parseLong(arguments[at + 1]) * 10;
            for (long slice = 0; slice < slices; slice++) {
                long begun = System.nanoTime();
                long cpu = threads.getCurrentThreadCpuTime();
                long calls = 0;
                long rounds = 0;
                long now = begun;
                while (now - begun < SLICE_NANOS) {
                    long due = rate * (now - begun) / 1_000_000_000L;
                    x = Hot.called(x, (int) (due - calls));
                    calls = Math.max(calls, due);
                    long until = now + PIECE_NANOS;
                    do {
                        x = work(x);
                        rounds++;
                        now = System.nanoTime();
                    } while (now < until);
                }
                System.out.println("slice " + rate + " " + calls + " " + rounds + " "
                        + (threads.getCurrentThreadCpuTime() - cpu) + " " + (System.nanoTime() - begun));
            }
        }
        System.out.println("sink " + x);
    }
}
