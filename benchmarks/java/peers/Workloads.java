package acme;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The workloads, for JMH. The JVM prints "ready" and waits for a line before the first workload, so that a tracer can
 * attach.
 *
 * <p>Events are made in bursts, and the consumer takes them in the pauses. So the benchmark measures the cost of making
 * an event, and the speed of the consumer does not matter. Enough bursts run before the measurement for all code to be
 * compiled.
 */
@State(Scope.Benchmark)
@Warmup(iterations = 3)
@Measurement(iterations = 3)
public class Workloads {
    static final int BURST = 2_000;
    private static final long PAUSE_MILLIS = 100;
    private static boolean waited;

    private final Work work = Boolean.getBoolean("acme.byhand") ? new ByHand() : new Work();
    private final String[] keys = new String[16];
    private final Work.Order order = new Work.Order(17);

    @Setup(Level.Trial)
    public void waitForTracer() throws IOException {
        for (int i = 0; i < keys.length; i++) {
            keys[i] = "key-" + i;
        }
        synchronized (Workloads.class) {
            if (!waited) {
                System.out.println("\nready");
                System.out.flush();
                new BufferedReader(new InputStreamReader(System.in)).readLine();
                waited = true;
            }
        }
    }

    @State(Scope.Thread)
    public static class Position {
        long x;
    }

    @State(Scope.Thread)
    public static class Pause {
        long x;

        @TearDown(Level.Iteration)
        public void pause() throws InterruptedException {
            Thread.sleep(PAUSE_MILLIS);
        }
    }

    @Benchmark
    @BenchmarkMode(Mode.AverageTime)
    @OutputTimeUnit(TimeUnit.NANOSECONDS)
    public long counted(Position at) {
        return work.counted(at.x++);
    }

    @Benchmark
    @BenchmarkMode(Mode.AverageTime)
    @OutputTimeUnit(TimeUnit.NANOSECONDS)
    public long keyed(Position at) {
        return work.keyed(keys[(int) at.x++ & 15], at.x);
    }

    @Benchmark
    @BenchmarkMode(Mode.AverageTime)
    @OutputTimeUnit(TimeUnit.NANOSECONDS)
    public long timed(Position at) {
        return work.timed(at.x++);
    }

    @Benchmark
    @BenchmarkMode(Mode.AverageTime)
    @OutputTimeUnit(TimeUnit.NANOSECONDS)
    public long timedByKey(Position at) {
        return work.timedByKey(keys[(int) at.x++ & 15], at.x);
    }

    @Benchmark
    @BenchmarkMode(Mode.AverageTime)
    @OutputTimeUnit(TimeUnit.NANOSECONDS)
    public long filtered(Position at) {
        return work.filtered(at.x++);
    }

    @Benchmark
    @BenchmarkMode(Mode.AverageTime)
    @OutputTimeUnit(TimeUnit.NANOSECONDS)
    public long microsecond(Position at) {
        return work.microsecond(at.x++);
    }

    @Benchmark
    @BenchmarkMode(Mode.SingleShotTime)
    @OutputTimeUnit(TimeUnit.NANOSECONDS)
    @Warmup(iterations = 60, batchSize = BURST)
    @Measurement(iterations = 60, batchSize = BURST)
    public long event(Pause at) {
        return work.event(at.x++, 7);
    }

    @Benchmark
    @BenchmarkMode(Mode.SingleShotTime)
    @OutputTimeUnit(TimeUnit.NANOSECONDS)
    @Warmup(iterations = 60, batchSize = BURST)
    @Measurement(iterations = 60, batchSize = BURST)
    public long eventWithObject(Pause at) {
        return work.eventWithObject(keys[(int) at.x++ & 15], order);
    }

    @Benchmark
    @BenchmarkMode(Mode.SingleShotTime)
    @OutputTimeUnit(TimeUnit.NANOSECONDS)
    @Warmup(iterations = 60, batchSize = BURST)
    @Measurement(iterations = 60, batchSize = BURST)
    public long eventWithStack(Pause at) {
        return work.eventWithStack(at.x++);
    }
}
