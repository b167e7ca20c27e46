package btpy.agent;

import btpy.runtime.AgentThread;
import btpy.runtime.Headroom;
import btpy.runtime.Limits;
import btpy.runtime.Session;
import java.io.IOException;
import java.lang.instrument.Instrumentation;

/**
 * Serves one client, from its handshake to the end of its last thread. It owns the connection, the threads and the
 * state that they share.
 *
 * <p>It has four threads, so that no important thread waits for another. The thread that runs this object reads. {@link
 * Commands} carries out requests and retransforms. {@link EventPump} drains the buffers, runs timers and monitors the
 * lease. {@link Outbox} writes for threads that must not block. Each thread that detects the end calls {@link #leave};
 * only the first call does the work.
 */
final class Tracer implements Runnable {
    private final Instrumentation instrumentation;
    private final String endpoint;
    private final byte[] secret;
    private final Lease lease = new Lease();
    private final Inventory inventory = new Inventory();
    private final Questions questions = new Questions();
    private final PrewovenClasses prewoven = new PrewovenClasses();
    private final Sweeper sweeper = new Sweeper();
    private final JfrEvents jfr = new JfrEvents();

    private static final int LONGEST_TTL_MILLIS = 24 * 3600 * 1000;
    private static final int JOIN_MILLIS = 10_000;

    /** The time for which the agent tries to put the classes back if the target has too little memory. */
    private static final long LONGEST_RESTORATION_NANOS = 60_000_000_000L;

    private static final int BETWEEN_RESTORATIONS_MILLIS = 100;

    private final Link link = new Link();
    private Outbox outbox;
    private EventPump events;

    /** The session. Null until CONFIGURE. */
    private Session session;
    private Sites sites;
    private Weaving weaving;
    private Answers answers;
    private Commands commands;
    private int leaseMillis;

    /** The id by which clients find this session. 0 until CONFIGURE. */
    private int id;
    private String name = "";
    private final long begunNanos = System.nanoTime();

    /**
     * The description that the client stored for the next client. Null if the session is attended; it then ends with
     * its client.
     */
    private volatile byte[] description;
    private volatile long endNanos;

    private final Object leaveLock = new Object();
    /** Never opened. Waiting at this gate needs no memory; {@code Thread.sleep} may need some. */
    private final Gate pauseGate = new Gate();
    private boolean ended;
    private boolean left;
    private ShutdownHook hook;
    private volatile boolean exiting;

    /**
     * Opened when the client sends GO. A JVM that was started with the agent waits at this gate before it calls its
     * main method.
     */
    final Gate startGate = new Gate();
    /** Opened when this tracer has ended completely. */
    private final Gate endGate = new Gate();

    /** Whether the client has proven that it knows the secret. Before that, the agent tells it nothing. */
    private volatile boolean proven;

    Tracer(Instrumentation instrumentation, String endpoint, byte[] secret) {
        this.instrumentation = instrumentation;
        this.endpoint = endpoint;
        this.secret = secret;
    }

    @Override
    public void run() {
        String trouble = null;
        Tracer tracer = this;
        Connection connection = null;
        try {
            Platform.openInternals(instrumentation);
            connection = new Connection(Platform.connect(endpoint));
            link.open(connection);
            outbox = new Outbox(link);
            events = new EventPump(this, outbox, lease, sweeper);
            new AgentThread(events, "btpy-events").start();
            welcome(connection.handshake(secret), connection);
            new AgentThread(outbox, "btpy-writer").start();
            proven = true;
            lease.set(Lease.CONNECTED_MILLIS);
            lease.renew();
            Payload firstMessage = answerEnquiries(connection);
            if (firstMessage.type == Payload.JOIN) {
                tracer = join(firstMessage, connection);
                end(this);
            } else {
                configure(firstMessage);
            }
            while (true) {
                Payload message = connection.receive(Frame.MAX_LENGTH);
                tracer.lease.renew();
                tracer.take(message);
            }
        } catch (ProtocolException protocolError) {
            trouble = protocolError.getMessage();
        } catch (IOException disconnection) {
            // the client closed the connection, or another thread has ended the session
        } catch (Throwable failure) {
            tracer.fail(failure);
        } finally {
            tracer.finish(connection, trouble);
        }
    }

