package btpy.agent;

import btpy.runtime.AgentThread;
import btpy.runtime.Limits;
import btpy.runtime.Session;
import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.util.BitSet;
import java.util.List;

/**
 * One client, from its handshake until nothing is left of it: owner of the connection, the threads and what they share.
 *
 * <p>Four threads, so that none that matters waits for another: this one reads; {@link Commands} carries out requests and
 * retransforms; {@link EventPump} drains the buffers, runs timers and watches the lease; {@link Outbox} writes for those
 * that must not block. Whichever finds that it is over calls {@link #leave}; the first does the work.
 */
final class Tracer implements Runnable {
    private final Instrumentation instrumentation;
    /** Points of sites are numbered in the protocol. */
    private static final int LAST_POINT = 20;

    private final String endpoint;
    private final byte[] secret;
    private final Lease lease = new Lease();
    private final Inventory inventory = new Inventory();
    private final Questions questions = new Questions();
    private final BitSet wovenProbes = new BitSet();
    private final Sweeper sweeper = new Sweeper();

    private Connection connection;
    private Outbox outbox;
    private EventPump events;

    /** Null until CONFIGURE. */
    private Session session;
    private Transformer transformer;
    private Commands commands;
    private int slot;
    private int pauseBudgetMillis;

    /** Held while classes are retransformed, so that putting back comes after it. */
    private final Object retransforming = new Object();
    private final Object leaving = new Object();
    private boolean listening;
    private Restoration restoration;
    private boolean ended;
    private boolean left;
    private ShutdownHook hook;
    private volatile boolean exiting;

    /** Opened when the client says GO, for a JVM that waits with its main method until the probes are in. */
    final Gate started = new Gate();
    /** Opened when nothing is left of this. */
    private final Gate gone = new Gate();

    /** Whether the client has shown that it knows the secret: before that it is told nothing. */
    private volatile boolean proven;

    Tracer(Instrumentation instrumentation, String endpoint, byte[] secret) {
        this.instrumentation = instrumentation;
        this.endpoint = endpoint;
        this.secret = secret;
    }

    @Override
    public void run() {
        String trouble = null;
        try {
            Platform.openInternals(instrumentation);
            connection = new Connection(Platform.connect(endpoint));
            outbox = new Outbox(connection);
            events = new EventPump(this, outbox, lease, sweeper);
            start(events, "btpy-events");
            welcome(connection.handshake(secret));
            start(outbox, "btpy-writer");
            proven = true;
            lease.heard();
            configure(connection.receive(Frame.MAX_LENGTH));
            while (true) {
                Payload message = connection.receive(Frame.MAX_LENGTH);
                lease.heard();
                take(message);
            }
        } catch (ProtocolException broken) {
            trouble = broken.getMessage();
        } catch (IOException gone) {
            // the client closed, or another thread found that it is over
        } catch (Throwable unexpected) {
            trouble = "the agent failed: " + unexpected;
        } finally {
            leaveQuietly(trouble);
        }
    }

    private void welcome(Frame frame) throws IOException {
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
        int leaseMillis = message.size();
        int deadlineMillis = message.size();
        int bufferBytes = message.size();
        int chars = message.size();
        int depth = message.size();
        int elements = message.size();
        int fields = message.size();
        int frames = message.size();
        pauseBudgetMillis = message.size();
        boolean redact = message.bool();
        message.end();
        session = Session.open(new Limits(bufferBytes, chars, depth, elements, fields, frames, redact), Platform.pid());
        if (session == null) {
            throw new ProtocolException("there are 127 sessions in this JVM already");
        }
        slot = session.slot();
        transformer = new Transformer(inventory, questions, outbox, connection, sweeper, Math.max(1, deadlineMillis));
        commands = new Commands(this, instrumentation, connection, inventory, transformer, outbox, events, session, slot,
            pauseBudgetMillis);
        lease.set(leaseMillis);
        lease.heard();
        events.begin(session, commands);
        start(commands, "btpy-commands");
        hook = ShutdownHook.add(this);
        connection.send(new Frame(Frame.CONFIGURED).u1(slot));
    }

    private void take(Payload message) throws IOException {
        switch (message.type) {
            case Payload.WOVEN:
                woven(message);
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
                started.open();
                break;
            default:
                commands.add(message);
        }
    }

    private void woven(Payload message) throws IOException {
        Question question = questions.take(message.u4());
        if (question == null) {
            if (questions.isClosed()) {
                return;
            }
            throw new ProtocolException("WOVEN answers nothing that was asked");
        }
        try {
            weave(question, message);
        } finally {
            question.answer(null); // does nothing to one that is answered; a broken message must not leave anyone waiting
        }
    }

