package btpy.runtime;

import java.io.File;

/** Scenarios of the budget's restraints, with a clock that the scenario sets. */
final class BudgetScenarios extends Scenarios {
    BudgetScenarios(File directory) {
        super(directory);
        add("budget", this::budget);
        add("allowance", this::allowance);
        add("at-once", this::atOnce);
        add("prints-at-once", this::printsAtOnce);
        add("cheap", this::cheap);
        add("learnt", this::learnt);
        add("fast-paths-restrained", this::fastPathsRestrained);
    }

    /**
     * By the scenario's clock, the first probe takes a whole core, then nothing. The second probe makes records. The
     * third probe is hit too often.
     */
    private void budget() throws Exception {
        open(defaults());
        session.budget(2_000);
        long now = System.nanoTime();
        session.tick(now);
        long weights = 0;
        for (int i = 0; i < 4001; i++) {
            long run = session.fired(1);
            if (run >= 0) {
                weights += Probe.weight(run);
                lasted(run, 1, 10_000);
            }
            if (i % 500 == 499) {
                session.tick(now += 50_000_000L);
            }
        }
        restraints("sampled");
        fact("weights", weights);
        for (int i = 0; i < 2000 && session.isEnabled(1); i++) { // no hit for 100 seconds
            session.tick(now += 50_000_000L);
        }
        restraints("calm");
        fact("free", Probe.weight(session.fired(1)));
        session.budget(20_000);
        for (int round = 0; round < 12; round++) { // the probe takes three times its budget, and makes records
            for (int i = 0; i < 6; i++) {
                long run = session.fired(2);
                if (run >= 0) {
                    print(2, 0, i);
                    lasted(run, 2, 10_000_000);
                }
            }
            drainAll();
            session.tick(now += 1_000_000_000L);
        }
        restraints("prints");
        session.budget(1_000);
        session.setEnabled(2, false);
        for (int i = 0; i < 2000; i++) {
            session.tick(now += 50_000_000L);
        }
        fact("left-alone", session.isEnabled(2));
        restraints("off");
        now = hitUntilDisabled(now);
        restraints("too-many");
        fact("disabled", session.isEnabled(3));
        for (String when : new String[] {"first", "second"}) { // the budget enables the probe twice more, as a trial
            int ticks = 0;
            for (; ticks < 1200 && !session.isEnabled(3); ticks++) { // a minute
                session.tick(now += 50_000_000L);
            }
            fact(when + "-trial", ticks);
            now = hitUntilDisabled(now);
        }
        finish();
    }

    /** Makes a million hits a second, and 10 us a firing. Even skipped hits cost more than the budget allows. */
    private long hitUntilDisabled(long now) {
        for (int i = 0; i < 20_000_000 && session.isEnabled(3); i++) {
            long run = session.fired(3);
            if (run >= 0) {
                lasted(run, 3, 10_000);
            }
            if (i % 50_000 == 49_999) {
                session.tick(now += 50_000_000L);
            }
        }
        return now;
    }

    /** Firings take 16 ms. At first the allowance is 100 ms; later it is 10 ms. */
    private void allowance() throws Exception {
        open(defaults());
        session.budget(10_000);
        long now = System.nanoTime();
        session.tick(now);
        for (String when : new String[] {"first", "later"}) {
            for (int i = 0; i < 16; i++) {
                lasted(session.fired(1), 1, 1_000_000);
            }
            session.tick(now += 50_000_000L);
            restraints(when);
            for (int i = 0; i < 60; i++) { // for three seconds
                session.tick(now += 50_000_000L);
            }
        }
        finish();
    }

    /** A probe becomes hot between two ticks; another probe fires rarely. */
    private void atOnce() throws Exception {
        open(defaults());
        session.budget(10_000);
        long now = System.nanoTime();
        for (int i = 0; i < 64; i++) { // more than three seconds
            session.tick(now += 50_000_000L);
            lasted(session.fired(1), 1, 10_000);
            lasted(session.fired(2), 2, 10_000);
        }
        session.tick(now += 50_000_000L);
        restraints("before");
        int firings = 0;
        long weights = 0;
        for (int i = 0; i < 50_021; i++) {
            long run = session.fired(1);
            if (run >= 0) {
                firings++;
                weights += Probe.weight(run);
                lasted(run, 1, 10_000);
            }
            if (i % 10_000 == 9_999 && session.fired(2) < 0) {
                fact("too-far", i);
            }
        }
        fact("fired", firings);
        fact("weights", weights);
        session.tick(now += 10_000_000L);
        restraints("after");
        finish();
    }

