package btpy.agent;

import java.util.Random;

/**
 * The batch sizes that BatchSize chooses for simulated stops. Arguments: the budget (ms), the fixed part of a stop and the part for each
 * class (µs), their scatter in percent, the number of classes, and the extra time (µs) of each stop. Prints the sizes and the stops (µs).
 */
public final class BatchSizes {
    private BatchSizes() {
    }

    public static void main(String[] arguments) {
        BatchSize size = new BatchSize(Integer.parseInt(arguments[0]));
        long fixed = Long.parseLong(arguments[1]);
        long share = Long.parseLong(arguments[2]);
        int scatter = Integer.parseInt(arguments[3]);
        Random random = new Random(4711);
        int stop = 0;
        for (int remaining = Integer.parseInt(arguments[4]); remaining > 0; ) {
            int count = Math.min(remaining, size.next());
            double factor = 1 + scatter / 100.0 * (2 * random.nextDouble() - 1);
            long extraMicros = arguments.length > 5 ? Long.parseLong(arguments[5 + stop++ % (arguments.length - 5)]) : 0;
            long micros = (long) ((fixed + share * count) * factor) + extraMicros;
            System.out.println(count + " " + micros);
            size.add(count, micros * 1000);
            remaining -= count;
        }
    }
}
