package btpy.runtime;

/**
 * The flows of a session: units of work, such as requests, that run on several threads. Each thread has a current flow.
 * A flow follows a task to another thread through the {@link ObjectState} of the task.
 *
 * <p>A probe at the entry of a method changes the flow until the method ends: {@link #enter} gives the depth of the
 * thread's stack of flows to the woven method, and {@link #leave} restores it, also if the method throws, and if the
 * probe is disabled meanwhile. If the handler of a method will set the flow of the thread, the woven method itself
 * first takes the current flow away. So a handler that fails, or that the budget leaves out, never leaves a wrong flow
 * on a thread.
 */
public final class Flows {
    private static final Memory MEMORY = Memory.instance();
    private static final long FLOWS = MEMORY.fieldOffset(Session.class, "flows");
    private static final long NEXT = MEMORY.fieldOffset(Flows.class, "next");
    private static final int BITS = 12;
    /** Added to a depth: the thread worked for no flow when the method was entered. */
    private static final int NO_FLOW = 1 << 16;

    final ThreadRows<FlowStack> stacks = new ThreadRows<FlowStack>(BITS);
    private long next = 1;

    private Flows() {}

    // Woven methods call the methods below.

    /** @return the depth to which {@link #leave} goes back; −1: {@link #leave} is not called */
    public static int enter(int site, int probe) {
        Session session = Session.of(site);
        if (session == null) {
            return -1;
        }
        FlowStack stack = stack(session);
        return stack == null ? 0 : stack.depth();
    }

    /**
     * As {@link #enter}, but the thread works for no flow until a handler changes that. A change in a called method may
     * outlast that method; it is undone when this method ends.
     */
    public static int enterWithout(int site, int probe) {
        Session session = Session.of(site);
        if (session == null) {
            return -1;
        }
        FlowStack stack = stack(session);
        if (stack == null) {
            return NO_FLOW;
        }
        int depth = stack.depth();
        if (stack.currentRun() == null) {
            return depth | NO_FLOW;
        }
        stack.push(null);
        return depth;
    }

    /** Ends a flow that does not end with a method. @return −1: {@link #leave} is not called */
    public static int end(int site, int probe) {
        Session session = Session.of(site);
        Flows flows = session == null ? null : session.flows;
        if (flows != null) {
            flows.endReplaced();
        }
        return -1;
    }

    public static void leave(int site, int probe, int depth) {
        Session session = Session.of(site);
        Flows flows = session == null ? null : session.flows;
        if (flows != null) {
            flows.restore(depth);
        }
    }

    // Handlers call the methods below. {@code depth}: the result of enter; below 0: the change stays when the method ends.

    public static void begin(Session session, int depth, int probe, int at) {
        Flows flows = getOrCreate(session);
        FlowStack stack = stack(session);
        Run outerRun = stack == null ? null : depth < 0 ? stack.enclosingRun() : stack.currentRun();
        Flow outer = outerRun == null ? null : outerRun.flow;
        flows.set(session, new Flow(MEMORY.getAndAddLong(flows, NEXT, 1), outer).first, depth, probe, at);
    }

    /** The thread works for no flow. */
    public static void none(Session session, int depth, int probe, int at) {
        if (session.flows != null) {
            session.flows.restore(depth);
            session.flows.set(session, null, depth, probe, at);
        }
    }

    /**
     * The thread works for the flow that was handed over with the task, or to which the task belongs; changes nothing
     * without such a flow.
     */
    public static void resume(Session session, Object task, int depth, int probe, int at) {
        Flows flows = session.flows;
        if (flows == null) {
            return;
        }
        Run run = ObjectStates.take(session, task);
        if (run == null) {
            Run ownerRun = ObjectStates.keptRun(session, task);
            flows.enter(session, ownerRun, ownerRun == null, depth, probe, at);
            return;
        }
        flows.restore(depth);
        if (run == Run.NONE) {
            flows.set(session, null, depth, probe, at);
        } else {
            run.begin();
            flows.set(session, run, depth, probe, at);
        }
    }

    /** Hands the current flow over with a task, even if there is none. */
    public static void handOver(Session session, Object task, int probe, int at) {
        if (session.flows != null) {
            Run run = run(session);
            if (!ObjectStates.addRun(session, task, run == null ? Run.NONE : run.handOver())) {
                session.errors.count(probe, at, ProbeError.KIND_STATE_FULL, null);
            }
        }
    }

    /** Undoes the last {@link #handOver} of this flow, because the task was refused. */
    public static void takeBack(Session session, Object task) {
        if (session.flows != null) {
            ObjectStates.takeBack(session, task, current(session));
        }
    }

