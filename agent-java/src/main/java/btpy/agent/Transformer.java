package btpy.agent;

import btpy.runtime.AgentThread;
import btpy.runtime.Guard;
import btpy.runtime.Headroom;
import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.Arrays;

/**
 * Hands class files to the client and its answers to the JVM.
 *
 * <p>It runs in three kinds of threads. The thread that is inside {@code retransformClasses} for this session waits for the client
 * as long as there is one. A thread that loads a matching class waits until the deadline; a class that misses it is loaded
 * as it is and woven afterwards, and so are those after it until the client answers again. A thread that retransforms a class of ours for
 * reasons of its own (another agent, another session) waits until the deadline too, because every retransformation starts again from the
 * original bytes.
 *
 * <p>Loading threads may hold any lock of the application and class loaders' locks. Nothing here waits for anything but
 * the client's answer, or a few kilobytes of a file where it was given in advance ({@link PrewovenClasses}), and the threads that
 * bring it are the agent's, whose own class loading passes through untouched. They need no class that is not loaded
 * already: see {@link Warmup}.
 *
 * <p>To put a class back, the session retransforms it once more while this transformer, still in its place among others,
 * changes nothing: what it is then given is what it would have been given had it never been there. It is compared with what it was given before.
 *
 * <p>Some JVMs show a loaded class without its MethodParameters. The transformer puts these back first ({@link ParameterNames}): hashes
 * are of the class file that has them, the client weaves that class file, and a class that is put back gets it.
 */
class Transformer implements ClassFileTransformer {
    private final Inventory inventory;
    private final Questions questions;
    private final PrewovenClasses prewoven;
    private final Sites sites;
    private final Outbox outbox;
    private final Link link;
    private final Sweeper sweeper;
    private final int deadlineMillis;

    /**
     * Whether woven class files are kept. They are needed when another agent has a class retransformed while no client can weave.
     */
    private final boolean keeps;

    /** Whether a thread of the agent has loaded a class, as linking and verifying another one may. It may be one to weave. */
    private volatile boolean passed;

    /** The thread of {@link Retransformer}. */
    private volatile Thread retransforming;

    /** Null: classes being loaded are not looked at. */
    private volatile Watch watch;

    /** The hooks for classes being loaded. */
    private volatile Hook[] hooks = {};
    private volatile EventPump events;
    private volatile boolean restoring;

    /** Nanoseconds that this thread has waited for the client. Written and read by it alone, as the next two. */
    private long waitedNanos;

    /** System.nanoTime when it was last on its way back into the JVM. */
    private long answeredNanos;

    /** The class with which that was. */
    private ClassRecord lastAsked;

    Transformer(Inventory inventory, Questions questions, PrewovenClasses prewoven, Sites sites, Outbox outbox, Link link, Sweeper sweeper,
        int deadlineMillis, boolean keeps) {
        this.inventory = inventory;
        this.questions = questions;
        this.prewoven = prewoven;
        this.sites = sites;
        this.outbox = outbox;
        this.link = link;
        this.sweeper = sweeper;
        this.deadlineMillis = deadlineMillis;
        this.keeps = keeps;
    }

    void watch(Watch watch) {
        this.watch = watch.isEmpty() ? null : watch;
    }

    void hook(Hook hook, EventPump events) {
        Hook[] grown = Arrays.copyOf(hooks, hooks.length + 1);
        grown[hooks.length] = hook;
        hook.call(); // what that needs must be loaded before a class is
        this.events = events;
        hooks = grown;
    }

    /** The hook of this site, if it is one of those, hears no more of classes being loaded. */
    void unhook(int site) {
        for (int i = 0; i < hooks.length; i++) {
            if (hooks[i].site == site) {
                Hook[] left = new Hook[hooks.length - 1];
                System.arraycopy(hooks, 0, left, 0, i);
                System.arraycopy(hooks, i + 1, left, i, left.length - i);
                hooks = left;
                return;
            }
        }
    }

    /** Null: nothing is watched. */
    Watch watch() {
        return watch;
    }

    /** From now on nothing is changed; what arrives for classes of the session is noted. */
    void restore() {
        restoring = true;
        watch = null;
        hooks = new Hook[0];
    }

    boolean isRestoring() {
        return restoring;
    }

    /** Whether a class has passed by untouched in a thread of the agent since the last call. */
    boolean hasPassed() {
        boolean before = passed;
        passed = false;
        return before;
    }

    long waitedNanos() {
        return waitedNanos;
    }

    /** This thread is about to call {@code retransformClasses}; it waits for the client without limit. */
    void expect() {
        retransforming = Thread.currentThread();
        lastAsked = null;
    }