    /** Answers the requests that need no session. Returns the message that begins or joins a session. */
    private Payload answerEnquiries(Connection connection) throws IOException {
        while (true) {
            Payload message = connection.receive(Frame.MAX_LENGTH);
            lease.renew();
            switch (message.type) {
                case Payload.PING:
                    connection.send(new Frame(Frame.PONG).u4(message.u4()));
                    break;
                case Payload.LIST:
                    connection.send(Sessions.frame(message.u4()));
                    break;
                case Payload.TELL:
                    tell(message, connection);
                    break;
                default:
                    return message;
            }
        }
    }

    /** Passes an event or a level on to a session of another client or to an unattended session. */
    private static void tell(Payload message, Connection connection) throws IOException {
        int request = message.u4();
        Tracer tracer = Sessions.find(message.u4());
        int kind = message.u1();
        int number = message.u4();
        message.end();
        if (tracer == null) {
            connection.send(new Frame(Frame.DONE).u4(request).string("there is no such session"));
            return;
        }
        if (kind == 0) {
            tracer.events.send(0, number);
        } else {
            tracer.session.setLevel(number);
        }
        connection.send(new Frame(Frame.DONE).u4(request).string(""));
    }

    /**
     * Gives this connection to a session whose client has left. Throws IOException if that is impossible; the client
     * has been told why.
     */
    private static Tracer join(Payload message, Connection connection) throws IOException {
        int request = message.u4();
        Tracer tracer = Sessions.find(message.u4());
        boolean takeOver = message.bool();
        message.end();
        String refusal = tracer == null ? "there is no such session" : tracer.admit(request, takeOver, connection);
        if (refusal != null) {
            connection.send(new Frame(Frame.JOINED).u4(request).string(refusal).u1(0).string("").u8(0).u4(0).u4(0));
            throw new IOException(refusal);
        }
        return tracer;
    }

    /** Returns null, or the reason why no client can join. */
    private String admit(int request, boolean takeOver, Connection connection) throws IOException {
        synchronized (leaveLock) {
            byte[] storedDescription = description;
            if (this.left) {
                return "the session is ending";
            }
            if (storedDescription == null) {
                return "the session ends with its client, which is connected";
            }
            if (link.isOpen() && !takeOver) {
                return "another client is connected";
            }
            if (link.isOpen()) {
                hangUp("another client has taken the session over");
            }
            if (!events.awaitDetached(JOIN_MILLIS) || !commands.awaitIdle(JOIN_MILLIS)) {
                return "the session is busy; try again";
            }
            prewoven.forget(); // the former client may have left without finishing its message
            if (!events.awaitKept(JOIN_MILLIS)) {
                return "the session is busy; try again";
            }
            Frame reply = new Frame(Frame.JOINED, storedDescription.length + 256);
            reply.u4(request).string("").u1(session.slot()).string(name);
            reply.u8(Math.max(0, endNanos - System.nanoTime())).bytes(storedDescription).raw(session.handedOver());
            connection.send(reply);
            lease.set(leaseMillis);
            lease.renew();
            link.open(connection);
            outbox.connect();
            events.resume();
            return null;
        }
    }

    /**
     * Lets the session outlive its client, for at most {@code millis}. Returns null, or the reason why the session may
     * not continue.
     */
    String keep(int millis, String name, byte[] description) {
        if (millis < 1 || millis > LONGEST_TTL_MILLIS) {
            return "a time to live of " + millis + " ms";
        }
        if (exiting) {
            return "the JVM is exiting";
        }
        synchronized (leaveLock) {
            if (left || weaving.isRestored()) {
                return "the session has put its classes back";
            }
            this.name = name;
            endNanos = System.nanoTime() + millis * 1_000_000L;
            this.description = description;
            return null;
        }
    }

    /** Called when no client is connected any more. Open questions get no answer. */
    void detachClient() {
        questions.close();
        prewoven.forget();
        events.detachClient();
        commands.clear();
        link.close();
        outbox.disconnect();
    }

    /** Whether an unattended session has reached its time limit. */
    boolean isTimeUp() {
        return description != null && System.nanoTime() - endNanos >= 0;
    }

    int id() {
        return id;
    }

