package btpy.runtime;

import java.util.ArrayDeque;

/**
 * Limits the processor time of the probes of a session to a share of one core. docs/budget.md explains the algorithm.
 *
 * <p>At each look the event thread adds the share to an allowance, which is at most half a second's worth, and
 * subtracts the cost of the firings ({@link Costs}). A session begins with ten seconds' worth, because the first
 * firings are interpreted and load classes. The rest of this is dropped after two seconds, so that a probe that becomes
 * hot later cannot use it. Between two looks the firings themselves pay out of the allowance ({@link #pays}). A firing
 * that finds it empty restrains its probe at once. The event thread decides the next steps: a probe that makes records
 * makes fewer; any other probe fires for half as many hits, repeatedly. The budget disables a probe whose skipped hits
 * alone cost too much, or whose firings cost no more than skipped hits. If even the hits of the disabled probe would
 * cost too much (its handler asks whether the probe is enabled, and woven code may read the clock before), the budget
 * tells the client to take the probe out.
 *
 * <p>If the probes take less than half of their share for a while, and would not take more than the share without the
 * last restraint, the budget undoes this restraint by one step: a disabled probe returns with few hits that fire, then
 * with more, then with all, then with all records. If the load is still there, the budget disables the probe again, and
 * waits twice as long before the next attempt. Only the event thread calls this class, except {@link #holdsBack} and
 * {@link #pays}.
 */
final class Budget {
    /** Steps of a restraint, as RESTRAINED reports them. */
    private static final int FREE = 0;
    private static final int PRINTS_LESS = 1;
    private static final int SAMPLED = 2;
    private static final int DISABLED = 3;

    private static final Memory MEMORY = Memory.instance();
    private static final long PURSE = MEMORY.fieldOffset(Budget.class, "purse");
    private static final long UNBOUNDED = Long.MAX_VALUE / 2;

    /**
     * The time between two looks at the cost of firings. After a change, or when a probe has restrained itself, the
     * next one is soon.
     */
    private static final long LOOK_NANOS = 50_000_000L;
    private static final long SOON_NANOS = 5_000_000L;
    private static final double ALLOWANCE_NANOS = 0.5e9;
    private static final double FIRST_ALLOWANCE_NANOS = 10e9;
    private static final long FIRST_NANOS = 2_000_000_000L;
    /** The part of its share that the budget aims for after a restraint, and the part below which it loosens one. */
    private static final double AIM = 0.8;
    private static final double CALM = 0.5;
    /** A probe that takes this many times its share is sampled at once, even if it prints. */
    private static final double FAR_OVER = 10;
    /** The tolerated excess as a part of the share and of a core, because hits of a disabled probe also cost time. */
    private static final double BORNE = 0.4;
    private static final double BORNE_OF_CORE = 0.01;
    private static final int THINNING_OF_TRIAL = 1 << 10;
    /** The change of the sampling factor at each step. */
    private static final int STEP = 2;
    private static final long STEP_NANOS = 1_000_000_000L;
    private static final long FIRST_TRIAL_NANOS = 5_000_000_000L;
    private static final long LAST_TRIAL_NANOS = 60_000_000_000L;

    private final ArrayDeque<byte[]> announced = new ArrayDeque<byte[]>();
    /** The restrained probes, the most recently restrained first. */
    private final ArrayDeque<Probe> restrained = new ArrayDeque<Probe>();
    /** The probes that restrained themselves since the last look. */
    private final ArrayDeque<Probe> stopped = new ArrayDeque<Probe>();
    /** The share as a part of one core. */
    private double share;
    private double allowance;
    private long began;
    private long checked;
    /** The last time when a restraint changed, or when the probes took more than the calm part. */
    private long changed;
    private long loosened;
    private long trial = FIRST_TRIAL_NANOS;
    private volatile boolean holdsBack;
    /** The ns that firings may take until the next look. Paying threads change it in place. */
    private volatile long purse = UNBOUNDED;
    private long purseBefore;
    /** The ratio of the taken time to the share when a printing probe last restrained itself. */
    private double overWhenStopped;
    private volatile boolean hurries;

    /** The time taken since the last check, and the most expensive probe. */
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
     * Pays for a firing, on the firing thread.
     *
     * @param nanos the known cost of the firing, and of the untimed firings before it @param paid the amount that the
     * same probe paid since the last look @return false if the allowance is empty and the probe has used more than a
     * small part of it
     */
    boolean pays(long nanos, long paid) {
        return MEMORY.getAndAddLong(this, PURSE, -nanos) >= nanos || paid < share * LOOK_NANOS / 2;
    }

    /** Called when a probe has restrained itself. */
    void hurry() {
        hurries = true;
    }

    /** Whether the next look at the cost of firings is due. */
    boolean isDue(long now) {
        return now - checked >= (hurries ? SOON_NANOS : LOOK_NANOS);
    }

    /** Whether the budget must allow each record of the probe. */
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
                taken = Math.max(taken, purseBefore - purse); // the firing threads knew only the cost of earlier firings
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

    /**
     * Handles a probe that has restrained itself. The next look decides the strength of its restraint, unless no
     * firings would remain to be measured.
     */
    private void stop(Probe probe, long now, double allowed) {
        Probe.Load load = probe.load();
        double hits = load.passes + load.out;
        double rest = hits * probe.disabledNanos();
        boolean mayPrintLess = !probe.printsLess() && (probe.mayPrintLess || load.records > 0);
        put(probe, now);
        if (mayPrintLess && !probe.mayPrintLess) { // the next look will show how hot it is now
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

    /** Makes this the most recent restraint. */
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
            loosened = now - LAST_TRIAL_NANOS; // a single trial fails once
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

    /** The ns up to which a probe is tolerated if only disabling it could reduce its cost. */
    private double borne(double allowed) {
        return allowed * (1 + Math.min(BORNE, BORNE_OF_CORE / share));
    }

    /** Disables a probe. The client is told to take it out if its hits still cost too much. */
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
        if (!disabled && !probe.enabled) { // disabled by another request: nothing to loosen until it is enabled
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

    /**
     * Announces a restraint. {@code rest} is the cost in ns of woven code of the disabled probe if that alone is too
     * much.
     */
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
