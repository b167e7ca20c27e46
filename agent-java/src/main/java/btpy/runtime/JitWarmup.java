package btpy.runtime;

/**
 * Runs code paths of handlers before the application needs them, so that HotSpot's profiles contain them: the paths of
 * hits that the budget skips, and the fast path of firings that only count. HotSpot does not compile a branch that was
 * never taken. The first hit that takes such a branch makes HotSpot discard the compiled method of the application
 * around it, and interpret that method until it is compiled again, just when the probe is hot. Profiles belong to
 * methods, so these runs serve all callers.
 *
 * <p>HotSpot examines methods after some hundred calls, so each tick runs a part. The parts are small, so that HotSpot
 * does not compile these methods at its highest level before the application has taken the other branches. Only event
 * threads use it, one at a time.
 */
final class JitWarmup implements EventBuffer.Sink {
    private static final int ROUNDS = 1500;
    private static final int ROUNDS_OF_A_TICK = 60;
    private static final int RECORD = 1500;
    private static final long ALL = 1L << 40;

    /** The remaining rounds. One warm-up is enough for the life of the JVM. */
    private static int remainingRounds = ROUNDS;
    private static JitWarmup warmup;

    private final Budget budget = new Budget();
    private final Probe freeProbe = new Probe(0, new Budget());
    private final Probe thinnedProbe = new Probe(0, budget);
    private final Probe disabledProbe = new Probe(0, budget);
    private final AdaptiveSampler sampler = new AdaptiveSampler(2, false);
    private final Costs costs = new Costs();
    private final EventBuffer buffer = new EventBuffer(64 << 10);

    private JitWarmup() {
        freeProbe.enable(true);
        thinnedProbe.enable(true);
        budget.set(1);
    }

    static synchronized void advance() {
        if (remainingRounds > 0) {
            warmup = warmup == null ? new JitWarmup() : warmup;
            // One of 16 hits fires. So leavesOut() takes both branches: it skips a stripe's first hits, up to the hit that
            // must fire, and skips none from there on, because only a firing begins the next 16 hits.
            warmup.thinnedProbe.thin(16);
            for (int i = 0; i < ROUNDS_OF_A_TICK; i++) {
                warmup.round(i);
            }
            warmup.buffer.drain(warmup, System.nanoTime());
            remainingRounds -= ROUNDS_OF_A_TICK;
            warmup = remainingRounds > 0 ? warmup : null;
        }
    }

    private void round(int i) {
        freeProbe.fire();
        thinnedProbe.fire();
        freeProbe.test();
        thinnedProbe.test();
        freeProbe.warmUpTallies();
        Stripes.warmUp();
        sampler.choose(i & 1);
        sampler.choose(-1);
        sampler.leavesOut(i & 1);
        Session.leavesOut(freeProbe, 0);
        Session.leavesOut(thinnedProbe, i & 1);
        Session.leavesOut(thinnedProbe, -1);
        Session.leavesOut(disabledProbe, i & 1);
        Session.tally(0, 0, 0); // no session has slot 0
        Session.add(0, 0, 0, 0, 0);
        Session.add(0, 0, 0, null, 0, 0);
        budget.pays(ALL, 0);
        budget.pays(ALL, ALL);
        costs.add(0, 0, 4);
        costs.add(1000, 2, 4);
        long cursor = buffer.claim(RECORD, 0, 0, i); // continues until the buffer is full
        if (cursor >= 0) {
            EventBuffer.commit(buffer.words(cursor), EventBuffer.position(cursor));
        }
    }

    @Override
    public boolean record(int probe, boolean request, long[] words, long offset, int bytes) {
        return true;
    }

    @Override
    public void stalled(int probe) {}
}
