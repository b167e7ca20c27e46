package btpy.runtime;

/**
 * Goes the ways that hits of a restrained probe go, with probes of nobody, before any is restrained; and the short way of firings that only
 * count, which is not there at the first ones, when the application's loop may be compiled already. The JVM does not compile a way that it
 * has never seen gone: the first hit that went it would throw away the compiled method of the application that it is in, which then runs
 * interpreted until it is compiled again, just when the probe is hot. What is seen is kept with the methods here, for all callers.
 *
 * <p>The JVM looks only at methods that have run some hundred times, so this is done a little at each tick; and not so often that it
 * compiles them for good before it has seen the application go the other ways. Event threads only, one at a time.
 */
final class Rehearsal implements EventBuffer.Sink {
    private static final int ROUNDS = 1500;
    private static final int ROUNDS_OF_A_TICK = 60;
    private static final int RECORD = 1500;
    private static final long ALL = 1L << 40;

    /** Once is enough for the life of the JVM. */
    private static int left = ROUNDS;
    private static Rehearsal going;

    private final Budget bounded = new Budget();
    private final Probe free = new Probe(0, new Budget());
    private final Probe thinned = new Probe(0, bounded);
    private final Probe disabled = new Probe(0, bounded);
    private final Thinner thinner = new Thinner(2, false);
    private final Costs costs = new Costs();
    private final EventBuffer buffer = new EventBuffer(64 << 10);

    private Rehearsal() {
        free.enable(true);
        thinned.enable(true);
        bounded.set(1);
    }

    static synchronized void goOn() {
        if (left > 0) {
            going = going == null ? new Rehearsal() : going;
            going.thinned.thin(16); // hits are left out, and then none any more
            for (int i = 0; i < ROUNDS_OF_A_TICK; i++) {
                going.round(i);
            }
            going.buffer.drain(going, System.nanoTime());
            left -= ROUNDS_OF_A_TICK;
            going = left > 0 ? going : null;
        }
    }

    private void round(int i) {
        free.fire();
        thinned.fire();
        free.test();
        thinned.test();
        free.rehearseTallies();
        Stripes.rehearse();
        thinner.choose(i & 1);
        thinner.choose(-1);
        thinner.leavesOut(i & 1);
        Session.leavesOut(free, 0);
        Session.leavesOut(thinned, i & 1);
        Session.leavesOut(thinned, -1);
        Session.leavesOut(disabled, i & 1);
        Session.tally(0, 0, 0); // slot 0 is no session's
        Session.add(0, 0, 0, 0, 0);
        Session.add(0, 0, 0, null, 0, 0);
        bounded.pays(ALL, 0);
        bounded.pays(ALL, ALL);
        costs.add(0, 0, 4);
        costs.add(1000, 2, 4);
        long cursor = buffer.claim(RECORD, 0, 0, i); // until it is full
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
