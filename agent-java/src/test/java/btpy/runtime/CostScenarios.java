package btpy.runtime;

import java.io.File;

/** Scenarios of measuring the time of firings, and of the paths of firings. */
final class CostScenarios extends Scenarios {
    CostScenarios(File directory) {
        super(directory);
        add("jit-warmup", this::jitWarmup);
        add("fast-paths", this::fastPaths);
        add("costs", this::costs);
        add("runs", this::runs);
    }

    /** Each session has an event thread, so several threads run the JIT warm-up at a time. No warm-up may fail. */
    private void jitWarmup() throws Exception {
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                for (int i = 0; i < 100; i++) {
                    JitWarmup.advance();
                }
            }
        });
    }

    private void fastPaths() throws Exception {
        open(defaults());
        session.addMap(0, MapShape.COUNT, 0, 2, 1, new long[0]);
        session.addMap(1, MapShape.COUNT, 1, 2, 16, new long[0]);
        long now = System.nanoTime();
        session.tick(now);
        Session.tally(site(1), 1, 0);
        Session.add(site(1), 2, 1, "k", 1, 0);
        fact("fired", session.probe(1).hasNewFastPath() + " " + session.probe(2).hasNewFastPath());
        session.tick(now + 1);
        fact("ticked", session.probe(1).hasNewFastPath() + " " + session.probe(2).hasNewFastPath());
        for (int i = 0; i < 13; i++) {
            Session.tally(site(1), 1, 0);
            Session.add(site(1), 2, 1, "k", 1, 0);
        }
        finish(0, 1);
    }

    /** Some firings take at least 20 µs, some false predicates take as long, and some firings only count. */
    private void costs() throws Exception {
        open(defaults());
        session.addMap(0, MapShape.COUNT, 0, 2, 1, new long[0]);
        session.tick(System.nanoTime());
        for (int i = 0; i < 1009; i++) {
            long firedRun = session.fired(1);
            long testedRun = session.tested(2);
            for (long end = System.nanoTime() + 20_000; System.nanoTime() < end; ) {
                // busy
            }
            if (Probe.isTimed(firedRun)) {
                session.took(1, firedRun, 0);
            }
            if (Probe.isTimed(testedRun)) {
                session.took(2, testedRun, 0);
            }
            Session.tally(site(1), 3, 0);
        }
        session.tick(System.nanoTime() + 1_000_000_000L);
        for (int i = 0; i < 1009; i++) {
            Session.tally(site(1), 3, 0);
        }
        session.tick(System.nanoTime() + 2_000_000_000L);
        finish();
    }

    /**
     * Runs of 16 firings take 24 ns together. In addition, each firing takes 4 ns of entry and two readings of the
     * clock.
     */
    private void runs() throws Exception {
        open(defaults());
        session.tick(System.nanoTime());
        for (int i = 0; i < 64; i++) {
            session.probe(1).endRuns(24 + Costs.clock(), 16, 0, 0);
            session.probe(2).endRuns(24 + Costs.clock(), 16, 4, 2);
        }
        for (int i = 0; i < 1000; i++) { // the scheduler stopped the thread during the last firing
            session.probe(3).endRuns((i < 999 ? 100 : 1_000_000_000) + Costs.clock(), 1, 0, 0);
            if (i >= 950) {
                session.probe(4).endRuns((i < 999 ? 100 : 1_000_000_000) + Costs.clock(), 1, 0, 0);
            }
        }
        for (int i = 0; i < 100; i++) { // firings are slow while they are rare, and fast when they are frequent
            session.probe(5).endRuns((i < 50 ? 10_000 : 100) + Costs.clock(), 1, 0, 0);
            if (i == 49) {
                session.tick(System.nanoTime() + 1_000_000_000L);
                for (int k = 0; k < 1_000_000; k++) {
                    session.fired(5);
                }
            }
        }
        fact("clock", Costs.clock());
        finish();
    }
}