    /** The class that the JVM was last given an answer about; null: none since {@link #expect}. */
    ClassRecord lastAsked() {
        return lastAsked;
    }

    /** System.nanoTime of that answer. */
    long answeredNanos() {
        return answeredNanos;
    }

    @Override
    public byte[] transform(ClassLoader loader, String internalName, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        try {
            if (redefined != null) {
                return redefine(redefined, bytes);
            }
            Hook[] hooks = this.hooks;
            if (watch == null && hooks.length == 0) {
                return null;
            }
            if (internalName == null) {
                internalName = nameOf(bytes);
                if (internalName == null) {
                    return null;
                }
            }
            if (Thread.currentThread() instanceof AgentThread) {
                if (watch != null && !Inventory.isOwn(internalName.replace('/', '.'))) {
                    passed = true;
                    sweeper.request();
                }
                tell(hooks, loader, internalName, bytes);
                return null;
            }
            int entry = Guard.mark(-1);
            try {
                tell(hooks, loader, internalName, bytes);
                return load(loader, internalName.replace('/', '.'), bytes);
            } finally {
                try {
                    Guard.leave(entry);
                } catch (Throwable noStack) {
                    if (entry >= 0) {
                        Guard.MARKS[entry] = Guard.LEFT;
                    }
                }
            }
        } catch (Throwable unexpected) { // the end of the stack, above all
            sweeper.request();
            return null;
        }
    }

    /**
     * The name of a class that its loader defines without one ({@code defineClass(null, …)}). Null: it is not to be touched. Java 8
     * tells its anonymous classes in the same way, and does not let anybody put them back.
     */
    private static String nameOf(byte[] bytes) {
        ClassHeader header = Platform.tellsAnonymousClasses() ? null : ClassHeader.parse(bytes);
        return header == null ? null : header.name.replace('.', '/');
    }

    /** A class is being loaded, by whichever thread. */
    private void tell(Hook[] hooks, ClassLoader loader, String internalName, byte[] bytes) {
        for (Hook hook : hooks) {
            String name = internalName.replace('/', '.');
            if (!Inventory.isOwn(name) && hook.classes.matchesLoading(loader, name, bytes)) {
                events.loading(hook, name, inventory.loaderName(loader), bytes.length);
            }
        }
    }

    private byte[] redefine(Class<?> type, byte[] bytes) throws Exception {
        ClassRecord record = inventory.find(type);
        if (record == null) {
            return null;
        }
        boolean own = record.requested && Thread.currentThread() == retransforming;
        try {
            return record.woven || own && !restoring ? ask(record, type, bytes, own) : null;
        } finally {
            if (own) {
                lastAsked = record;
                answeredNanos = System.nanoTime();
            }
        }
    }

    /** What is to become of a class of the session; while its classes are put back, only what it had is noted. */
    private byte[] ask(ClassRecord record, Class<?> type, byte[] bytes, boolean own) throws Exception {
        ParameterNames names = record.parameterNames;
        byte[] whole = names == null ? bytes : names.givenBack(bytes);
        byte[] hash = Fingerprint.of(whole);
        boolean shared = Sessions.areSeveral() && Inventory.isWoven(bytes);
        byte[] current = shared ? whole : Redefinitions.current(type, whole, hash, record.latest, record.shared);
        if (current != whole) {
            hash = Fingerprint.of(current);
        }
        byte[] unchanged = current == bytes ? null : current;
        if (restoring) {
            record.returned = hash;
            return unchanged;
        }
        if (record.original == null) {
            record.original = hash;
        }
        byte[] before = record.latest;
        boolean sharedBefore = record.shared;
        byte[] kept = Arrays.equals(hash, record.latest) ? record.file : null;
        record.latest = hash;
        record.shared = shared;
        PrewovenMethods methods = own ? record.prewoven : null;
        byte[] woven = methods == null || questions.isClosed() ? null : methods.takenOver(current);
        record.prewoven = null;
        byte[] added = woven == null ? null : methods.constants();
        if (woven == null) {
            // Other sessions, whose threads are the agent's too, come and go without changing the program.
            boolean changed = before != null && !Arrays.equals(hash, before) && !(Thread.currentThread() instanceof AgentThread);
            Question question = questions.ask(record, type, current, hash, changed);
            if (question == null) {
                return alone(record, kept, unchanged);
            }
            if (own) {
                long start = System.nanoTime();
                link.send(question.frame());
                question.await(0);
                waitedNanos += System.nanoTime() - start;
            } else {
                outbox.ask(question);
                if (!question.await(deadlineMillis)) {
                    return unchanged;
                }
            }
            woven = question.woven();
            if (woven == null && questions.isClosed() && !restoring) {
                return alone(record, kept, unchanged);
            }
        }
        if (woven != null) {
            ClassLoader loader = type.getClassLoader();
            record.failure = added == null ? inventory.link(loader, woven) : inventory.linkAdded(loader, added);
            woven = record.failure == null ? woven : null;
        }
        if (record.woven && woven == null) {
            record.returned = hash;
            record.latest = before;
            record.shared = sharedBefore;
        }
        record.woven = woven != null;
        record.file = keeps ? woven : null;
        return restoring || woven == null ? unchanged : woven;
    }

