package acme;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;

/** The same as {@link Work}, with the code in each method that an engineer would write for the same answer. */
public final class ByHand extends Work {
    private static final int SLOTS = 1 << 16;
    private static final int FEW = 1 << 10;
    private static final Function<String, LongAdder> COUNTER = key -> new LongAdder();
    private static final Function<String, AtomicLongArray> HISTOGRAM = key -> new AtomicLongArray(65);

    private final LongAdder calls = new LongAdder();
    private final ConcurrentHashMap<String, LongAdder> callsByKey = new ConcurrentHashMap<>();
    private final LongAdder nanos = new LongAdder();
    private final AtomicLongArray histogram = new AtomicLongArray(65);
    private final ConcurrentHashMap<String, AtomicLongArray> histograms = new ConcurrentHashMap<>();
    private final LongAdder negative = new LongAdder();
    private final AtomicInteger next = new AtomicInteger();
    private final long[] ring = new long[5 * SLOTS];
    private final Object[] objects = new Object[SLOTS];

    @Override
    public long counted(long x) {
        calls.increment();
        return super.counted(x);
    }

    @Override
    public long keyed(String key, long x) {
        callsByKey.computeIfAbsent(key, COUNTER).increment();
        return super.keyed(key, x);
    }

    @Override
    public long timed(long x) {
        long start = System.nanoTime();
        long result = super.timed(x);
        add(histogram, System.nanoTime() - start);
        return result;
    }

    @Override
    public long timedByKey(String key, long x) {
        long start = System.nanoTime();
        long result = super.timedByKey(key, x);
        add(histograms.computeIfAbsent(key, HISTOGRAM), System.nanoTime() - start);
        return result;
    }

    @Override
    public long filtered(long x) {
        if (x < 0) {
            negative.increment();
        }
        return super.filtered(x);
    }

    @Override
    public long event(long x, int y) {
        long result = super.event(x, y);
        int at = record();
        ring[at + 2] = x;
        ring[at + 3] = y;
        ring[at + 4] = result;
        return result;
    }

    @Override
    public long eventWithObject(String name, Order order) {
        long result = super.eventWithObject(name, order);
        int at = record();
        ring[at + 2] = order.total;
        objects[at / 5] = name;
        return result;
    }

    @Override
    public long eventWithStack(long x) {
        long result = super.eventWithStack(x);
        int at = record();
        objects[at / 5 & FEW - 1] = new Throwable(); // the JVM fills the frames lazily, and reading one takes longer than `new`
        return result;
    }

    @Override
    public long microsecond(long x) {
        long start = System.nanoTime();
        long result = super.microsecond(x);
        add(histogram, System.nanoTime() - start);
        return result;
    }

    private void add(AtomicLongArray buckets, long duration) {
        nanos.add(duration);
        buckets.incrementAndGet(64 - Long.numberOfLeadingZeros(duration));
    }

    private int record() {
        int at = 5 * (next.getAndIncrement() & SLOTS - 1);
        ring[at] = System.nanoTime();
        ring[at + 1] = Thread.currentThread().getId();
        return at;
    }
}
