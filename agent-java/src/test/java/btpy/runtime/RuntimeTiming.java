package btpy.runtime;

import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.LongAdder;

/**
 * Prints the cost of the hot paths in ns per call on one thread, the smallest of several rounds. It asserts nothing.
 * The boot loader must find this class, as in a target: {@code java -Xbootclasspath/a:CLASSES --add-exports
 * java.base/jdk.internal.misc=ALL-UNNAMED btpy.runtime.RuntimeTiming}.
 */
public final class RuntimeTiming {
    private static final int CALLS = 20_000_000;
    private static final byte[] TARGET = new byte[1 << 19];
    private static Session session;
    private static int site;

    interface Work {
        long run(int calls);
    }

    public static void main(String[] arguments) {
        session = Session.open(new Limits(8 << 20, 200, 2, 20, 20, 32), 1);
        session.addProbe(1);
        session.addProbe(2);
        session.setEnabled(1, true);
        session.addMap(0, MapShape.COUNT, 0, 2, 1, new long[0]);
        session.addMap(1, MapShape.HIST, 0, 2, 1, new long[0]);
        session.addMap(2, MapShape.COUNT, 1, 2, 4096, new long[0]);
        site = session.slot() << 24 | 1;
        session.addMap(6, MapShape.HIST, 1, 2, 4096, new long[0]);
        for (int probe = 4; probe < 8; probe++) {
            session.addProbe(probe);
            session.setEnabled(probe, true);
        }
        final LongAdder byHand = new LongAdder();
        time("by hand: LongAdder.increment", CALLS, new Work() {
            @Override
            public long run(int calls) {
                for (int i = 0; i < calls; i++) {
                    byHand.increment();
                }
                return calls;
            }
        });
        time("all of a count", CALLS, new Work() {
            @Override
            public long run(int calls) {
                for (int i = 0; i < calls; i++) {
                    Session.tally(site, 4, 0);
                }
                return calls;
            }
        });
        time("all of a hist of a long", CALLS, new Work() {
            @Override
            public long run(int calls) {
                for (int i = 0; i < calls; i++) {
                    Session.add(site, 5, 1, i & 1023, 0);
                }
                return calls;
            }
        });
        final String[] words = {"alpha", "beta", "gamma", "delta"};
        time("all of a count by string", CALLS, new Work() {
            @Override
            public long run(int calls) {
                for (int i = 0; i < calls; i++) {
                    Session.add(site, 6, 2, words[i & 3], 1, 0);
                }
                return calls;
            }
        });
        time("all of a hist by string", CALLS, new Work() {
            @Override
            public long run(int calls) {
                for (int i = 0; i < calls; i++) {
                    Session.add(site, 7, 6, words[i & 3], i & 1023, 0);
                }
                return calls;
            }
        });
        time("enter", CALLS, new Work() {
            @Override
            public long run(int calls) {
                long sum = 0;
                for (int i = 0; i < calls; i++) {
                    sum += Session.enter(site, 1) == null ? 0 : 1;
                }
                return sum;
            }
        });
        time("enter, disabled", CALLS, new Work() {
            @Override
            public long run(int calls) {
                long sum = 0;
                for (int i = 0; i < calls; i++) {
                    sum += Session.enter(site, 2) == null ? 0 : 1;
                }
                return sum;
            }
        });
        time("enter, guard and leave", CALLS, new Work() {
            @Override
            public long run(int calls) {
                for (int i = 0; i < calls; i++) {
                    Guard.leave(Guard.enter(Session.enter(site, 1), 1));
                }
                return calls;
            }
        });
        time("enter, count", CALLS, new Work() {
            @Override
            public long run(int calls) {
                for (int i = 0; i < calls; i++) {
                    Session s = Session.enter(site, 1);
                    Aggregation map = s.map(0);
                    map.count(map.slot());
                }
                return calls;
            }
        });
        time("enter, hist of a long", CALLS, new Work() {
            @Override
            public long run(int calls) {
                for (int i = 0; i < calls; i++) {
                    Session s = Session.enter(site, 1);
                    Aggregation map = s.map(1);
                    map.add(map.slot(), (long) i);
                }
                return calls;
            }
        });
        final String[] keys = {"alpha", "beta", "gamma", "delta"};
        time("enter, guard, count by string, leave", CALLS / 4, new Work() {
            @Override
            public long run(int calls) {
                for (int i = 0; i < calls; i++) {
                    Session s = Session.enter(site, 1);
                    int entry = Guard.enter(s, 1);
                    Aggregation map = s.map(2);
                    map.count(map.slot(keys[i & 3], 1));
                    Guard.leave(entry);
                }
                return calls;
            }
        });
        session.addProbe(3);
        session.sampling(3, Sampler.EVERY, 1000, false, 3);
        session.setEnabled(3, true);
        time("sample, 1 in 1000", CALLS, new Work() {
            @Override
            public long run(int calls) {
                long sum = 0;
                for (int i = 0; i < calls; i++) {
                    sum += Sampler.choose(site, 3);
                }
                return sum;
            }
        });
        time("enter, fired", CALLS, new Work() {
            @Override
            public long run(int calls) {
                long sum = 0;
                for (int i = 0; i < calls; i++) {
                    sum += Session.enter(site, 1).fired(1) >= 0 ? 1 : 0;
                }
                return sum;
            }
        });
        session.addMap(3, MapShape.TOPK, 0, 2, 1, new long[] {10});
        session.addMap(4, MapShape.TSERIES, 0, 2, 1, new long[] {1_000_000_000L, 60, Windows.SUM});
        session.addMap(5, MapShape.DISTINCT, 0, 2, 1, new long[0]);
        time("topk of strings", CALLS / 4, new Work() {
            @Override
            public long run(int calls) {
                Aggregation map = session.map(3);
                for (int i = 0; i < calls; i++) {
                    map.collect(map.slot(), keys[i & 3], 1, 0);
                }
                return calls;
            }
        });
        time("tseries of a long", CALLS / 4, new Work() {
            @Override
            public long run(int calls) {
                Aggregation map = session.map(4);
                for (int i = 0; i < calls; i++) {
                    map.add(map.slot(), (long) i);
                }
                return calls;
            }
        });
        time("distinct of strings", CALLS / 4, new Work() {
            @Override
            public long run(int calls) {
                Aggregation map = session.map(5);
                for (int i = 0; i < calls; i++) {
                    map.collect(map.slot(), keys[i & 3], 1, 0);
                }
                return calls;
            }
        });
        time("enter, thread.x += 1", CALLS, new Work() {
            @Override
            public long run(int calls) {
                for (int i = 0; i < calls; i++) {
                    Session s = Session.enter(site, 1);
                    ThreadValues.addNumber(ThreadValues.toChange(s, 1, 1, 0), 0, 1);
                }
                return calls;
            }
        });
        time("event of int, long, double", CALLS / 4, new Work() {
            @Override
            public long run(int calls) {
                for (int i = 0; i < calls; i++) {
                    Session s = Session.enter(site, 1);
                    long begin = Records.begin(s, 0, 1, site, 27);
                    long[] words = Records.words(s, begin);
                    int end = Records.end(begin, 27);
                    int at = Records.putInt(Records.position(begin), words, end, i);
                    Records.commit(s, Records.putDouble(Records.putLong(at, words, end, i), words, end, i), words, begin, end);
                    if ((i & 0x3FFF) == 0) {
                        drain();
                    }
                }
                return calls;
            }
        });
        time("System.nanoTime", CALLS, new Work() {
            @Override
            public long run(int calls) {
                long sum = 0;
                for (int i = 0; i < calls; i++) {
                    sum += System.nanoTime();
                }
                return sum;
            }
        });
    }

    private static long drained;

    private static void drain() {
        long start = now();
        while (session.drain(TARGET) > 0) {
            // discards the records
        }
        drained += now() - start;
    }

    /** The processor time of this thread, which other programs disturb less than the clock. */
    private static long now() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private static void time(String name, int calls, Work work) {
        double best = Double.MAX_VALUE;
        for (int round = 0; round < 5; round++) {
            drained = 0;
            session.tick(System.nanoTime() + round * 1_000_000_000L); // sets up the fast path of firings that only add
            long start = now();
            work.run(calls);
            double nanos = (now() - start - drained) / (double) calls;
            best = Math.min(best, nanos);
        }
        System.out.printf("%-40s %6.1f ns%n", name, best);
    }
}
