package btpy.agent;

import btpy.runtime.Headroom;
import btpy.runtime.ProbeError;
import btpy.runtime.Request;
import btpy.runtime.Session;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The event thread: drains the buffers, runs timers, sends counters, and monitors the lease. It never uses the socket,
 * so it notices the end of the lease even if the client has stopped reading.
 */
final class EventPump extends Worker {
    /**
     * The time between two readings of the buffers, while they fill, and after they were empty for a while. A record
     * waits half of this time on average. Each reading with records is a message, which costs both sides more than a
     * record.
     */
    private static final long WORKING_NANOS = 4_000_000L;
    private static final long RESTING_NANOS = 10_000_000L;

    private static final long REPORT_NANOS = 1_000_000_000L;

    /**
     * The size of an EVENTS message in bytes, and the size after a full message. Most of the cost on both sides is for
     * each message.
     */
    private static final int CHUNK = 64 << 10;
    private static final int LARGE_CHUNK = 128 << 10;

    /** The tags of the single value of an exit record, and of the end of values (docs/runtime.md, Records). */
    private static final int INT = 3;
    private static final int END = 0xFF;
    private static final int EXIT_BYTES = 40;

    /** The credit that the protocol gives at the start. */
    private static final int FIRST_CREDIT = 1 << 20;

    private final Tracer tracer;
    private final Outbox outbox;
    private final Lease lease;
    private final Sweeper sweeper;

    private Session session;
    private Commands commands;
    /** Allocated at the first record; not larger than the initial credit. */
    private byte[] chunk = {};
    private byte[] countersSent = {};
    private final Timers timers = new Timers();
    private final Hooks hooks = new Hooks();
    private final List<int[][]> snapshots = new ArrayList<int[][]>();
    private int credit = FIRST_CREDIT;

    /** Records that are kept while no client is connected. Only the event thread fills and empties it. */
    private Backlog backlog;
    /**
     * The record of an {@code exit()} that was called while no client was connected. The next client gets it after all
     * kept records.
     */
    private byte[] exit;
    /** Whether the client has left, and whether the event thread knows it. */
    private boolean detaching;
    private volatile boolean detached;
    private boolean finishing;
    private boolean finished;
    /** Whether the remaining records are dropped, because the client does not accept them. */
    private boolean forgetting;
    /** System.nanoTime when the last record was passed on. */
    private long progressNanos;

    EventPump(Tracer tracer, Outbox outbox, Lease lease, Sweeper sweeper) {
        this.tracer = tracer;
        this.outbox = outbox;
        this.lease = lease;
        this.sweeper = sweeper;
    }

    /** {@code maxKept}: bytes that are kept for a client that joins. */
    synchronized void begin(Session session, Commands commands, int maxKept) {
        this.session = session;
        this.commands = commands;
        hooks.begin(session);
        backlog = new Backlog(session, maxKept);
        notifyAll();
    }

    /**
     * Called when the client leaves, or has left. From then on the event thread keeps records.
     */
    synchronized void detachClient() {
        detaching = true;
        notifyAll();
    }

    /** Waits at most {@code millis} until the event thread knows that the client has left. Returns whether it knows. */
    synchronized boolean awaitDetached(long millis) {
        long deadline = System.nanoTime() + millis * 1_000_000L;
        while (!detached && !closed) {
            if (!pauseUntil(deadline)) {
                return false;
            }
        }
        return detached;
    }

    /**
     * Waits at most {@code millis} until the messages that the former client has not got are kept and counted. Returns
     * whether they are.
     */
    boolean awaitKept(long millis) {
        if (!outbox.awaitTaken(millis)) {
            return false;
        }
        synchronized (this) {
            return !closed;
        }
    }

    /**
     * Called for a new client, which does not know any stacks and threads, and has the initial credit of the protocol.
     */
    synchronized void resume() {
        session.forgetShipped();
        credit = FIRST_CREDIT;
        countersSent = new byte[0];
        detaching = false;
        detached = false;
        notifyAll();
    }

    /** Events that wait for a client. */
    int waiting() {
        Backlog backlog = this.backlog;
        return backlog == null ? 0 : backlog.size();
    }

    /**
     * Adds to the credit. Wakes the event thread only if it waits for credit; otherwise it will soon look at the credit
     * anyway.
     */
    synchronized void credit(int bytes) {
        boolean waited = !hasCredit();
        credit = (int) Math.min(Integer.MAX_VALUE, (long) credit + bytes);
        if (waited) {
            notifyAll();
        }
    }