    /** Writes a {@code SessionInfo}. */
    void describe(Frame frame) {
        byte[] storedDescription = description;
        int[] probes = session.probeCounts();
        long now = System.nanoTime();
        frame.u4(id).string(name).u8(now - begunNanos).u8(storedDescription == null ? 0 : Math.max(1, endNanos - now));
        frame.u1(link.isOpen() ? 1 : 0).u4(probes[0]).u4(probes[1]).u4(inventory.woven().size()).u4(events.waiting());
    }

    /**
     * Called at the end of the connection. A session that may outlive its client continues; any other session puts
     * everything back.
     */
    void hangUp(String trouble) {
        hangUp(trouble, null);
    }

    /**
     * {@code over}: the connection that has ended; null for the current connection. If another connection has taken the
     * session over, the session continues with it. Only the owner of the lock can know this, because a takeover holds
     * the lock.
     */
    private void hangUp(String trouble, Connection over) {
        synchronized (leaveLock) {
            if (over != null && description != null && !link.isCurrent(over)) {
                over.close();
                return;
            }
            if (!left && description != null && !weaving.isRestored() && !exiting) {
                if (link.isOpen()) {
                    sendTrouble(trouble);
                }
                detachClient();
                return;
            }
        }
        leave(trouble);
    }

    /** The last action of the reading thread. An exception would be printed to the standard error of the target. */
    private void finish(Connection connection, String trouble) {
        try {
            hangUp(trouble, connection);
        } catch (Throwable outOfMemory) {
            link.close();
        } finally {
            if (description == null) {
                startGate.open();
                endGate.open();
            }
        }
    }

    /** Ends the threads of a tracer whose client joins another session instead. */
    private static void end(Tracer tracer) {
        tracer.left = true;
        tracer.events.close();
        tracer.outbox.close();
        tracer.startGate.open();
    }

    private void welcome(Frame frame, Connection connection) throws IOException {
        long nanos = System.nanoTime();
        long millis = System.currentTimeMillis();
        frame.string(Build.ID).u4(Platform.pid()).string(System.getProperty("java.version", ""));
        frame.string(System.getProperty("java.vm.name", "")).string(System.getProperty("sun.java.command", ""));
        frame.u8(nanos).u8(millis * 1_000_000L).u4(instrumentation.getAllLoadedClasses().length);
        connection.send(frame.bool(instrumentation.isRetransformClassesSupported()));
    }

    private void configure(Payload message) throws IOException {
        if (message.type != Payload.CONFIGURE) {
            throw new ProtocolException("CONFIGURE must come first");
        }
        leaseMillis = message.size();
        int deadlineMillis = message.size();
        int bufferBytes = message.size();
        int chars = message.size();
        int depth = message.size();
        int elements = message.size();
        int fields = message.size();
        int frames = message.size();
        BatchSize batchSize = new BatchSize(message.size());
        boolean redact = message.bool();
        boolean keeps = message.bool();
        int budget = message.size();
        long firstKey = message.u8();
        long secondKey = message.u8();
        String[] names = message.strings();
        message.end();
        bufferBytes = Headroom.buffer(bufferBytes);
        outbox.setLimit(bufferBytes / 2);
        Limits limits = new Limits(bufferBytes, chars, depth, elements, fields, frames, redact, firstKey, secondKey,
                names);
        session = Session.open(limits, Platform.pid());
        if (session == null) {
            throw new ProtocolException("there are 127 sessions in this JVM already");
        }
        session.budget(budget);
        ContextClasses.begin(instrumentation);
        sites = new Sites(session);
        Transformer transformer = new Transformer(inventory, questions, prewoven, sites, outbox, link, sweeper,
            Math.max(1, deadlineMillis), keeps);
        weaving = new Weaving(instrumentation, transformer, inventory, questions, prewoven, batchSize);
        answers = new Answers(questions, sites, outbox, sweeper, jfr);
        commands = commands(transformer);
        lease.set(leaseMillis);
        lease.renew();
        events.begin(session, commands, bufferBytes / 2);
        new AgentThread(commands, "btpy-commands").start();
        hook = ShutdownHook.add(this);
        byte[] random = Platform.random(4);
        id = (random[0] & 0x7F | 0x01) << 24 | (random[1] & 0xFF) << 16 | (random[2] & 0xFF) << 8 | random[3] & 0xFF;
        Sessions.add(this);
        link.send(new Frame(Frame.CONFIGURED).u1(session.slot()));
    }

