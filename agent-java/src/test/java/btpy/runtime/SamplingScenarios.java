package btpy.runtime;

import java.io.File;

/** Scenarios of the choice of hits that fire, and of the number of hits that a firing represents. */
final class SamplingScenarios extends Scenarios {
    SamplingScenarios(File directory) {
        super(directory);
        add("turns", this::turns);
        add("unowned", this::unowned);
        add("unfinished", this::unfinished);
        add("crowded", this::crowded);
        add("sampling", this::sampling);
        add("by-thread", this::samplingByThread);
    }

    /** Hits of two keys alternate while the budget lets one in 64 fire. */
    private void turns() throws Exception {
        open(defaults());
        session.addMap(0, MapShape.COUNT, 1, 2, 64, new long[0]);
        session.probe(1).thin(64);
        for (int i = 0; i < 200_003; i++) {
            Session.add(site(1), 1, 0, i % 2 == 0 ? "even" : "odd", 1, 0);
        }
        finish(0);
    }

    /** One in 16 hits fires, on a thread that owns no stripe. */
    private void unowned() throws Exception {
        open(defaults());
        session.fired(1); // this thread owns a stripe from now on
        session.probe(1).thin(16);
        int stripe = Stripes.lend();
        long weights = 0;
        for (int i = 0; i < 100_003; i++) {
            long run = session.fired(1);
            weights += run >= 0 ? Probe.weight(run) : 0;
        }
        Stripes.takeBack(stripe);
        session.probe(2).thin(16);
        int testedHits = 0;
        for (int i = 0; i < 100_003; i++) { // as above, for hits that are chosen before a slow predicate is tested
            testedHits += session.tested(2) >= 0 ? 1 : 0;
        }
        fact("tested", testedHits);
        fact("lent", stripe >= 0);
        fact("weights", weights);
        finish();
    }

    /** One in 64 hits fires, in 10,000 rounds of 41 hits, so no block of hits is ever completed. */
    private void unfinished() throws Exception {
        open(defaults());
        long weights = 0;
        for (int round = 0; round < 10_000; round++) {
            session.probe(1).thin(1);
            session.probe(1).thin(64);
            for (int i = 0; i < 41; i++) {
                long run = session.fired(1);
                weights += run >= 0 ? Probe.weight(run) : 0;
            }
        }
        fact("weights", weights);
        finish();
    }

    /** One in two hits fires. Many threads share the counters of one stripe, so a block ends while another thread opens the next. */
    private void crowded() throws Exception {
        open(defaults());
        final AdaptiveSampler adaptive = new AdaptiveSampler(2, false);
        final Sampler sampler = new Sampler(Sampler.EVERY, 2, false);
        final long[] weights = new long[WRITERS];
        final long[] sampledSums = new long[WRITERS];
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                for (int i = 0; i < 200_003; i++) {
                    weights[writer] += adaptive.choose(-1);
                    sampledSums[writer] += sampler.choose();
                }
            }
        });
        long sum = 0;
        long sampledSum = 0;
        for (int writer = 0; writer < WRITERS; writer++) {
            sum += weights[writer];
            sampledSum += sampledSums[writer];
        }
        fact("hits", WRITERS * 200_003L);
        fact("weights", sum);
        fact("sampled", sampledSum);
        fact("sampler-hits", sampler.hits());
        fact("pending", sampler.pending());
        finish();
    }

    private void sampling() throws Exception {
        open(defaults());
        session.sampling(1, Sampler.EVERY, 13, false, 1);
        session.sampling(2, Sampler.RATE, 20, false, 2);
        session.sampling(3, Sampler.MAX_RATE, 7, false, 3);
        session.sampling(4, Sampler.EVERY, 2, true, 4);
        final long[] weights = new long[4];
        int firings = 0;
        for (int hit = 0; hit < 10_007; hit++) {
            for (int probe = 1; probe <= 3; probe++) {
                weights[probe] += Sampler.choose(site(1), probe);
            }
        }
        fact("every", weights[1]);
        fact("rate", Math.abs(weights[2] - 10_007) < 20); // the last block is not finished
        for (int second = 1; second <= 2; second++) {
            session.tick(System.nanoTime() + second * 1_000_000_000L);
            firings = 0;
            for (int hit = 0; hit < 10_007; hit++) {
                int weight = Sampler.choose(site(1), 3);
                weights[3] += weight;
                firings += weight > 0 ? 1 : 0;
            }
        }
        fact("max-rate", firings <= 7 && firings >= 5);
        fact("max-rate-weights", weights[3] <= 30_021 && weights[3] > 30_021 * 0.7);
        final long[] totals = new long[WRITERS];
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                for (int hit = 0; hit < 10_007; hit++) {
                    totals[writer] += Sampler.choose(site(1), 1);
                }
            }
        });
        long all = weights[1];
        for (long total : totals) {
            all += total;
        }
        fact("every-of-many", all % 13 + " " + (all <= 9 * 10_007 && all > 9 * 10_007 - 16 * 13));
        finish();
    }

    private void samplingByThread() throws Exception {
        open(defaults());
        session.sampling(1, Sampler.EVERY, 3, false, 1);
        session.sampling(2, Sampler.EVERY, 3, false, 1);
        StringBuilder decisions = new StringBuilder();
        for (int request = 0; request < 7; request++) {
            int outer = Sampler.enter(site(1), 1);
            int exit = Sampler.enter(site(1), 2);
            int inner = Sampler.enter(site(1), 1);
            Sampler.leave(site(1), 1, inner);
            Sampler.leave(site(1), 2, exit);
            boolean alike = (outer | Sampler.INHERITED) == inner && inner == exit;
            Sampler.leave(site(1), 1, outer);
            decisions.append(alike ? outer : -9).append(' ');
        }
        fact("decisions", decisions.toString().trim());
        session.setEnabled(1, false);
        fact("disabled", Sampler.enter(site(1), 1));
        finish();
    }
}
