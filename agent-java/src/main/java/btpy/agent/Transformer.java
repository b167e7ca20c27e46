package btpy.agent;

import btpy.runtime.AgentThread;
import btpy.runtime.Guard;
import btpy.runtime.Headroom;
import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.Arrays;

/**
 * Passes class files to the client, and the client's answers to the JVM.
 *
 * <p>It runs in three kinds of threads. The thread that calls {@code retransformClasses} for this session waits for the
 * client without limit. A thread that loads a matching class waits until the deadline. If the class misses the
 * deadline, it is loaded unwoven and woven afterwards, as are the following classes until the client answers again. A
 * thread that retransforms a woven class for another agent or session also waits until the deadline, because every
 * retransformation starts again from the original bytes.
 *
 * <p>Loading threads may hold any lock of the application and of class loaders. So this code only waits for the
 * client's answer, or reads a few kilobytes of a file if the answer was sent before ({@link PrewovenClasses}). The
 * threads that deliver answers belong to the agent, whose own class loading is not transformed. They only need classes
 * that are already loaded, see {@link Warmup}.
 *
 * <p>To put a class back, the session retransforms it once more while this transformer, still at its position among the
 * transformers, changes nothing. The JVM then shows the transformer the same bytes as if it had never changed the
 * class. The session compares these bytes with the bytes that the JVM showed before.
 *
 * <p>Some JVMs show a loaded class without its MethodParameters. The transformer restores these attributes first
 * ({@link ParameterNames}). It hashes the class file with the attributes, the client weaves this file, and a class that
 * is put back gets this file.
 */
final class Transformer implements ClassFileTransformer {
    private final Inventory inventory;
    private final Questions questions;
    private final PrewovenClasses prewoven;
    private final Sites sites;
    private final Outbox outbox;
    private final Link link;
    private final Sweeper sweeper;
    private final int deadlineMillis;

    /**
     * Whether woven class files are kept. They are needed if another agent retransforms a class while no client can
     * weave.
     */
    private final boolean keeps;

    /**
     * Whether a thread of the agent has loaded a class, for example while linking or verifying another class. The class
     * may match.
     */
    private volatile boolean passed;

    /** The thread of {@link Retransformer}. */
    private volatile Thread retransformingThread;

    /** Null if classes being loaded are not examined. */
    private volatile Watch watch;

    /** The hooks for classes being loaded. */
    private volatile Hook[] hooks = {};
    private volatile EventPump events;
    private volatile boolean restoring;

    /**
     * The nanoseconds that the retransforming thread has waited for the client. Only this thread uses this field and
     * the next two fields.
     */
    private long waitedNanos;

    /** System.nanoTime when the retransforming thread last returned to the JVM. */
    private long answeredNanos;

