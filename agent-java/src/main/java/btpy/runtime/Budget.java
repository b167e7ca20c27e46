package btpy.runtime;

import java.util.ArrayDeque;

/**
 * Keeps the processor time that the probes of a session take within a share of one core. docs/budget.md explains the whole.
 *
 * <p>At each look the event thread puts the share into an allowance, which holds half a second's worth, and takes the cost of the firings
 * ({@link Costs}) out of it. A session begins with ten seconds' worth, because the first firings are interpreted and load classes. The
 * rest of that is dropped after two seconds, so that a probe that becomes hot later cannot live on it. Between two looks firings
 * themselves pay out of the allowance ({@link #pays}); a firing that finds it empty restrains its probe at once. The event thread decides
 * the rest: a probe that makes records makes few; another probe fires for half as many hits as before, again and again. The budget
 * disables a probe whose skipped hits alone cost too much, or whose firings cost no more than skipped hits. If even the hits of the
 * disabled probe would cost too much (its handler asks whether the probe is enabled, and woven code may read the clock before), the
 * budget tells the client to take the probe out.
 *
 * <p>When the probes take less than half of their share for a while, and would not take more than it, the budget undoes the last
 * restraint by one step: a disabled probe comes back with few hits that fire, then with more, then with all, then with all records. If
 * the load is still there the budget disables the probe again, and waits twice as long before the next attempt. Only the event thread
 * calls this class, except {@link #holdsBack} and {@link #pays}.
 */
final class Budget {
    /** Of a restraint, as RESTRAINED says. */
    private static final int FREE = 0;
    private static final int PRINTS_LESS = 1;
    private static final int SAMPLED = 2;
    private static final int DISABLED = 3;

    private static final Memory MEMORY = Memory.instance();
    private static final long PURSE = MEMORY.fieldOffset(Budget.class, "purse");
    private static final long UNBOUNDED = Long.MAX_VALUE / 2;

    /** Between two looks at what firings took; after something was changed, or a probe has restrained itself, the next one is soon. */
    private static final long LOOK_NANOS = 50_000_000L;
    private static final long SOON_NANOS = 5_000_000L;
    private static final double ALLOWANCE_NANOS = 0.5e9;
    private static final double FIRST_ALLOWANCE_NANOS = 10e9;
    private static final long FIRST_NANOS = 2_000_000_000L;
    /** How much of its share is to be used after a restraint, and below which part one is loosened. */
    private static final double AIM = 0.8;
    private static final double CALM = 0.5;
    /** A probe that takes so many times its share is sampled at once, even if it prints. */
    private static final double FAR_OVER = 10;
    /** What is borne beyond the share, of the share and of a core: hits of a disabled probe take something, too. */
    private static final double BORNE = 0.4;
    private static final double BORNE_OF_CORE = 0.01;
    private static final int THINNING_OF_TRIAL = 1 << 10;
    /** Of the factor by which hits are left out, each time. */
    private static final int STEP = 2;
    private static final long STEP_NANOS = 1_000_000_000L;
    private static final long FIRST_TRIAL_NANOS = 5_000_000_000L;
    private static final long LAST_TRIAL_NANOS = 60_000_000_000L;

    private final ArrayDeque<byte[]> announced = new ArrayDeque<byte[]>();
    /** Restrained probes, that of the last restraint first. */
    private final ArrayDeque<Probe> restrained = new ArrayDeque<Probe>();
    /** Those that restrained themselves since the last look. */
    private final ArrayDeque<Probe> stopped = new ArrayDeque<Probe>();
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
    /** ns that firings may still take until the next look; changed in place by those that pay. */
    private volatile long purse = UNBOUNDED;
    private long purseBefore;
    /** How many times their share the probes took when one that prints restrained itself last. */
    private double overWhenStopped;
    private volatile boolean hurries;

    /** What was taken since the last check, and by which probe most of it. */
    private double taken;
    private Probe dearest;
    private double dearestNanos;
    private long dearestHits;
    private boolean dearestPrints;

    void set(int millionths) {
        share = millionths / 1e6;
        allowance = share * FIRST_ALLOWANCE_NANOS;
        fill();
    }

    double share() {
        return share;
    }

    private void fill() {
        purseBefore = share > 0 ? (long) (allowance + share * LOOK_NANOS) : UNBOUNDED;
        purse = purseBefore;
    }

    /**
     * On the thread that fires.
     *
     * @param nanos what the firing, and those that it pays for, take as far as is known
     * @param paid of the same probe since the last look
     * @return false when nothing is left, and the probe is not one of those that take little
     */
    boolean pays(long nanos, long paid) {
        return MEMORY.getAndAddLong(this, PURSE, -nanos) >= nanos || paid < share * LOOK_NANOS / 2;
    }

    /** A probe has restrained itself. */
    void hurry() {
        hurries = true;
    }

    /** Whether it is time to look at what firings took. */
    boolean isDue(long now) {
        return now - checked >= (hurries ? SOON_NANOS : LOOK_NANOS);
    }

    /** Whether a probe must be asked before it makes a record. */
    boolean holdsBack() {
        return holdsBack;
    }

