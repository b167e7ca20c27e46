package btpy.runtime;

import java.util.ArrayDeque;

/**
 * Keeps what the probes of a session take of the processor within a share of one core.
 *
 * <p>Each interval the share is put into an allowance, which holds half a second's worth, and what firings took ({@link Costs}) is
 * taken out. A session begins with ten seconds' worth, because the first firings are interpreted and load classes; what is left of that
 * after two seconds is gone, so that a probe that becomes hot later does not live on it. When the allowance is used up the probe that
 * takes most is restrained: if it makes records it makes few, else only one of n hits fires, for n that make the rest fit; where even
 * the hits that do not fire take too much, it is disabled. Where woven code has to read the clock, or find out something else, whether
 * the probe is enabled or not, and that takes too much, the client is told to take the probe out.
 *
 * <p>When the probes take less than half of their share for a while, the restraint that was put on last is loosened by a step: a disabled
 * probe comes back with few hits that fire, then with more, then with all, then with all records. If the load is still there it is
 * restrained again, and the next attempt waits twice as long. Event thread only, but for {@link #holdsBack}.
 */
final class Budget {
    /** Of a restraint, as RESTRAINED says. */
    private static final int FREE = 0;
    private static final int PRINTS_LESS = 1;
    private static final int SAMPLED = 2;
    private static final int DISABLED = 3;

    private static final double ALLOWANCE_NANOS = 0.5e9;
    private static final double FIRST_ALLOWANCE_NANOS = 10e9;
    private static final long FIRST_NANOS = 2_000_000_000L;
    /** How much of its share is to be used after a restraint, and below which part one is loosened. */
    private static final double AIM = 0.8;
    private static final double CALM = 0.5;
    /** A probe that takes so many times its share is sampled at once, even if it prints. */
    private static final double FAR_OVER = 10;
    private static final int MOST_THINNING = 1 << 14;
    private static final int THINNING_OF_TRIAL = 1 << 10;
    private static final int LOOSENING = 4;
    private static final long STEP_NANOS = 1_000_000_000L;
    private static final long FIRST_TRIAL_NANOS = 5_000_000_000L;
    private static final long LAST_TRIAL_NANOS = 60_000_000_000L;

    private final ArrayDeque<byte[]> announced = new ArrayDeque<byte[]>();
    /** Restrained probes, that of the last restraint first. */
    private final ArrayDeque<Probe> restrained = new ArrayDeque<Probe>();
    /** Of one core. */
    private double share;
    private double allowance;
    private long began;
    private long checked;
    /** When a restraint was changed last, or probes took more than they do when it is calm. */
    private long changed;
    private long loosened;
    private long trial = FIRST_TRIAL_NANOS;
    private volatile boolean holdsBack;

    /** What was taken since the last check, and by which probe most of it. */
    private double taken;
    private Probe dearest;
    private double dearestNanos;
    private long dearestHits;
    private boolean dearestPrints;

    void set(int millionths) {
        share = millionths / 1e6;
        allowance = share * FIRST_ALLOWANCE_NANOS;
    }

    /** Whether a probe must be asked before it makes a record. */
    boolean holdsBack() {
        return holdsBack;
    }

    void add(Probe probe, Probe.Load load) {
        if (probe.ofAgent) {
            return;
        }
        taken += load.nanos;
        if (load.nanos > dearestNanos) {
            dearest = probe;
            dearestNanos = load.nanos;
            dearestHits = load.passes + load.out;
            dearestPrints = load.records > 0;
        }
    }

    void check(long now) {
        double allowed = share * (now - checked);
        boolean known = checked != 0;
        began = known ? began : now;
        checked = now;
        if (share > 0 && known) {
            double most = share * (now - began < FIRST_NANOS ? FIRST_ALLOWANCE_NANOS : ALLOWANCE_NANOS);
            allowance = Math.min(most, allowance + allowed) - taken;
            if (allowance < 0 && dearest != null) {
                allowance = 0;
                tighten(now, allowed);
            } else if (taken >= CALM * allowed) {
                changed = now;
            } else if (!restrained.isEmpty()) {
                loosen(now, allowed);
            }
        }
        taken = 0;
        dearest = null;
        dearestNanos = 0;
    }

    private void tighten(long now, double allowed) {
        Probe probe = dearest;
        if (now - loosened < trial) {
            trial = Math.min(LAST_TRIAL_NANOS, 2 * trial);
        }
        changed = now;
        int before = probe.thinning();
        double aim = Math.max(AIM * allowed - (taken - dearestNanos), AIM * allowed / 10);
        double ofHits = dearestHits * probe.outNanos();
        double each = (aim - ofHits) / Math.max(1, dearestHits * probe.mean());
        restrained.remove(probe);
        restrained.addFirst(probe);
        if (dearestPrints && !probe.printsLess() && before == 1 && dearestNanos < FAR_OVER * allowed) {
            probe.printLess(true);
            holdsBack = true;
            announce(probe, PRINTS_LESS, allowed);
        } else if (each * MOST_THINNING < 1) {
            double rest = dearestHits * probe.disabledNanos();
            boolean comesBack = rest < CALM * allowed;
            probe.disableForBudget(comesBack);
            announce(probe, DISABLED, allowed, comesBack ? 0 : rest);
        } else {
            int wanted = Integer.highestOneBit(Math.max(1, (int) Math.ceil(1 / each) - 1)) << 1;
            probe.thin(Math.min(MOST_THINNING, Math.max(2 * before, wanted)));
            announce(probe, SAMPLED, allowed);
        }
    }

    private void loosen(long now, double allowed) {
        Probe probe = restrained.peekFirst();
        boolean disabled = probe.isOverBudget();
        if (!disabled && !probe.enabled) { // by somebody else: nothing to be loosened, until it is enabled
            restrained.removeFirst();
            restrained.addLast(probe);
            return;
        }
        if (now - changed < (disabled ? trial : STEP_NANOS)) {
            return;
        }
        changed = now;
        loosened = now;
        if (disabled) {
            probe.thin(THINNING_OF_TRIAL);
            probe.enable(true);
            announce(probe, SAMPLED, allowed);
        } else if (probe.thinning() > 1) {
            probe.thin(Math.max(1, probe.thinning() / LOOSENING));
            announce(probe, probe.thinning() > 1 ? SAMPLED : probe.printsLess() ? PRINTS_LESS : FREE, allowed);
        } else {
            probe.printLess(false);
            announce(probe, FREE, allowed);
        }
        if (probe.thinning() == 1 && !probe.printsLess()) {
            restrained.removeFirst();
        }
        boolean some = false;
        for (Probe each : restrained) {
            some |= each.printsLess();
        }
        holdsBack = some;
        if (restrained.isEmpty()) {
            trial = FIRST_TRIAL_NANOS;
        }
    }

    private void announce(Probe probe, int step, double allowed) {
        announce(probe, step, allowed, 0);
    }

    /** {@code rest}: ns that woven code takes though the probe is disabled, where that alone is too much. */
    private void announce(Probe probe, int step, double allowed, double rest) {
        Output out = new Output();
        out.u4(probe.id);
        out.u1(step);
        out.u4(step == SAMPLED ? probe.thinning() : 0);
        out.u4((int) Math.min(Integer.MAX_VALUE, taken / allowed * share * 1e6));
        out.u4((int) Math.round(share * 1e6));
        out.u4((int) Math.min(Integer.MAX_VALUE, rest / allowed * share * 1e6));
        announced.add(out.toBytes());
    }

    byte[] take() {
        return announced.poll();
    }
}