    /** Runs the handler once, now. The agent answers the request after the output of the handler was passed on. */
    void runOnce(int request, int site, Method fire) {
        timers.addSingle(request, site, fire);
        wake();
    }

    void runEvery(long period, int site, Method fire) {
        timers.addPeriodic(period, site, fire);
        wake();
    }

    /**
     * Lets the event thread answer with MAPS, because this thread defines the stacks among the keys. It sends ERRORS
     * and COUNTERS first.
     */
    synchronized void snapshot(int request, int[] maps) {
        snapshots.add(new int[][] {{request}, maps});
        notifyAll();
    }

    void hook(Hook hook) {
        hooks.add(hook);
        wake();
    }

    /**
     * Runs the hooks of an event. The request, unless it is 0, is answered after the records of these hooks were passed
     * on.
     */
    void send(int request, int event) {
        hooks.send(event);
        if (request != 0) {
            hooks.answerBehind(request);
        }
        wake();
    }

    /** Calls the hook for a class, on the thread that loads the class. */
    void reportLoading(Hook hook, String name, String loader, int bytes) {
        hooks.call(hook, name, loader, (long) bytes);
    }

    private synchronized void wake() {
        notifyAll();
    }

    /** Ends the periodic timer or the hook of a site. */
    void remove(int site) {
        timers.remove(site);
        hooks.remove(site);
    }

    /** Ends the periodic timers and the hooks that watch the target. A handler that was requested once still runs. */
    void stopTimers() {
        hooks.stopWatching();
        timers.removePeriodic();
    }

    /**
     * Stops the timers and passes on all remaining records, then the counters. It waits as long as the client accepts
     * something every {@code millis}. Records that the client does not accept are counted as dropped.
     */
    synchronized void finish(long millis) {
        finishing = true;
        progressNanos = System.nanoTime();
        notifyAll();
        while (!finished && !closed) {
            long remaining = millis - (System.nanoTime() - progressNanos) / 1_000_000L;
            if (remaining > 0) {
                pause(remaining);
            } else if (!forgetting) {
                forgetting = true;
                progressNanos = System.nanoTime();
                notifyAll();
            } else {
                return;
            }
        }
    }

    @Override
    public void run() {
        try {
            long interval = RESTING_NANOS;
            long report = System.nanoTime() + REPORT_NANOS;
            while (true) {
                boolean working;
                boolean last;
                boolean forgets;
                boolean leaves;
                synchronized (this) {
                    if (closed) {
                        return;
                    }
                    working = session != null && !finished;
                    last = finishing;
                    forgets = forgetting;
                    leaves = detaching && !detached;
                }
                if (leaves) {
                    handOver();
                }
                if (detached) {
                    keepUnsent();
                }
                if (tracer.isTimeUp()) {
                    tracer.leave("its time to live is over");
                    return;
                }
                if (!detached && lease.isOver()) {
                    tracer.hangUp("the lease ran out: btpy sent nothing for " + lease.millis() + " ms");
                    continue;
                }
                if (working) {
                    int bytes = drain();
                    outbox.wake();
                    runTimers();
                    hooks.check();
                    ContextClasses.searchIfDue();
                    runCalls();
                    takeSnapshots();
                    if (forgets) {
                        forget();
                    }
                    boolean room = hasRoom();
                    if (last && drain() == 0 && (room || forgets)) {
                        reportErrors();
                        runCalls();
                        report(true);
                        endClient();
                        continue;
                    }
                    long now = System.nanoTime();
                    Headroom.look();
                    session.tick(now);
                    reportRestraints();
                    if (now - report >= 0) {
                        report = now + REPORT_NANOS;
                        report(false);
                    }
                    if (!detached && sweeper.isDue(now) && !commands.sweep()) {
                        sweeper.request();
                    }
                    interval = bytes > 0 ? WORKING_NANOS : Math.min(interval * 2, RESTING_NANOS);
                }
                waitForWork(interval);
            }
        } catch (Throwable failure) {
            tracer.fail(failure);
        }
    }

    /**
     * Sends the totals, the last message to this client, and drops its unanswered requests, because the next client
     * must not get their answers.
     */
    private void handOver() {
        drain();
        backlog.setFormerNames(session.threadNames());
        session.forgetShipped(); // so that the kept records are preceded by the names of their threads
        report(true);
        keepUnsent();
        countHandedOver();
        synchronized (this) {
            timers.removeSingle();
            hooks.dropRequests();
            snapshots.clear();
            detached = true;
            notifyAll();
        }
    }

