package btpy.runtime;

import java.io.File;
import java.util.ArrayList;

/** Scenarios of entering a handler, limits of firings, errors of probes, and slots of sessions. */
final class SessionScenarios extends Scenarios {
    SessionScenarios(File directory) {
        super(directory);
        add("firings", this::limitedFirings);
        add("guard", this::guard);
        add("depth", this::depth);
        add("errors", this::errors);
        add("slots", this::slots);
    }

    private void limitedFirings() throws Exception {
        open(defaults());
        session.limit(1, 101, 0, 0, 0);
        session.limit(2, 0, 17, 0, 0);
        session.limit(3, 0, 0, 5_000_000_000L, 0);
        final long[] firings = new long[WRITERS];
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                for (int hit = 0; hit < 1009; hit++) {
                    for (int probe = 1; probe <= 3; probe++) {
                        Session enteredSession = Session.enter(site(1), probe);
                        if (enteredSession != null && enteredSession.fired(probe) >= 0 && probe == 1) {
                            firings[writer]++;
                        }
                    }
                }
            }
        });
        long all = 0;
        for (long count : firings) {
            all += count;
        }
        fact("first", all + " " + (Session.enter(site(1), 1) == null));
        session.tick(System.nanoTime() + 1_000_000_000L);
        for (int hit = 0; hit < 101; hit++) {
            session.fired(2);
        }
        fact("in-time", Session.enter(site(1), 3) != null);
        session.tick(System.nanoTime() + 6_000_000_000L);
        fact("late", Session.enter(site(1), 3) == null);
        session.disable(5);
        fact("disabled", Session.enter(site(1), 5) == null);
        session.setEnabled(5, true);
        fact("enabled", Session.enter(site(1), 5) != null);
        session.disable(6);
        finish();
    }

    private void guard() throws Exception {
        open(defaults());
        fact("enter", Session.enter(site(1), 1) == session);
        fact("other-slot", Session.enter(99 << 24 | 1, 1) == null && Session.enter(-1, 1) == null);
        fact("unknown-probe", Session.enter(site(1), 99) == null && Session.enter(site(1), -1) == null);
        session.setEnabled(1, false);
        fact("disabled", Session.enter(site(1), 1) == null && enterGuarded(site(1), 1) == null);
        session.setEnabled(1, true);
        fact("guarded", enterGuarded(site(1), 1) == session);
        fact("inside", enterGuarded(site(1), 2) == null);
        byte[] records = new byte[session.maxRecord()];
        session.drain(records, System.nanoTime() + 3_000_000_000L);
        fact("given-up", enterGuarded(site(1), 2) == session);
        fact("inside-again", enterGuarded(site(1), 2) == null);
        session.drain(records, System.nanoTime());
        leave();
        fact("left", enterGuarded(site(1), 1) == session);
        final boolean[] results = new boolean[3];
        Thread thread = new Thread() {
            @Override
            public void run() {
                results[0] = enterGuarded(site(1), 1) == session;
                leave();
            }
        };
        thread.start();
        thread.join();
        fact("other-thread", results[0]);
        leave();
        AgentThread agent = new AgentThread(new Runnable() {
            @Override
            public void run() {
                results[0] = Session.enter(site(1), 1) == null;
                results[1] = enterGuarded(site(1), 1) == null;
                results[2] = Session.enterAgent(site(1), 1) == session;
            }
        }, "agent");
        agent.start();
        agent.join();
        fact("agent", results[0] && results[1] && results[2]);
        fact("agent-elsewhere", Session.enterAgent(site(1), 1) == null);
        long tid = MEMORY.getLong(Thread.currentThread(), MEMORY.fieldOffset(Thread.class, "tid"));
        fact("tid", tid == Thread.currentThread().getId() && Threads.id() == tid);
        session.close();
        fact("closed", Session.enter(site(1), 1) == null && enterGuarded(site(1), 1) == null);
    }

    private void depth() throws Exception {
        open(defaults());
        fact("outermost", Depths.enter(site(1), 1));
        fact("second", Depths.enter(site(1), 1));
        fact("other-probe", Depths.enter(site(1), 2));
        fact("third", Depths.enter(site(1), 1));
        Depths.leave(site(1), 1, 1); // the third activation does not call leave
        fact("healed", Depths.enter(site(1), 1));
        Depths.leave(site(1), 1, 1);
        Depths.leave(site(1), 1, 0);
        fact("again", Depths.enter(site(1), 1));
        Depths.leave(site(1), 1, 0);
        Depths.leave(site(1), 2, 0);
        final long offset = MEMORY.fieldOffset(Thread.class, "tid");
        final int[] depths = new int[2];
        Thread many = new Thread() {
            @Override
            public void run() {
                long ownValue = MEMORY.getLong(this, offset);
                for (long tid = 1_000_000; tid < 1_100_000; tid++) {
                    MEMORY.putLong(this, offset, tid);
                    depths[Depths.enter(site(1), 1) == 0 ? 0 : 1]++;
                }
                MEMORY.putLong(this, offset, ownValue);
            }
        };
        many.start();
        many.join();
        fact("counted", depths[0]);
        fact("uncounted", depths[1]);
        finish();
        fact("closed", Depths.enter(site(1), 1));
    }

    private void errors() throws Exception {
        open(defaults());
        session.failed(1, 100, ProbeError.NULL_OPERAND);
        session.failed(1, 100, ProbeError.NULL_OPERAND);
        session.failed(1, 200, new ArithmeticException("/ by zero"));
        session.failed(1, 200, new ClassCastException("no"));
        session.failed(2, 200, new StackOverflowError());
        session.failed(2, 300, new IllegalStateException("odd") {
            private static final long serialVersionUID = 1L;

            @Override
            public String getMessage() {
                throw new AssertionError("getMessage of an application's exception");
            }
        });
        Session enteredSession = enterGuarded(site(1), 5);
        Elements.element(enteredSession, new int[2], 2, 55);
        Elements.element(enteredSession, new ArrayList<Object>(), 0, 55);
        enteredSession.addMap(0, MapShape.SUM, 0, 2, 1, new long[0]);
        enteredSession.map(0).add(enteredSession.map(0).slot(), (Object) null);
        leave();
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                for (int i = 0; i < 10_000; i++) {
                    session.failed(7, i % 3, ProbeError.BAD_CAST);
                }
            }
        });
        byte[] errors = session.takeErrors();
        write("errors", errors, errors.length);
        fact("quiet", session.takeErrors() == null);
        session.failed(1, 100, ProbeError.NULL_OPERAND);
        errors = session.takeErrors();
        fact("since", errors.length > 20 && errors[20] == 1 && errors[3] == 1);
        session.fired(4);
        finish();
    }

    private void slots() {
        Session[] sessions = new Session[127];
        boolean[] usedSlots = new boolean[128];
        boolean distinct = true;
        Limits smallLimits = new Limits(0, 1, 0, 0, 0, 1);
        for (int i = 0; i < 127; i++) {
            sessions[i] = Session.open(smallLimits, 1);
            distinct &= !usedSlots[sessions[i].slot()] && sessions[i].slot() > 0;
            usedSlots[sessions[i].slot()] = true;
        }
        fact("distinct", distinct);
        fact("full", Session.open(smallLimits, 1) == null);
        sessions[5].close();
        Session newSession = Session.open(smallLimits, 1);
        fact("reused", newSession != null && newSession.slot() == sessions[5].slot());
        sessions[5].close(); // a second close must not free the slot of its new owner
        newSession.addProbe(0);
        newSession.setEnabled(0, true);
        fact("kept", Session.enter(newSession.slot() << 24 | 1, 0) == newSession);
        newSession.close();
        for (Session session : sessions) {
            session.close();
        }
    }
}