    /** The class for which the retransforming thread last returned to the JVM. */
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
        Hook[] newHooks = Arrays.copyOf(hooks, hooks.length + 1);
        newHooks[hooks.length] = hook;
        hook.call(); // loads the classes that a call needs, before the first class is matched
        this.events = events;
        hooks = newHooks;
    }

    /** Removes the hook of a site, if it is a hook for classes being loaded. */
    void unhook(int site) {
        for (int i = 0; i < hooks.length; i++) {
            if (hooks[i].site == site) {
                Hook[] newHooks = new Hook[hooks.length - 1];
                System.arraycopy(hooks, 0, newHooks, 0, i);
                System.arraycopy(hooks, i + 1, newHooks, i, newHooks.length - i);
                hooks = newHooks;
                return;
            }
        }
    }

    /** Returns null if nothing is watched. */
    Watch watch() {
        return watch;
    }

    /**
     * Stops changing classes. From now on the transformer only records the bytes that the JVM has for the classes of
     * the session.
     */
    void restore() {
        restoring = true;
        watch = null;
        hooks = new Hook[0];
    }

    boolean isRestoring() {
        return restoring;
    }

    /** Whether a thread of the agent has loaded a class unwoven since the last call. */
    boolean hasPassed() {
        boolean before = passed;
        passed = false;
        return before;
    }

    long waitedNanos() {
        return waitedNanos;
    }

    /** Called by the thread that is about to call {@code retransformClasses}. It waits for the client without limit. */
    void expectRetransformation() {
        retransformingThread = Thread.currentThread();
        lastAsked = null;
    }

    /** The class for which the JVM last got an answer; null if there was none since {@link #expectRetransformation}. */
    ClassRecord lastAsked() {
        return lastAsked;
    }

    /** System.nanoTime when the JVM got the answer for {@link #lastAsked}. */
    long answeredNanos() {
        return answeredNanos;
    }

    /**
     * JDK 9 and later call this method. Woven code calls handlers, which are in the module {@code btpy}: the module of a
     * woven class must read it. Unnamed modules do this automatically.
     */
    @Override
    public byte[] transform(Module module, ClassLoader loader, String internalName, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        byte[] newBytes = transform(loader, internalName, redefined, domain, bytes);
        if (newBytes != null) {
            try {
                Jdk9.read(module);
            } catch (Throwable ignored) { // usually a stack overflow: the class stays unchanged
                return null;
            }
        }
        return newBytes;
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
                ContextClasses.reportLoading(internalName);
                if (watch != null && !Inventory.isOwn(internalName.replace('/', '.'))) {
                    passed = true;
                    sweeper.request();
                }
                callHooks(hooks, loader, internalName, bytes);
                return null;
            }
            int entry = Guard.mark(-1);
            try {
                ContextClasses.reportLoading(internalName);
                callHooks(hooks, loader, internalName, bytes);
                return load(loader, internalName.replace('/', '.'), bytes);
            } finally {
                try {
                    Guard.leave(entry);
                } catch (Throwable stackOverflow) {
                    if (entry >= 0) {
                        Guard.MARKS[entry] = Guard.LEFT;
                    }
                }
            }
        } catch (Throwable ignored) { // mostly StackOverflowError
            sweeper.request();
            return null;
        }
    }

    /**
     * Returns the name of a class that its loader defines without a name ({@code defineClass(null, …)}), or null if the
     * class must not be changed. Java 8 presents its anonymous classes in the same way, and cannot restore them.
     */
    private static String nameOf(byte[] bytes) {
        ClassHeader header = Platform.tellsAnonymousClasses() ? null : ClassHeader.parse(bytes);
        return header == null ? null : header.name.replace('.', '/');
    }

    /** Calls the hooks for a class that any thread loads. */
    private void callHooks(Hook[] hooks, ClassLoader loader, String internalName, byte[] bytes) {
        for (Hook hook : hooks) {
            String name = internalName.replace('/', '.');
            if (!Inventory.isOwn(name) && hook.classes.matchesLoading(loader, name, bytes)) {
                events.reportLoading(hook, name, inventory.loaderName(loader), bytes.length);
            }
        }
    }

    private byte[] redefine(Class<?> type, byte[] bytes) throws Exception {
        ClassRecord record = inventory.find(type);
        if (record == null) {
            return null;
        }
        boolean own = record.requested && Thread.currentThread() == retransformingThread;
        try {
            return record.woven || own && !restoring ? ask(record, type, bytes, own) : null;
        } finally {
            if (own) {
                lastAsked = record;
                answeredNanos = System.nanoTime();
            }
        }
    }

    /**
     * Returns the new bytes of a class of the session. While classes are put back, it only notes the bytes that are
     * shown.
     */
    private byte[] ask(ClassRecord record, Class<?> type, byte[] bytes, boolean own) throws Exception {
        PrewovenMethods methods = own ? record.prewoven : null;
        record.prewoven = null;
        if (methods != null && ParameterNames.ARE_LOST && record.parameterNames == null && !record.woven) {
            record.parameterNames = methods.parameterNames(type, bytes);
        }
        ParameterNames names = record.parameterNames;
        byte[] fullFile = names == null ? bytes : names.addTo(bytes);
        byte[] hash = Fingerprint.of(fullFile);
        boolean shared = Sessions.areSeveral() && Inventory.isWoven(bytes);
        byte[] currentFile = shared ? fullFile
                : Redefinitions.current(type, fullFile, hash, record.latestHash, record.latestIsShared);
        if (currentFile != fullFile) {
            hash = Fingerprint.of(currentFile);
        }
        byte[] unchangedFile = currentFile == bytes ? null : currentFile;
        if (restoring) {
            record.restoredHash = hash;
            return unchangedFile;
        }
        if (record.originalHash == null) {
            record.originalHash = hash;
        }
        byte[] previousHash = record.latestHash;
        boolean sharedBefore = record.latestIsShared;
        byte[] keptFile = Arrays.equals(hash, record.latestHash) ? record.wovenFile : null;
        record.latestHash = hash;
        record.latestIsShared = shared;
        byte[] woven = methods == null || questions.isClosed() ? null : methods.weaveInto(currentFile);
        byte[] addedConstants = woven == null ? null : methods.constants;
        if (woven == null) {
            // Another session changes the bytes, but not the program. Its threads are threads of the agent, too.
            boolean changed = previousHash != null && !Arrays.equals(hash, previousHash)
                    && !(Thread.currentThread() instanceof AgentThread);
            Question question = questions.ask(record, type, currentFile, hash, changed);
            if (question == null) {
                return useKeptFile(record, keptFile, unchangedFile);
            }
            if (own) {
                long start = System.nanoTime();
                link.send(question.frame());
                question.await(Gate.FOREVER);
                waitedNanos += System.nanoTime() - start;
            } else {
                outbox.ask(question);
                if (!question.await(deadlineMillis)) {
                    return unchangedFile;
                }
            }
            woven = question.woven();
            if (woven == null && questions.isClosed() && !restoring) {
                return useKeptFile(record, keptFile, unchangedFile);
            }
        }
        if (woven != null) {
            ClassLoader loader = type.getClassLoader();
            record.failure = addedConstants == null ? inventory.link(loader, woven)
                    : inventory.linkAdded(loader, addedConstants);
            woven = record.failure == null ? woven : null;
        }
        if (record.woven && woven == null) {
            record.restoredHash = hash;
            record.latestHash = previousHash;
            record.latestIsShared = sharedBefore;
        }
        record.woven = woven != null;
        record.wovenFile = keeps ? woven : null;
        return restoring || woven == null ? unchangedFile : woven;
    }

    /**
     * Handles a class while no client can weave. The class gets its kept woven file if it is shown as before. Otherwise
     * it stays unwoven, and is woven when a client has joined.
     */
    private static byte[] useKeptFile(ClassRecord record, byte[] keptFile, byte[] unchangedFile) {
        if (keptFile == null && record.woven) {
            record.lostNanos = System.nanoTime() | 1;
        }
        record.wovenFile = keptFile;
        record.woven = keptFile != null;
        record.overdue = keptFile == null;
        record.failure = keptFile == null ? "no client is connected" : null;
        return keptFile != null ? keptFile : unchangedFile;
    }

    /**
     * Handles a class that an application thread loads; {@code name} has dots. Returns null if the class is not
     * changed.
     */
    byte[] load(ClassLoader loader, String name, byte[] bytes) throws ProtocolException {
        Watch watch = this.watch;
        if (watch == null || questions.isClosed() || Inventory.isOwn(name) || !watch.matchesLoading(loader, name, bytes)) {
            return null;
        }
        if (watch.isBySupertype()) {
            sweeper.request();
        }
        if (!Headroom.has(Retransformer.PER_CLASS)) {
            sweeper.request(); // then a thread of the agent weaves the class, and can wait for a garbage collection
            return null;
        }
        String loaderName = inventory.loaderName(loader);
        if (!inventory.seesHandlers(loader)) {
            outbox.post(late(name, loaderName, 2, Inventory.UNSEEN));
            return null;
        }
        ClassRecord record = new ClassRecord(name, loader, loaderName);
        byte[] hash = Fingerprint.of(bytes);
        record.originalHash = hash;
        record.latestHash = hash;
        record.latestIsShared = Sessions.areSeveral() && Inventory.isWoven(bytes);
        byte[] prewovenFile = prewoven(record, loader, bytes);
        if (prewovenFile != null) {
            return prewovenFile == bytes ? null : handOver(record, prewovenFile);
        }
        Question question = questions.ask(record, null, bytes, hash, false);
        if (question == null) {
            sweeper.request();
            return null;
        }
        inventory.addLoading(record);
        outbox.ask(question);
        if (!question.await(deadlineMillis)) {
            questions.reportTimeout();
            return null;
        }
        byte[] woven = question.woven();
        if (woven == null) {
            return null;
        }
        String linkError = inventory.link(loader, woven);
        if (linkError != null) {
            outbox.post(late(name, loaderName, 2, linkError));
            return null;
        }
        woven = handOver(record, woven);
        if (woven != null) {
            outbox.put(late(name, loaderName, 0, ""));
        }
        return woven;
    }

    /**
     * Returns the answer that the client sent for a class file before it was loaded: {@code bytes} itself if the class
     * is not changed, null if the client has to be asked.
     */
    private byte[] prewoven(ClassRecord record, ClassLoader loader, byte[] bytes) throws ProtocolException {
        PrewovenClasses.Answer answer = inventory.isOfJdk(loader) ? null : prewoven.find(record.latestHash);
        if (answer == null) {
            return null;
        }
        Payload content = answer.isUnchanged() ? null : prewoven.read(answer);
        byte[] answerFile = answer.isUnchanged() ? bytes : content == null ? null : content.bytes();
        if (answerFile == null || answerFile != bytes && inventory.link(loader, answerFile) != null) {
            return null;
        }
        Frame note = late(record.name, record.loaderName, answerFile == bytes ? 4 : 0, "", answer.id);
        if (!prewoven.take(record.latestHash, answer, note, outbox)) {
            return null;
        }
        inventory.addLoading(record);
        if (content != null) {
            sites.add(record, content);
        }
        return answerFile;
    }

    /** Returns null if the session has begun to put its classes back in the meantime. */
    private byte[] handOver(ClassRecord record, byte[] woven) {
        // Set the record before reading the flag, so that a restoration that sets the flag in between finds the record.
        record.woven = true;
        record.wovenFile = keeps ? woven : null;
        if (restoring) {
            record.woven = false;
            return null;
        }
        return woven;
    }

    /** The message LATE, for a class about which the client was asked. */
    static Frame late(String name, String loaderName, int outcome, String reason) {
        return late(name, loaderName, outcome, reason, 0);
    }

    private static Frame late(String name, String loaderName, int outcome, String reason, int prewoven) {
        return new Frame(Frame.LATE).string(name).string(loaderName).u1(outcome).string(reason).u4(prewoven);
    }
}