    private Commands commands(Transformer transformer) {
        return new Commands(
            this,
            new WeaveRequests(link, weaving, instrumentation, inventory, transformer, prewoven, sites, outbox),
            new ClassRequests(link, instrumentation, inventory),
            new ProbeRequests(link, session, events, transformer, jfr),
            new EventRequests(link, weaving, instrumentation, transformer, events, session),
            new SessionRequests(link, this, instrumentation, events, outbox)
        );
    }

    private void take(Payload message) throws IOException {
        switch (message.type) {
            case Payload.WOVEN:
                answers.take(message);
                break;
            case Payload.RELEASE:
                int bytes = message.size();
                message.end();
                events.credit(bytes);
                break;
            case Payload.PING:
                int id = message.u4();
                message.end();
                outbox.awaitRoom();
                outbox.post(new Frame(Frame.PONG).u4(id));
                break;
            case Payload.GO:
                message.end();
                startGate.open();
                break;
            default:
                commands.add(message);
        }
    }

    /** Stops the probes, and puts every class back at the first call. Returns the outcome at every call. */
    Restoration restore() {
        stopProbes();
        return weaving.restore(exiting);
    }

    private void stopProbes() {
        sites.disableProbes();
        events.stopTimers();
    }

    /** Releases the slot. After this no probe fires or records anything. */
    void end() {
        synchronized (leaveLock) {
            if (!ended && session != null) {
                ended = true;
                session.close();
                if (!exiting) { // the recorder may be writing its last file
                    jfr.unregister();
                }
            }
        }
    }

    /**
     * Puts everything back and ends the threads. Any thread may call it, at any time and repeatedly. {@code trouble} is
     * null if nothing went wrong, or if no client can be told.
     */
    void leave(String trouble) {
        synchronized (leaveLock) {
            if (left || !link.isOpen() && session == null) {
                return;
            }
            left = true;
            try {
                boolean told = proven && sendTrouble(trouble);
                if (session != null) {
                    restoreWithRetries(told);
                    end();
                }
                outbox.flush(proven ? 1000 : 0);
            } catch (Throwable outOfMemory) {
                // the threads and the connection end anyway
            } finally {
                close();
            }
        }
        startGate.open();
        endGate.open();
    }

    private void close() {
        outbox.close();
        events.close();
        if (commands != null) {
            commands.close();
        }
        link.close();
        Sessions.remove(this);
        if (hook != null) {
            hook.remove();
        }
    }

    /** Called when the JVM exits. The client may take the last records, for at most {@code millis}. */
    void exit(int millis) {
        exiting = true;
        if (!link.isOpen()) {
            return;
        }
        outbox.post(new Frame(Frame.EXITING));
        endGate.await(millis);
    }

    /**
     * Ends the session because this thread cannot continue. The target may not even have memory for a message: a string
     * literal needs memory when it is first used.
     */
    void fail(Throwable failure) {
        String trouble = null;
        try {
            trouble = "the thread " + Thread.currentThread().getName() + " of the agent failed: " + failure;
        } catch (Throwable outOfMemory) {
            // only the end of the connection can tell the client
        }
        leave(trouble);
    }

    /**
     * Returns whether the client has been told. The caller must continue in both cases, and even if there is no memory
     * for a message.
     */
    private boolean sendTrouble(String trouble) {
        try {
            if (trouble == null) {
                return false;
            }
            outbox.post(new Frame(Frame.TROUBLE).string(trouble));
            return outbox.flush(1000);
        } catch (Throwable outOfMemory) {
            return false; // only the end of the connection can tell the client
        }
    }

    /** Tries repeatedly while the target is out of memory, because leaving woven classes behind is the worst outcome. */
    private void restoreWithRetries(boolean told) {
        long begin = System.nanoTime();
        do {
            try {
                stopProbes();
                Platform.needMemory();
                if (!told) {
                    link.cut(); // restoring waits for the retransforming thread, which may write to a client that does not read
                }
                restore();
                return;
            } catch (Throwable outOfMemory) {
                pauseGate.await(BETWEEN_RESTORATIONS_MILLIS);
            }
        } while (System.nanoTime() - begin < LONGEST_RESTORATION_NANOS);
        // the probes are stopped; a connected client gets no receipt
    }
}