    /** A probe that makes records becomes hot between two ticks, and is less hot after the second tick. */
    private void printsAtOnce() throws Exception {
        open(defaults());
        session.budget(10_000);
        long now = System.nanoTime();
        for (int i = 0; i < 64; i++) {
            session.tick(now += 50_000_000L);
            printing(1, 1_000);
        }
        printing(200, 100_000);
        session.tick(now += 10_000_000L);
        restraints("first");
        printing(5, 100_000);
        session.tick(now += 10_000_000L);
        restraints("then");
        finish();
    }

    private void printing(int hits, int nanos) throws Exception {
        for (int i = 0; i < hits; i++) {
            long run = session.fired(1);
            if (run >= 0) {
                print(1, 0, i);
                cost(run, 1, nanos);
            }
        }
        drainAll();
    }

    /**
     * Firings take 2 ns by the clock of the scenario, which is less than a skipped hit. In four phases, the firings
     * take half of the budget, a quarter more than the budget, again a quarter more while another probe takes less than
     * half of the budget, and five times the budget.
     */
    private void cheap() throws Exception {
        open(defaults());
        session.budget(2_000);
        long now = System.nanoTime();
        for (int i = 0; i < 60; i++) { // uses up the larger allowance of a new session
            session.tick(now += 50_000_000L);
        }
        int[] firings = {25_000, 60_000, 60_000, 250_000};
        String[] when = {"within", "hardly-over", "beside", "over"};
        for (int phase = 0; phase < when.length; phase++) {
            for (int tick = 0; tick < 20; tick++) {
                for (int i = 0; i < firings[phase] && session.isEnabled(1); i++) {
                    cost(session.fired(1), 1, 2);
                }
                for (int i = 0; i < 400 && phase == 2; i++) {
                    cost(session.fired(2), 2, 100);
                }
                session.tick(now += 50_000_000L);
            }
            restraints(when[phase]);
        }
        finish();
    }

    /** Firings take 50 µs while they are rare, and 100 ns when they are frequent. One frequent firing takes a second. */
    private void learnt() throws Exception {
        open(defaults());
        session.budget(10_000);
        long now = System.nanoTime();
        for (int i = 0; i < 64; i++) {
            session.tick(now += 50_000_000L);
            for (int k = 0; k < 4; k++) {
                cost(session.fired(1), 1, 50_000);
            }
        }
        session.tick(now += 50_000_000L);
        int timedFirings = 0;
        for (int i = 0; i < 20_011; i++) {
            long run = session.fired(1);
            timedFirings += Probe.isTimed(run) ? 1 : 0;
            cost(run, 1, timedFirings == 200 ? 1_000_000_000 : 100);
        }
        fact("timed", timedFirings);
        session.tick(now += 50_000_000L);
        restraints("hot");
        finish();
    }

    /** A timed firing shows between two ticks that firings on a fast path cost too much. */
    private void fastPathsRestrained() throws Exception {
        open(defaults());
        session.addMap(0, MapShape.COUNT, 0, 2, 1, new long[0]);
        session.addMap(1, MapShape.COUNT, 1, 2, 64, new long[0]);
        session.addTargets(1, new int[] {0});
        session.addTargets(2, new int[] {1});
        session.budget(20_000); // a firing that the machine interrupts stays within it
        long now = System.nanoTime();
        for (int i = 0; i < 64; i++) {
            session.tick(now += 50_000_000L);
            Session.tally(site(1), 1, 0);
            Session.add(site(1), 2, 1, "k", 1, 0);
        }
        for (int probe = 1; probe <= 2; probe++) {
            for (int i = 0; i < 64; i++) {
                session.probe(probe).endRuns(1_000_000_000, 1, 0, 0);
            }
        }
        restraints("before");
        for (int i = 0; i < 100_003; i++) {
            Session.tally(site(1), 1, 0);
            Session.add(site(1), 2, 1, "k", 1, 0);
        }
        finish(0, 1);
    }

    /** Reports the cost of a firing in ns, if the firing is timed. */
    private void cost(long run, int probe, int nanos) {
        if (Probe.isTimed(run)) {
            session.probe(probe).endRuns(nanos + Costs.clock(), 1, 0, 0);
        }
    }

    /** Ends a run as if it had begun {@code nanos} ns ago. */
    private void lasted(long run, int probe, long nanos) {
        if (Probe.isTimed(run)) {
            long clock = (1L << 40) - 1;
            session.took(probe, run & ~clock | System.nanoTime() - nanos & clock, 0);
        }
    }

    /** Prints each restraint: probe, step, and whether the client has to take the probe out. */
    private void restraints(String key) {
        StringBuilder steps = new StringBuilder();
        for (byte[] restraint = session.takeRestraint(); restraint != null; restraint = session.takeRestraint()) {
            boolean rest = (restraint[17] | restraint[18] | restraint[19] | restraint[20]) != 0;
            steps.append(restraint[3]).append(':').append(restraint[4]).append(':').append(rest ? "out" : "").append(' ');
        }
        fact(key, steps.toString().trim());
    }
}