    private void weave(Question question, Payload message) throws IOException {
        byte[] hash = message.raw(32);
        int verdict = message.u1();
        if (verdict > 1) {
            throw new ProtocolException("a verdict of " + verdict);
        }
        if (!Digest.equal(hash, question.hash)) {
            throw new ProtocolException("WOVEN was made of other bytes than those of " + question.record.name);
        }
        String error = defineHandlers(message);
        for (int left = message.count(12); left > 0; left--) {
            sites(question.record, message);
        }
        byte[] classFile = message.bytes();
        message.end();
        if (verdict == 1 && classFile.length == 0) {
            throw new ProtocolException("a woven class without a class file");
        }
        question.record.failure = error;
        boolean changes = verdict == 1 && error == null;
        if (!question.answer(changes ? classFile : null) && changes) {
            question.record.overdue = true;
            sweeper.request();
        }
        if (error != null && question.isLoading()) {
            outbox.post(Transformer.late(question.record.name, question.record.loaderName, 2, error));
        }
    }

    /** {@code MethodSites}. */
    private void sites(ClassRecord record, Payload message) throws ProtocolException {
        String method = message.string();
        String descriptor = message.string();
        for (int left = message.count(21); left > 0; left--) {
            int id = message.u4();
            int probe = message.u4();
            int point = message.u1();
            int line = message.u4();
            String targetClass = message.string();
            String targetMember = message.string();
            if (id >>> 24 != slot || point > LAST_POINT || probe < 0 || probe >= Session.MAX_PROBES) {
                throw new ProtocolException("a site that cannot be");
            }
            session.addSite(id, record.name, method, descriptor, line, targetClass, targetMember, record.loaderName);
            synchronized (wovenProbes) {
                wovenProbes.set(probe);
            }
        }
    }

    /** Reads a {@code list<HandlerClass>} and defines them all; the first error, or null. */
    static String defineHandlers(Payload message) throws ProtocolException {
        String error = null;
        for (int left = message.count(8); left > 0; left--) {
            String name = message.string();
            byte[] classFile = message.bytes();
            String refused = error == null ? HandlerClasses.define(name, classFile) : null;
            error = error == null ? refused : error;
        }
        return error;
    }

    /** Registers the transformer, the first time that something is to be woven. */
    void listen() throws Exception {
        synchronized (retransforming) {
            if (!listening && restoration == null) {
                listening = true;
                Warmup.run(instrumentation);
                instrumentation.addTransformer(transformer, true);
            }
        }
    }

    /** Weaves loaded classes; {@link ClassRecord#failure} says how each fared. */
    void retransform(Retransformer retransformer, List<ClassRecord> records) {
        synchronized (retransforming) {
            if (restoration == null) {
                retransformer.run(records);
                return;
            }
        }
        for (ClassRecord each : records) {
            each.failure = "the session has put its classes back";
        }
    }

    /** Disables what is woven: handlers that only the agent runs may still be asked for. */
    private void stopProbes() {
        synchronized (wovenProbes) {
            for (int probe = wovenProbes.nextSetBit(0); probe >= 0; probe = wovenProbes.nextSetBit(probe + 1)) {
                session.setEnabled(probe, false);
            }
        }
        events.stopTimers();
    }

    /** Stops what is woven and puts every class back, the first time; says how that went, every time. */
    Restoration restore() {
        stopProbes();
        transformer.restore();
        questions.close();
        synchronized (retransforming) {
            if (restoration == null) {
                restoration = exiting
                    ? Restoration.unneeded()
                    : Restoration.run(instrumentation, transformer, inventory, pauseBudgetMillis);
            }
            return restoration;
        }
    }

    /** Gives the slot back; nothing fires or is recorded any more. */
    void end() {
        synchronized (leaving) {
            if (!ended && session != null) {
                ended = true;
                session.close();
            }
        }
    }

    /**
     * Puts everything back and ends the threads; any thread, any time, more than once. {@code trouble} null: nothing went
     * wrong, or nobody is there to be told.
     */
    void leave(String trouble) {
        synchronized (leaving) {
            if (left || connection == null) {
                return;
            }
            left = true;
            if (proven && trouble != null) {
                outbox.post(new Frame(Frame.TROUBLE).string(trouble));
            }
            if (session != null) {
                restoreSurely();
                end();
            }
            outbox.flush(proven ? 1000 : 0);
            outbox.close();
            events.close();
            if (commands != null) {
                commands.close();
            }
            connection.close();
            if (hook != null) {
                hook.remove();
            }
        }
        started.open();
        gone.open();
    }

    /** The JVM is exiting: the client may take what is left, for at most {@code millis}. */
    void exit(int millis) {
        exiting = true;
        outbox.post(new Frame(Frame.EXITING));
        gone.await(millis);
    }

    /** What a thread does last: an exception would be printed to the standard error of the target. */
    private void leaveQuietly(String trouble) {
        try {
            leave(trouble);
        } catch (Throwable exhausted) {
            connection.close();
        } finally {
            started.open();
            gone.open();
        }
    }

    /** A second time when the first ran out of memory or the like: leaving woven classes behind is the worst outcome. */
    private void restoreSurely() {
        try {
            restore();
        } catch (Throwable first) {
            try {
                restore();
            } catch (Throwable second) {
                // the probes are stopped; the client, if there still is one, gets no receipt
            }
        }
    }

    private static Thread start(Runnable work, String name) {
        Thread thread = new AgentThread(work, name);
        thread.setContextClassLoader(null);
        thread.start();
        return thread;
    }
}