    void add(Probe probe, Probe.Load load, long now) {
        if (probe.ofAgent) {
            return;
        }
        taken += load.nanos;
        if (probe.isStopped()) {
            stopped.add(probe);
        }
        boolean mayTakeLess = probe.isWorthThinning() || load.nanos > borne(share * (now - checked));
        if (load.nanos > dearestNanos && probe.enabled && mayTakeLess) {
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
        hurries = false;
        if (share > 0 && known) {
            double most = share * (now - began < FIRST_NANOS ? FIRST_ALLOWANCE_NANOS : ALLOWANCE_NANOS);
            allowance = Math.min(most, allowance + allowed) - taken;
            if (!stopped.isEmpty()) {
                allowance = 0;
                taken = Math.max(taken, purseBefore - purse); // they knew only the cost of earlier firings
                for (Probe probe : stopped) {
                    stop(probe, now, allowed);
                }
                stopped.clear();
            } else if (allowance < 0) {
                allowance = 0;
                changed = now;
                if (dearest != null) {
                    tighten(now, allowed);
                }
            } else if (taken >= CALM * allowed) {
                changed = now;
            } else if (!restrained.isEmpty()) {
                loosen(now, allowed);
            }
        }
        fill();
        taken = 0;
        dearest = null;
        dearestNanos = 0;
    }

    /** A probe has restrained itself: how far it has to be is seen at the next look, unless there is nothing left to be seen. */
    private void stop(Probe probe, long now, double allowed) {
        Probe.Load load = probe.load();
        double hits = load.passes + load.out;
        double rest = hits * probe.disabledNanos();
        boolean mayPrintLess = !probe.printsLess() && (probe.mayPrintLess || load.records > 0);
        put(probe, now);
        if (mayPrintLess && !probe.mayPrintLess) { // how hot it is now, the next look will show
            probe.mayPrintLess = true;
            overWhenStopped = taken / allowed;
            return;
        }
        if (mayPrintLess) {
            probe.mayPrintLess = false;
            taken = Math.max(taken, overWhenStopped * allowed);
        }
        probe.thin(probe.thinning());
        if (rest > allowed) {
            disable(probe, hits, allowed);
        } else if (mayPrintLess && hits * probe.mean() < FAR_OVER * allowed) {
            printLess(probe, allowed);
        } else {
            announce(probe, SAMPLED, allowed);
        }
    }

    /** Of all restraints this is the last. */
    private void put(Probe probe, long now) {
        changed = now;
        hurries = true;
        restrained.remove(probe);
        restrained.addFirst(probe);
    }

    private void printLess(Probe probe, double allowed) {
        probe.thin(1);
        probe.printLess(true);
        holdsBack = true;
        announce(probe, PRINTS_LESS, allowed);
    }

    private void tighten(long now, double allowed) {
        Probe probe = dearest;
        if (now - loosened < trial) {
            loosened = now - LAST_TRIAL_NANOS; // one attempt fails once
            trial = Math.min(LAST_TRIAL_NANOS, 2 * trial);
        }
        put(probe, now);
        int before = probe.thinning();
        boolean thins = probe.isWorthThinning();
        double ofHits = dearestHits * probe.outNanos();
        if (dearestPrints && !probe.printsLess() && before == 1 && dearestNanos < FAR_OVER * allowed) {
            printLess(probe, allowed);
        } else if (!thins && (before == 1 ? dearestNanos : ofHits) > borne(allowed)
                || dearestHits * probe.disabledNanos() > allowed) {
            disable(probe, dearestHits, allowed);
        } else if (thins) {
            probe.thin(STEP * before);
            announce(probe, SAMPLED, allowed);
        }
    }

    /** ns up to which a probe is left as it is that nothing but disabling could make take less. */
    private double borne(double allowed) {
        return allowed * (1 + Math.min(BORNE, BORNE_OF_CORE / share));
    }

    /** It is taken out where hits take too much still. */
    private void disable(Probe probe, double hits, double allowed) {
        double ofEntering = hits * Probe.DISABLED_NANOS;
        double ofReadings = hits * probe.disabledNanos();
        boolean comesBack = ofReadings < CALM * allowed && ofEntering < allowed * (1 + BORNE_OF_CORE / share);
        probe.disableForBudget(comesBack);
        announce(probe, DISABLED, allowed, comesBack ? 0 : ofEntering + ofReadings);
    }

    private void loosen(long now, double allowed) {
        Probe probe = restrained.peekFirst();
        boolean disabled = probe.isOverBudget();
        if (!disabled && !probe.enabled) { // by somebody else: nothing to be loosened, until it is enabled
            restrained.removeFirst();
            restrained.addLast(probe);
            return;
        }
        int thinning = probe.thinning();
        int less = Math.max(1, thinning / STEP);
        double more = disabled ? 0 : probe.load().passes * probe.mean() * (thinning / less - 1);
        if (taken + more > AIM * allowed) {
            changed = now;
        }
        if (now - changed < (disabled ? trial : STEP_NANOS)) {
            return;
        }
        changed = now;
        loosened = now;
        hurries = true;
        if (disabled) {
            probe.thin(THINNING_OF_TRIAL);
            probe.enable(true);
            announce(probe, SAMPLED, allowed);
        } else if (thinning > 1) {
            probe.thin(less);
            announce(probe, probe.thinning() > 1 ? SAMPLED : probe.printsLess() ? PRINTS_LESS : FREE, allowed);
        } else {
            probe.printLess(false);
            announce(probe, FREE, allowed);
        }
        if (probe.thinning() == 1 && !probe.printsLess()) {
            restrained.removeFirst();
        }
        boolean anyPrintsLess = false;
        for (Probe other : restrained) {
            anyPrintsLess |= other.printsLess();
        }
        holdsBack = anyPrintsLess;
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