    /** Makes an object belong to the current flow, or to no flow if there is none. */
    public static void keep(Session session, Object object, int probe, int at) {
        if (session.flows != null) {
            Run run = run(session);
            if (!ObjectStates.keep(session, object, run == null ? null : run.handOver())) {
                session.errors.count(probe, at, ProbeError.KIND_STATE_FULL, null);
            }
        }
    }

    /** The thread works for the flow to which the object belongs, or for none. */
    public static void enterOf(Session session, Object object, int depth, int probe, int at) {
        if (session.flows != null) {
            session.flows.enter(session, ObjectStates.keptRun(session, object), false, depth, probe, at);
        }
    }

    /** The number of the current flow; null if there is no flow. */
    public static Object id(Session session) {
        Flow flow = current(session);
        return flow == null ? null : Long.valueOf(flow.id);
    }

    /** The number of the flow in which the current flow began; null if there is no such flow. */
    public static Object parent(Session session) {
        Flow flow = current(session);
        return flow == null || flow.parent == 0 ? null : Long.valueOf(flow.parent);
    }

    /** The time in ns since the current flow began; null if there is no flow. */
    public static Object elapsed(Session session) {
        Flow flow = current(session);
        return flow == null ? null : Long.valueOf(System.nanoTime() - flow.began);
    }

    /** The runs of the current flow on other threads, as {@link FlowRun} objects; null: there is no flow. */
    public static Object[] runs(Session session) {
        Flow flow = current(session);
        return flow == null ? null : flow.runs();
    }

    public static boolean isNone(Session session) {
        return current(session) == null;
    }

    /** The variables of the innermost flow that has this variable; null if no flow has it. */
    public static SharedValues now(Session session, int variable) {
        for (Flow flow = current(session); flow != null; flow = flow.outer) {
            if (SharedValues.has(flow.values, variable)) {
                return flow.values;
            }
        }
        return null;
    }

    /** The variables of the current flow; null if there is no flow. */
    public static SharedValues toChange(Session session, int variables) {
        Flow flow = current(session);
        if (flow == null) {
            return null;
        }
        flow.values.widen(variables);
        return flow.values;
    }

    // The runtime calls the methods below.

    private static Flows getOrCreate(Session session) {
        if (session.flows == null) {
            MEMORY.compareAndSetReference(session, FLOWS, null, new Flows());
        }
        return session.flows;
    }

    private static Run run(Session session) {
        FlowStack stack = stack(session);
        return stack == null ? null : stack.currentRun();
    }

    private static Flow current(Session session) {
        Run run = run(session);
        return run == null ? null : run.flow;
    }

    /** The stack of this thread; null if it has none. */
    private static FlowStack stack(Session session) {
        Flows flows = session.flows;
        return flows == null ? null : flows.stacks.find();
    }

    private void set(Session session, Run run, int depth, int probe, int at) {
        FlowStack stack = stacks.find();
        if (stack == null) {
            if (run == null) {
                return;
            }
            stack = new FlowStack();
            if (!stacks.put(stack)) {
                session.errors.count(probe, at, ProbeError.KIND_STATE_FULL, null);
                return;
            }
        }
        if (depth < 0) {
            stack.replace(run);
        } else if (!stack.push(run)) {
            session.errors.count(probe, at, ProbeError.KIND_DEPTH, null);
        }
        release(stack);
    }

    /**
     * Makes the thread work for the flow of an object. {@code objectRun}: the run that represents this flow; null: the
     * object has none. {@code stays}: whether the thread keeps its current flow.
     */
    private void enter(Session session, Run objectRun, boolean stays, int depth, int probe, int at) {
        restore(depth);
        Run currentRun = run(session);
        if (currentRun != null && (stays || objectRun != null && objectRun.flow == currentRun.flow)) {
            if (depth >= 0) {
                // later changes of the flow in this method end with the method
                set(session, currentRun, depth, probe, at);
            }
        } else if (!stays) {
            Run run = objectRun == null ? null : objectRun.continueFlow();
            if (run != null) {
                run.begin();
            }
            set(session, run, depth, probe, at);
        }
    }

    private void endReplaced() {
        FlowStack stack = stacks.find();
        if (stack != null) {
            stack.replace(stack.enclosingRun());
            release(stack);
        }
    }

    private void restore(int depth) {
        FlowStack stack = depth < 0 ? null : stacks.find();
        if (stack != null) {
            stack.restore(depth & NO_FLOW - 1);
            if (depth >= NO_FLOW) {
                stack.replace(null);
            }
            release(stack);
        }
    }

    /** A platform thread mostly runs the next task, so it keeps its stack until it has ended. */
    private void release(FlowStack stack) {
        if (stack.isUnused() && Threads.isVirtual()) {
            stacks.remove(stack);
        }
    }
}