    /**
     * Nobody is there to weave: the class gets what it had, if it comes as it came before. Otherwise it goes without, and
     * is woven when a client has joined.
     */
    private static byte[] alone(ClassRecord record, byte[] kept, byte[] unchanged) {
        if (kept == null && record.woven) {
            record.lostNanos = System.nanoTime() | 1;
        }
        record.file = kept;
        record.woven = kept != null;
        record.overdue = kept == null;
        record.failure = kept == null ? "no client is connected" : null;
        return kept != null ? kept : unchanged;
    }

    /** A class that an application thread loads, {@code name} with dots. Null: unchanged. */
    byte[] load(ClassLoader loader, String name, byte[] bytes) throws ProtocolException {
        Watch watch = this.watch;
        if (watch == null || questions.isClosed() || Inventory.isOwn(name) || !watch.matchesLoading(loader, name, bytes)) {
            return null;
        }
        if (watch.bySupertype()) {
            sweeper.request();
        }
        if (!Headroom.has(Retransformer.PER_CLASS)) {
            sweeper.request(); // a thread of the agent can wait for a collection
            return null;
        }
        String loaderName = inventory.loaderName(loader);
        if (!inventory.seesHandlers(loader)) {
            outbox.post(late(name, loaderName, 2, Inventory.UNSEEN));
            return null;
        }
        ClassRecord record = new ClassRecord(name, loader, loaderName);
        byte[] hash = Fingerprint.of(bytes);
        record.original = hash;
        record.latest = hash;
        record.shared = Sessions.areSeveral() && Inventory.isWoven(bytes);
        byte[] given = prewoven(record, loader, bytes);
        if (given != null) {
            return given == bytes ? null : handOver(record, given);
        }
        Question question = questions.ask(record, null, bytes, hash, false);
        if (question == null) {
            sweeper.request();
            return null;
        }
        inventory.arrive(record);
        outbox.ask(question);
        if (!question.await(deadlineMillis)) {
            questions.missed();
            return null;
        }
        byte[] woven = question.woven();
        if (woven == null) {
            return null;
        }
        String unlinkable = inventory.link(loader, woven);
        if (unlinkable != null) {
            outbox.post(late(name, loaderName, 2, unlinkable));
            return null;
        }
        woven = handOver(record, woven);
        if (woven != null) {
            outbox.put(late(name, loaderName, 0, ""));
        }
        return woven;
    }

    /**
     * What the client has said of a class file before it came, {@code bytes} itself where the class is to stay as it is; null: it has
     * to be asked.
     */
    private byte[] prewoven(ClassRecord record, ClassLoader loader, byte[] bytes) throws ProtocolException {
        PrewovenClasses.Answer answer = inventory.isOfJdk(loader) ? null : prewoven.find(record.latest);
        if (answer == null) {
            return null;
        }
        Payload content = answer.isUnchanged() ? null : prewoven.read(answer);
        byte[] given = answer.isUnchanged() ? bytes : content == null ? null : content.bytes();
        if (given == null || given != bytes && inventory.link(loader, given) != null) {
            return null;
        }
        Frame note = late(record.name, record.loaderName, given == bytes ? 4 : 0, "", answer.id);
        if (!prewoven.take(record.latest, answer, note, outbox)) {
            return null;
        }
        inventory.arrive(record);
        if (content != null) {
            sites.add(record, content);
        }
        return given;
    }

    /** Null: the session has begun to put its classes back meanwhile. */
    private byte[] handOver(ClassRecord record, byte[] woven) {
        // First the record, then the look at the flag: a restoration that sets it in between finds the record.
        record.woven = true;
        record.file = keeps ? woven : null;
        if (restoring) {
            record.woven = false;
            return null;
        }
        return woven;
    }

    /** LATE, of a class that the client was asked about. */
    static Frame late(String name, String loaderName, int outcome, String reason) {
        return late(name, loaderName, outcome, reason, 0);
    }

    private static Frame late(String name, String loaderName, int outcome, String reason, int prewoven) {
        return new Frame(Frame.LATE).string(name).string(loaderName).u1(outcome).string(reason).u4(prewoven);
    }
}
