package btpy.runtime;

import java.util.ArrayDeque;

/**
 * Limits the processor time of the probes of a session to a share of one core. docs/budget.md explains the algorithm.
 *
 * <p>At each look at the costs ({@link Costs}), the event thread adds the share of the time since the last look to an
 * allowance, and subtracts the cost of the firings. The allowance is at most the share of half a second. A session
 * begins with the share of ten seconds, because the first firings are interpreted and load classes. The rest of this
 * allowance is dropped after two seconds, so that a probe that becomes hot later cannot use it. Between two looks the
 * firings themselves subtract their costs from the allowance ({@link #pays}). A firing that finds the allowance empty
 * restrains its probe at once. The event thread decides the next steps: it lets a probe that makes records make fewer
 * of them, and repeatedly halves the number of hits for which any other probe fires. The budget disables a probe whose
 * skipped hits alone cost too much, or whose firings cost no more than skipped hits. If even the hits of the disabled
 * probe would cost too much (its handler asks whether the probe is enabled, and woven code may read the clock before),
 * the budget tells the client to take the probe out.
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
     * next look comes soon.
     */
    private static final long LOOK_NANOS = 50_000_000L;
    private static final long SOON_NANOS = 5_000_000L;
    private static final double ALLOWANCE_NANOS = 0.5e9;
    private static final double FIRST_ALLOWANCE_NANOS = 10e9;
    private static final long FIRST_NANOS = 2_000_000_000L;
    /**
     * The part of its share that the budget aims for after a restraint, and the part below which it loosens a
     * restraint.
     */
    private static final double AIM = 0.8;
    private static final double CALM = 0.5;
    /** A probe that takes this many times its share is sampled at once, even if it prints. */
    private static final double FAR_OVER = 10;
    /** The tolerated excess as a part of the share and of a core, because hits of a disabled probe also cost time. */
    private static final double TOLERANCE = 0.4;
    private static final double TOLERANCE_OF_CORE = 0.01;
    private static final int THINNING_OF_TRIAL = 1 << 10;
    /** The change of the sampling factor at each step. */
    private static final int STEP = 2;
    private static final long STEP_NANOS = 1_000_000_000L;
    private static final long FIRST_TRIAL_NANOS = 5_000_000_000L;
    private static final long LAST_TRIAL_NANOS = 60_000_000_000L;

    private final ArrayDeque<byte[]> announcements = new ArrayDeque<byte[]>();
    /** The restrained probes, the most recently restrained first. */
    private final ArrayDeque<Probe> restrainedProbes = new ArrayDeque<Probe>();
    /** The probes that restrained themselves since the last look. */
    private final ArrayDeque<Probe> stoppedProbes = new ArrayDeque<Probe>();
    /** The share as a part of one core. */
    private double share;
    private double allowance;
    private long began;
    private long checkedNanos;
    /**
     * The last time when a restraint changed, or when the probes took more than the part {@link #CALM} of their share.
     */
    private long changedNanos;
    private long loosenedNanos;
    private long trial = FIRST_TRIAL_NANOS;
    private volatile boolean holdsBack;
    /** The time in ns that firings may take until the next look. Firing threads change the number in place. */
    private volatile long purse = UNBOUNDED;
    private long purseBefore;
    /** The ratio of the taken time to the share when a printing probe last restrained itself. */
    private double excessWhenStopped;
    private volatile boolean hurries;

    /** The time taken since the last check, and the most expensive probe. */
    private double takenNanos;
    private Probe costliest;
    private double costliestNanos;
    private long costliestHits;
    private boolean costliestPrints;

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
     * Subtracts the cost of a firing from the allowance, on the firing thread.
     *
     * @param nanos the known cost of the firing, and of the untimed firings before it
     * @param paid the amount that was subtracted for the same probe since the last look
     * @return false if the allowance is empty and the probe has used more than a small part of it
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
        return now - checkedNanos >= (hurries ? SOON_NANOS : LOOK_NANOS);
    }

    /** Whether the budget must allow each record of the probe. */
    boolean holdsBack() {
        return holdsBack;
    }

    void add(Probe probe, Probe.Load load, long now) {
        if (probe.ofAgent) {
            return;
        }
        takenNanos += load.nanos;
        if (probe.isStopped()) {
            stoppedProbes.add(probe);
        }
        boolean mayTakeLess = probe.isWorthThinning() || load.nanos > toleratedNanos(share * (now - checkedNanos));
        if (load.nanos > costliestNanos && probe.enabled && mayTakeLess) {
            costliest = probe;
            costliestNanos = load.nanos;
            costliestHits = load.passes + load.out;
            costliestPrints = load.records > 0;
        }
    }

    void check(long now) {
        double allowedNanos = share * (now - checkedNanos);
        boolean known = checkedNanos != 0;
        began = known ? began : now;
        checkedNanos = now;
        hurries = false;
        if (share > 0 && known) {
            double maxAllowance = share * (now - began < FIRST_NANOS ? FIRST_ALLOWANCE_NANOS : ALLOWANCE_NANOS);
            allowance = Math.min(maxAllowance, allowance + allowedNanos) - takenNanos;
            if (!stoppedProbes.isEmpty()) {
                allowance = 0;
                // the firing threads knew only the cost of earlier firings
                takenNanos = Math.max(takenNanos, purseBefore - purse);
                for (Probe probe : stoppedProbes) {
                    stop(probe, now, allowedNanos);
                }
                stoppedProbes.clear();
            } else if (allowance < 0) {
                allowance = 0;
                changedNanos = now;
                if (costliest != null) {
                    tighten(now, allowedNanos);
                }
            } else if (takenNanos >= CALM * allowedNanos) {
                changedNanos = now;
            } else if (!restrainedProbes.isEmpty()) {
                loosen(now, allowedNanos);
            }
        }
        fill();
        takenNanos = 0;
        costliest = null;
        costliestNanos = 0;
    }

    /**
     * Handles a probe that has restrained itself. The next look decides the strength of its restraint, unless no
     * firings would remain to be measured.
     */
    private void stop(Probe probe, long now, double allowedNanos) {
        Probe.Load load = probe.load();
        double hits = load.passes + load.out;
        double restNanos = hits * probe.disabledNanos();
        boolean mayPrintLess = !probe.printsLess() && (probe.mayPrintLess || load.records > 0);
        setLatest(probe, now);
        if (mayPrintLess && !probe.mayPrintLess) { // the next look will show how much the probe costs now
            probe.mayPrintLess = true;
            excessWhenStopped = takenNanos / allowedNanos;
            return;
        }
        if (mayPrintLess) {
            probe.mayPrintLess = false;
            takenNanos = Math.max(takenNanos, excessWhenStopped * allowedNanos);
        }
        probe.thin(probe.thinning());
        if (restNanos > allowedNanos) {
            disable(probe, hits, allowedNanos);
        } else if (mayPrintLess && hits * probe.mean() < FAR_OVER * allowedNanos) {
            printLess(probe, allowedNanos);
        } else {
            announce(probe, SAMPLED, allowedNanos);
        }
    }

    /** Makes the restraint of this probe the most recent one. */
    private void setLatest(Probe probe, long now) {
        changedNanos = now;
        hurries = true;
        restrainedProbes.remove(probe);
        restrainedProbes.addFirst(probe);
    }

    private void printLess(Probe probe, double allowedNanos) {
        probe.thin(1);
        probe.printLess(true);
        holdsBack = true;
        announce(probe, PRINTS_LESS, allowedNanos);
    }

    private void tighten(long now, double allowedNanos) {
        Probe probe = costliest;
        if (now - loosenedNanos < trial) {
            loosenedNanos = now - LAST_TRIAL_NANOS; // so that one trial does not count as failed twice
            trial = Math.min(LAST_TRIAL_NANOS, 2 * trial);
        }
        setLatest(probe, now);
        int oldFactor = probe.thinning();
        boolean thins = probe.isWorthThinning();
        double ofHits = costliestHits * probe.outNanos();
        if (costliestPrints && !probe.printsLess() && oldFactor == 1 && costliestNanos < FAR_OVER * allowedNanos) {
            printLess(probe, allowedNanos);
        } else if (!thins && (oldFactor == 1 ? costliestNanos : ofHits) > toleratedNanos(allowedNanos)
                || costliestHits * probe.disabledNanos() > allowedNanos) {
            disable(probe, costliestHits, allowedNanos);
        } else if (thins) {
            probe.thin(STEP * oldFactor);
            announce(probe, SAMPLED, allowedNanos);
        }
    }

    /** The cost in ns up to which a probe stays enabled, if only disabling it could reduce its cost. */
    private double toleratedNanos(double allowedNanos) {
        return allowedNanos * (1 + Math.min(TOLERANCE, TOLERANCE_OF_CORE / share));
    }

    /** Disables a probe. The client is told to take the probe out if its hits still cost too much. */
    private void disable(Probe probe, double hits, double allowedNanos) {
        double entryNanos = hits * Probe.DISABLED_NANOS;
        double readingNanos = hits * probe.disabledNanos();
        boolean comesBack = readingNanos < CALM * allowedNanos
                && entryNanos < allowedNanos * (1 + TOLERANCE_OF_CORE / share);
        probe.disableForBudget(comesBack);
        announce(probe, DISABLED, allowedNanos, comesBack ? 0 : entryNanos + readingNanos);
    }

    private void loosen(long now, double allowedNanos) {
        Probe probe = restrainedProbes.peekFirst();
        boolean disabled = probe.isOverBudget();
        if (!disabled && !probe.enabled) { // disabled by another request: nothing to loosen until it is enabled
            restrainedProbes.removeFirst();
            restrainedProbes.addLast(probe);
            return;
        }
        int thinning = probe.thinning();
        int less = Math.max(1, thinning / STEP);
        double extraNanos = disabled ? 0 : probe.load().passes * probe.mean() * (thinning / less - 1);
        if (takenNanos + extraNanos > AIM * allowedNanos) {
            changedNanos = now;
        }
        if (now - changedNanos < (disabled ? trial : STEP_NANOS)) {
            return;
        }
        changedNanos = now;
        loosenedNanos = now;
        hurries = true;
        if (disabled) {
            probe.thin(THINNING_OF_TRIAL);
            probe.enable(true);
            announce(probe, SAMPLED, allowedNanos);
        } else if (thinning > 1) {
            probe.thin(less);
            announce(probe, probe.thinning() > 1 ? SAMPLED : probe.printsLess() ? PRINTS_LESS : FREE, allowedNanos);
        } else {
            probe.printLess(false);
            announce(probe, FREE, allowedNanos);
        }
        if (probe.thinning() == 1 && !probe.printsLess()) {
            restrainedProbes.removeFirst();
        }
        boolean anyPrintsLess = false;
        for (Probe otherProbe : restrainedProbes) {
            anyPrintsLess |= otherProbe.printsLess();
        }
        holdsBack = anyPrintsLess;
        if (restrainedProbes.isEmpty()) {
            trial = FIRST_TRIAL_NANOS;
        }
    }

    private void announce(Probe probe, int step, double allowedNanos) {
        announce(probe, step, allowedNanos, 0);
    }

    /**
     * Announces a restraint. {@code restNanos} is the cost in ns of woven code of the disabled probe if that alone is
     * too much.
     */
    private void announce(Probe probe, int step, double allowedNanos, double restNanos) {
        Output out = new Output();
        out.u4(probe.id);
        out.u1(step);
        out.u4(step == SAMPLED ? probe.thinning() : 0);
        out.u4((int) Math.min(Integer.MAX_VALUE, takenNanos / allowedNanos * share * 1e6));
        out.u4((int) Math.round(share * 1e6));
        out.u4((int) Math.min(Integer.MAX_VALUE, restNanos / allowedNanos * share * 1e6));
        announcements.add(out.toBytes());
    }

    byte[] take() {
        return announcements.poll();
    }
}
