package btpy.runtime;

import app.StackProbe;
import java.io.File;
import java.util.Arrays;
import java.util.LinkedList;

/** Scenarios of stacks, fields, elements and sites. */
final class ObjectScenarios extends Scenarios {
    ObjectScenarios(File directory) {
        super(directory);
        add("stacks", this::stacks);
        add("stacksAgain", this::stacksAgain);
        add("fields", this::fields);
    }

    private void stacks() throws Exception {
        open(new Limits(1 << 20, 200, 2, 20, 20, 8));
        StackProbe probe = new StackProbe(session);
        Object[] stacks = new Object[3];
        for (int i = 0; i < stacks.length; i++) {
            stacks[i] = StackProbe.capture(probe, i < 2 ? 3 : 5, 100);
        }
        fact("interned", stacks[0] == stacks[1]);
        fact("distinct", stacks[0] != stacks[2]);
        emit(0, stacks[0], stacks[2]);
        final Throwable liar = StackProbe.fail();
        final Object[] stackOfLiar = {Stack.of(session, liar, 2)};
        Thread holder = new Thread() {
            @Override
            public void run() {
                stackOfLiar[0] = Stack.of(session, liar, 2);
            }
        };
        synchronized (liar) { // this thread holds the exception's monitor
            holder.start();
            holder.join(10_000);
        }
        fact("monitor", !holder.isAlive());
        emit(1, stackOfLiar[0], Stack.of(session, null, 3));
        fact("frameOf", Stack.frameOf(session, liar, 0));
        fact("frame", StackProbe.frame(probe, 0));
        fact("past", Stack.frameHere(session, 7) + " " + Stack.frameHere(session, -1) + " " + Stack.frameHere(session, 1000));
        int framesBefore = 0;
        for (int i = 0; i < 20_000; i++) { // more stacks than fit into the table
            StackTraceElement[] trace = {new StackTraceElement("a.B" + i, "m", "B.java", i)};
            Throwable t = new Throwable();
            t.setStackTrace(trace);
            framesBefore += ((Stack) Stack.of(session, t, 4)).id == 0 ? 1 : 0;
        }
        fact("overflowed", framesBefore > 20_000 - 8192);
        finish();
    }

    /**
     * When the same stack comes again, the runtime finds it by its raw trace. The JVM keeps raw traces in pieces of 32
     * frames.
     */
    private void stacksAgain() throws Exception {
        open(new Limits(1 << 20, 200, 2, 20, 20, 100));
        StackProbe probe = new StackProbe(session);
        Stack[] all = new Stack[71];
        Object[] shortStacks = new Object[all.length];
        String[] frames = new String[all.length];
        boolean same = true;
        for (int round = 0; round < 3; round++) {
            for (int depth = 0; depth < all.length; depth++) {
                Stack stack = (Stack) StackProbe.capture(probe, depth, 100);
                Object shortStack = StackProbe.capture(probe, depth, 3);
                String third = StackProbe.frame(probe, depth, 2);
                same &= round == 0
                        || stack == all[depth] && shortStack == shortStacks[depth] && third.equals(frames[depth]);
                all[depth] = stack;
                shortStacks[depth] = shortStack;
                frames[depth] = third;
            }
            session.stacks.sweep(System.nanoTime() + round * 10_000_000_000L); // the last round begins with an empty table
        }
        boolean right = true;
        for (int depth = 1; depth < all.length; depth++) {
            right &= all[depth].classes.length == all[0].classes.length + depth && all[depth] != all[depth - 1];
            right &= (shortStacks[depth] == shortStacks[depth - 1]) == (depth > 2)
                    && frames[depth].equals(frames[depth - 1]) == (depth > 2);
        }
        boolean apart = true;
        for (int round = 0; round < 3; round++) {
            Object firstStack = StackProbe.capture(probe, 0, 5);
            Object secondStack = StackProbe.capture(probe, 0, 5);
            apart &= firstStack != secondStack;
        }
        fact("same", same);
        fact("right", right);
        fact("apart", apart);
        java.lang.reflect.Method capture = StackProbe.class.getMethod("capture", StackProbe.class, int.class, int.class);
        Object[] reflectedStacks = new Object[30];
        // the JVM changes its implementation of reflection after some calls
        for (int i = 0; i < reflectedStacks.length; i++) {
            reflectedStacks[i] = capture.invoke(null, probe, 2, 5);
        }
        boolean firstStack = true;
        boolean hidden = true;
        for (Object stack : reflectedStacks) {
            firstStack &= stack == reflectedStacks[0];
            for (String name : ((Stack) stack).classes) {
                hidden &= !name.contains("reflect");
            }
        }
        fact("reflected", firstStack && hidden);
        finish();
    }

    private void fields() throws Exception {
        open(defaults());
        ApplicationObjects.Money money = new ApplicationObjects.Money();
        fact("own", Fields.read(money, "cents"));
        fact("super", Fields.read(money, "hidden"));
        fact("char", Fields.read(money, "sign"));
        fact("boolean", Fields.read(money, "exact"));
        fact("float", Fields.read(money, "half"));
        fact("short", Fields.read(money, "small"));
        fact("byte", Fields.read(money, "tiny"));
        fact("null", Fields.read(null, "x"));
        fact("composed", Fields.read(money, new StringBuilder("na").append("me").toString()));
        fact("length", Fields.read(new int[3], "length"));
        try {
            Fields.read(money, "nosuch");
            fact("absent", "found");
        } catch (ProbeError e) {
            fact("absent", e.getMessage());
        }
        fact("element", Elements.element(session, new byte[] {5}, 0, 55));
        fact("list", Elements.element(session, Arrays.asList("a", "b"), 1, 55));
        fact("linked", Elements.element(session, new LinkedList<Object>(Arrays.asList("a", "b")), 1, 55));
        fact("nullList", Elements.element(session, null, 1, 55));
        try {
            Elements.element(session, money, 0, 55);
            fact("not-a-list", "found");
        } catch (ProbeError e) {
            fact("not-a-list", e.kind);
        }
        session.addSite(site(70), "a.B", "m", "()V", 12, "c.D", "n", "app");
        String member = Site.className(session, site(70)) + Site.methodName(session, site(70)) + Site.signature(session, site(70));
        fact("site", member + Site.line(session, site(70)));
        fact("operation", Site.targetClass(session, site(70)) + "." + Site.targetMember(session, site(70)));
        fact("no-operation", Site.targetClass(session, site(71)) + "." + Site.targetMember(session, site(100_000)));
        fact("no-site", Site.className(session, site(71)) + Site.line(session, site(100_000)));
        fact("pid", session.pid());
        long difference = session.wallClock() / 1_000_000 - System.currentTimeMillis();
        fact("wall", Math.abs(difference) < 2000);
        session.close();
    }
}