    /**
     * Keeps the messages that the client has not got, although the event thread has passed them on. The lock makes
     * {@link #awaitKept} wait for the new count.
     */
    private synchronized void keepUnsent() {
        List<Frame> unsent = outbox.takeUnsent();
        if (!unsent.isEmpty()) {
            backlog.putBack(unsent);
            countHandedOver();
        }
    }

    private void countHandedOver() {
        long[] keptCounts = new long[Session.MAX_PROBES];
        backlog.countInto(keptCounts);
        session.handOver(keptCounts);
    }

    /** Passes on records from the buffers within the credit, and carries out the requests between them (maps, exits). */
    private int drain() {
        int total = 0;
        while (detached ? total < FIRST_CREDIT : hasRoom()) {
            if (!detached && (exit != null || !backlog.isEmpty())) {
                total += catchUp();
                continue;
            }
            int bytes = take();
            if (bytes > 0) {
                post(chunk, bytes);
            }
            Request request = session.takeRequest();
            if (bytes == 0 && request == null) {
                break;
            }
            total += bytes + 1;
            if (request != null) {
                answer(request);
            }
        }
        if (total > 0) {
            progress();
        }
        return total;
    }

    /** Fills the chunk from the buffers; it grows when there is more, or one record is larger. */
    private int take() {
        int bytes = session.drain(chunk);
        if (bytes < 0) {
            chunk = new byte[-bytes <= CHUNK ? CHUNK : session.maxRecord()];
            bytes = session.drain(chunk);
        } else if (bytes > CHUNK / 2 && chunk.length == CHUNK && Headroom.has(LARGE_CHUNK)) {
            byte[] largerChunk = Arrays.copyOf(chunk, LARGE_CHUNK);
            chunk = largerChunk;
        }
        return bytes;
    }

    private synchronized void progress() {
        progressNanos = System.nanoTime();
    }

    /** Counts the remaining records in the buffers as dropped, and ignores the requests between them. */
    private void forget() {
        for (int bytes = take(); bytes > 0 || session.takeRequest() != null; bytes = take()) {
            Backlog.forget(session, chunk, bytes);
        }
    }

    /** Passes on some of the records that were kept while no client was connected. */
    private int catchUp() {
        int bytes = backlog.take(chunk);
        if (bytes > 0) {
            post(chunk, bytes);
        }
        Frame frame = backlog.takeFrame();
        if (frame != null) {
            post(frame);
        } else if (backlog.isEmpty() && exit != null) {
            post(exit, exit.length);
            exit = null;
        }
        return bytes + 1;
    }

    private void post(byte[] records, int bytes) {
        if (detached) {
            backlog.add(records, bytes);
            return;
        }
        postStacks();
        outbox.post(new Frame(Frame.EVENTS, bytes).raw(records, 0, bytes));
        credit(-bytes);
    }

    private void post(Frame frame) {
        if (detached) {
            backlog.add(frame);
            return;
        }
        postStacks();
        outbox.post(frame);
    }

    private boolean hasRoom() {
        return detached || !outbox.isFull() && hasCredit();
    }

    private synchronized boolean hasCredit() {
        return credit >= chunk.length;
    }

    private void answer(Request request) {
        if (request.kind == Request.EXIT) {
            ByteBuffer record = ByteBuffer.allocate(EXIT_BYTES).order(ByteOrder.LITTLE_ENDIAN);
            record.putInt(EXIT_BYTES).putInt(request.template).putInt(request.site).putInt(request.probe);
            record.putLong(request.nanos).putLong(0).put((byte) INT).putInt(request.argument).put((byte) END);
            byte[] bytes = record.array();
            if (detached) {
                exit = bytes;
                commands.restore();
            } else {
                post(bytes, bytes.length);
            }
            return;
        }
        if (request.kind == Request.SEND) {
            hooks.send(request.argument);
            return;
        }
        post(addMaps(new Frame(Frame.MAP, 1 << 12).u4(request.template).u8(request.nanos), request.maps));
    }

    /** Adds the contents of maps, whose ids are as in {@link Request#maps}. */
    private Frame addMaps(Frame frame, int[] maps) {
        int at = frame.size();
        frame.u4(0);
        int mapCount = 0;
        for (int map : maps) {
            byte[] content = map < 0 ? null : session.mapContent(map & Request.FLUSH - 1, (map & Request.FLUSH) != 0, room(frame));
            if (content != null) {
                frame.raw(content);
                mapCount++;
            }
        }
        return frame.patch(at, mapCount);
    }

