import static org.openjdk.btrace.core.BTraceUtils.*;

import java.util.concurrent.atomic.AtomicLong;
import org.openjdk.btrace.core.annotations.*;
import org.openjdk.btrace.core.aggregation.*;

/** The probes of all workloads for BTrace. */
@BTrace
public class PeersTrace {
    private static AtomicLong calls = Atomic.newAtomicLong(0);
    private static Aggregation byKey = Aggregations.newAggregation(AggregationFunction.COUNT);
    private static Aggregation took = Aggregations.newAggregation(AggregationFunction.QUANTIZE);
    private static Aggregation tookByKey = Aggregations.newAggregation(AggregationFunction.QUANTIZE);
    private static AtomicLong negative = Atomic.newAtomicLong(0);

    @OnMethod(clazz = "acme.Work", method = "counted")
    public static void counted() {
        Atomic.incrementAndGet(calls);
    }

    @OnMethod(clazz = "acme.Work", method = "keyed")
    public static void keyed(String key, long x) {
        Aggregations.addToAggregation(byKey, Aggregations.newAggregationKey(key), 1);
    }

    @OnMethod(clazz = "acme.Work", method = "timed", location = @Location(Kind.RETURN))
    public static void timed(@Duration long duration) {
        Aggregations.addToAggregation(took, duration);
    }

    @OnMethod(clazz = "acme.Work", method = "microsecond", location = @Location(Kind.RETURN))
    public static void microsecond(@Duration long duration) {
        Aggregations.addToAggregation(took, duration);
    }

    @OnMethod(clazz = "acme.Work", method = "timedByKey", location = @Location(Kind.RETURN))
    public static void timedByKey(@Duration long duration, String key, long x) {
        Aggregations.addToAggregation(tookByKey, Aggregations.newAggregationKey(key), duration);
    }

    @OnMethod(clazz = "acme.Work", method = "filtered")
    public static void filtered(long x) {
        if (x < 0) {
            Atomic.incrementAndGet(negative);
        }
    }

    @OnMethod(clazz = "acme.Work", method = "event", location = @Location(Kind.RETURN))
    public static void event(@Return long result, long x, int y) {
        println(Strings.strcat(Strings.strcat(str(x), str(y)), str(result)));
    }

    @OnMethod(clazz = "acme.Work", method = "eventWithObject")
    public static void eventWithObject(String name, Object order) {
        println(Strings.strcat(name, str(Reflective.get(Reflective.field("acme.Work$Order", "total"), order))));
    }

    @OnMethod(clazz = "acme.Work", method = "eventWithStack")
    public static void eventWithStack(long x) {
        Threads.jstack(16);
    }
}