    private void reportRestraints() {
        for (byte[] restraint = session.takeRestraint(); restraint != null; restraint = session.takeRestraint()) {
            post(new Frame(Frame.RESTRAINED, restraint.length).raw(restraint));
        }
    }

    /** The space in a frame that map contents may still use. One key and its value need far less than 1 MiB. */
    private static int room(Frame frame) {
        return Headroom.buffer(Frame.MAX_LENGTH - (1 << 20)) - frame.size();
    }

    private void takeSnapshots() {
        while (true) {
            int[][] snapshot;
            synchronized (this) {
                if (snapshots.isEmpty()) {
                    return;
                }
                snapshot = snapshots.remove(0);
            }
            report(false);
            Frame frame = addMaps(new Frame(Frame.MAPS, 1 << 12).u4(snapshot[0][0]), snapshot[1]);
            postStacks();
            outbox.post(frame);
        }
    }

    private void postStacks() {
        for (byte[] stacks = session.takeStacks(); stacks != null; stacks = session.takeStacks()) {
            outbox.post(new Frame(Frame.STACKS, stacks.length).raw(stacks));
        }
    }

    /** Runs the hooks that are due now, without the hooks that become due meanwhile. */
    private void runCalls() throws IllegalAccessException {
        for (int callCount = hooks.waiting(); callCount > 0; callCount--) {
            Hook.Call call = hooks.take();
            if (call.fire == null) {
                answer(new Frame(Frame.DONE).u4((Integer) call.arguments[0]).string(""));
            } else {
                run(call.fire, call.arguments);
            }
        }
    }

    /** Answers the requester, if it is still connected. */
    private void answer(Frame frame) {
        if (!detached) {
            outbox.post(frame);
        }
    }

    /** Runs a handler. The output of the handler is passed on at once. @return an error message, or an empty text */
    private String run(Method fire, Object... arguments) throws IllegalAccessException {
        String error = "";
        try {
            fire.invoke(null, arguments);
        } catch (InvocationTargetException failure) {
            error = "the handler failed: " + failure.getCause();
        }
        while (drain() > 0) {
            continue;
        }
        return error;
    }

    /** Sends ERRORS if there are new ones, and calls the hooks for them. A hook is not called for its own errors. */
    private void reportErrors() {
        byte[] errors = session.takeErrors();
        if (errors == null) {
            return;
        }
        post(new Frame(Frame.ERRORS, errors.length).raw(errors));
        if (!hooks.has(Hook.PROBE_FAILED)) {
            return;
        }
        try {
            Payload rows = Payload.part(errors);
            for (int remaining = rows.count(21); remaining > 0; remaining--) {
                int probe = rows.u4();
                int position = rows.u4();
                String kind = ProbeError.name(rows.u1());
                long count = rows.u8();
                hooks.reportFailure(probe, position, kind, count, rows.string());
            }
        } catch (ProtocolException ignored) {
            throw new AssertionError(ignored);
        }
    }

    /** Sends ERRORS if there are new ones, and COUNTERS if they changed or this is the last report. */
    private void report(boolean last) {
        if (detached && !hooks.has(Hook.PROBE_FAILED)) {
            return; // they add up
        }
        reportErrors();
        byte[] counters = session.counters();
        if (last || !Arrays.equals(counters, countersSent)) {
            countersSent = counters;
            answer(new Frame(Frame.COUNTERS, counters.length).raw(counters));
        }
    }

    private synchronized void endClient() {
        finished = true;
        notifyAll();
    }

    /**
     * Runs the timers that are due, each of them once: timers that take longer than their period must not keep this
     * thread from its other work. The records of one timer are drained before the next timer runs.
     */
    private void runTimers() throws IllegalAccessException {
        long now = System.nanoTime();
        for (Timers.Timer timer = timers.takeDue(now); timer != null; timer = timers.takeDue(now)) {
            String error = run(timer.fire, timer.site);
            if (timer.isSingle()) {
                answer(new Frame(Frame.DONE).u4(timer.request).string(error));
            }
        }
    }

    /** Waits until another thread wakes the event thread, a timer or a hook is due, or the interval ends. */
    private synchronized void waitForWork(long interval) {
        if (closed) {
            return;
        }
        long now = System.nanoTime();
        long nanos = timers.nanosUntilDue(now, hooks.nanosUntilDue(now, interval));
        if (nanos > 0) {
            pause(Math.max(1, nanos / 1_000_000L));
        }
    }
}
