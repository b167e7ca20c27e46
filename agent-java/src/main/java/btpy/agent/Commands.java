package btpy.agent;

import btpy.runtime.ClassNames;
import btpy.runtime.Headroom;
import btpy.runtime.Session;
import java.io.File;
import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Carries out what the client asks for, one request after the other, on a thread of its own. */
final class Commands implements Runnable {
    private static final int MAX_WAITING = 1024;
    private static final int MAX_MATCHES_BYTES = 12 << 20;
    private static final int MAX_CLASS_FILES_BYTES = 512 << 10;
    private static final int DRAIN_MILLIS = 5_000;

    /** For a collection to show what is free. */
    private static final int PATIENCE_MILLIS = 2_000;

    /** After a WEAVE, the time in which a client that searches is expected to have searched. */
    private static final long SEARCHED_NANOS = 20_000_000_000L;

    /** Types whose supertypes are looked up for one request. */
    private static final int MAX_LOOKED_UP = 4096;

    private final Tracer tracer;
    private final Instrumentation instrumentation;
    private final Link link;
    private final Inventory inventory;
    private final Transformer transformer;
    private final Outbox outbox;
    private final EventPump events;
    private final Session session;
    private final int slot;
    private final BatchSize batchSize;

    /** Whether the last WEAVE lets classes lose the names of their parameters. */
    private boolean losesNames;

    /** The last SEARCH, and the classes that were loaded then: identity hash and hash of the name, sorted; it holds none of them. */
    private int lastSearch;
    private long[] searched = {};

    private final Payload[] waiting = new Payload[MAX_WAITING];
    private int head;
    private int count;
    private boolean sweep;

    /** Until then the client looks for classes that slip through by itself, with what it has woven for them: System.nanoTime. */
    private long searchedUntil = System.nanoTime();
    private boolean restore;
    private boolean busy;
    private boolean closed;

    Commands(Tracer tracer, Instrumentation instrumentation, Link link, Inventory inventory, Transformer transformer,
        Outbox outbox, EventPump events, Session session, int slot, BatchSize batchSize) {
        this.tracer = tracer;
        this.instrumentation = instrumentation;
        this.link = link;
        this.inventory = inventory;
        this.transformer = transformer;
        this.outbox = outbox;
        this.events = events;
        this.session = session;
        this.slot = slot;
        this.batchSize = batchSize;
    }

    synchronized void add(Payload request) throws ProtocolException {
        if (count == MAX_WAITING) {
            throw new ProtocolException("more than " + MAX_WAITING + " requests at once");
        }
        waiting[(head + count++) % MAX_WAITING] = request;
        notifyAll();
    }

    /** Looks for classes that slipped through, after the requests that wait; false: not now. */
    synchronized boolean sweep() {
        if (System.nanoTime() - searchedUntil < 0) {
            return false;
        }
        sweep = true;
        notifyAll();
        return true;
    }

    /** Puts the classes back, after the requests that wait. */
    synchronized void restore() {
        restore = true;
        notifyAll();
    }

    /** The client is gone: what it asked for need not be done. */
    synchronized void clear() {
        Arrays.fill(waiting, null);
        head = 0;
        count = 0;
    }

    /** Waits until nothing is being done, at most {@code millis}; whether that is so. */
    synchronized boolean awaitIdle(long millis) {
        long deadline = System.nanoTime() + millis * 1_000_000L;
        while (busy || count > 0 || restore) {
            long left = (deadline - System.nanoTime()) / 1_000_000L;
            if (left <= 0 || closed) {
                return false;
            }
            pause(left);
        }
        return true;
    }

    synchronized void close() {
        closed = true;
        notifyAll();
    }

    @Override
    public void run() {
        try {
            while (true) {
                Payload request;
                boolean restoring;
                synchronized (this) {
                    busy = false;
                    notifyAll();
                    while (!closed && count == 0 && !sweep && !restore) {
                        pause(0);
                    }
                    if (closed) {
                        return;
                    }
                    busy = true;
                    request = count == 0 ? null : waiting[head];
                    restoring = request == null && restore;
                    if (restoring) {
                        restore = false;
                    } else if (request == null) {
                        sweep = false;
                    } else {
                        waiting[head] = null;
                        head = (head + 1) % MAX_WAITING;
                        count--;
                    }
                }
                if (restoring) {
                    tracer.restore();
                } else if (request == null) {
                    weaveSlipped();
                } else {
                    answer(request);
                }
            }
        } catch (Throwable unexpected) {
            tracer.fail(unexpected);
        }
    }

    private void answer(Payload request) throws Exception {
        try {
            carryOut(request);
        } catch (ProtocolException broken) {
            tracer.hangUp(broken.getMessage());
        } catch (IOException gone) {
            tracer.hangUp(null);
        }
    }

    private void carryOut(Payload request) throws Exception {
        int id = request.u4();
        switch (request.type) {
            case Payload.SEARCH:
                search(id, request);
                break;
            case Payload.READ:
                read(id, request);
                break;
            case Payload.LOOK_UP:
                lookUp(id, request);
                break;
            case Payload.INSTALL:
                install(id, request);
                break;
            case Payload.WATCH:
                watch(id, request);
                break;
            case Payload.FORESEE:
                foresee(id, request);
                break;
            case Payload.LOCATE:
                locate(id, request);
                break;
            case Payload.WEAVE:
                weave(id, request);
                break;
            case Payload.TIMER:
                timer(id, request);
                break;
            case Payload.HOOK:
                hook(id, request);
                break;
            case Payload.SEND:
                int event = request.u4();
                request.end();
                events.send(id, event);
                break;
            case Payload.SNAPSHOT:
                snapshot(id, request);
                break;
            case Payload.RESTORE:
                request.end();
                link.send(tracer.restore().frame(id));
                break;
            case Payload.DETACH:
                request.end();
                detach(id);
                break;
            case Payload.LEAVE:
                leave(id, request);
                break;
            case Payload.LEVEL:
                session.setLevel(request.size());
                request.end();
                done(id, "");
                break;
            case Payload.ENABLE:
                int probe = request.u4();
                boolean on = request.bool();
                request.end();
                done(id, session.setEnabled(probe, on) ? "" : "there is no probe " + probe);
                break;
            case Payload.REMOVE:
                remove(id, request);
                break;
            case Payload.SAMPLE:
                sample(id, request);
                break;
            case Payload.LIMIT:
                int limited = request.u4();
                boolean there = session.limit(limited, request.u8(), request.u8(), request.u8());
                request.end();
                done(id, there ? "" : "there is no probe " + limited);
                break;
            default:
                throw new ProtocolException("a message of type 0x" + Integer.toHexString(request.type));
        }
    }

    private void search(int id, Payload request) throws IOException {
        Watch wanted = new Watch(patterns(request));
        int most = request.size();
        int since = request.u4();
        request.end();
        Frame frame = new Frame(Frame.CLASSES, 1 << 16).u4(id);
        int counts = frame.size();
        frame.u4(0).u4(0).u4(0);
        int loaded = 0;
        int matched = 0;
        int listed = 0;
        Class<?>[] types = instrumentation.getAllLoadedClasses();
        long[] before = since == lastSearch ? searched : new long[0];
        lastSearch = id;
        searched = new long[types.length];
        for (int i = 0; i < types.length; i++) {
            Class<?> type = types[i];
            String name = ClassNames.of(type);
            searched[i] = (long) System.identityHashCode(type) << 32 | name.hashCode() & 0xFFFFFFFFL;
            if (type.isArray()) {
                continue;
            }
            loaded++;
            if (Inventory.isOwn(name) || Arrays.binarySearch(before, searched[i]) >= 0 || !wanted.matchesLoaded(type, name, true)) {
                continue;
            }
            matched++;
            ClassRecord record = inventory.of(type);
            if (!Headroom.awaits(frame.size() / 8, PATIENCE_MILLIS)) {
                throw new ProtocolException("the heap of the JVM is nearly full");
            }
            if (listed < most && frame.size() < MAX_MATCHES_BYTES) {
                describe(frame, record, type);
                listed++;
            }
        }
        sort(searched);
        wanted.forget();
        frame.patch(counts, loaded).patch(counts + 4, matched).patch(counts + 8, listed);
        link.send(frame);
    }

    /** Ascending (Shell 1959, gaps as Gonnet and Baeza-Yates have them): {@code Arrays.sort} brings in 30 kB of class files. */
    private static void sort(long[] numbers) {
        for (int gap = numbers.length / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11) {
            for (int i = gap; i < numbers.length; i++) {
                long moved = numbers[i];
                int at = i;
                for (; at >= gap && numbers[at - gap] > moved; at -= gap) {
                    numbers[at] = numbers[at - gap];
                }
                numbers[at] = moved;
            }
        }
    }

    /** {@code LoadedClass}. */
    private void describe(Frame frame, ClassRecord record, Class<?> type) {
        Class<?> superclass = type.getSuperclass();
        Class<?>[] interfaces = type.getInterfaces();
        frame.u4(record.id).string(record.name).string(record.loaderName);
        frame.string(superclass == null ? "" : ClassNames.of(superclass)).u4(interfaces.length);
        for (Class<?> each : interfaces) {
            frame.string(ClassNames.of(each));
        }
        boolean modifiable = instrumentation.isModifiableClass(type);
        frame.u2(type.getModifiers()).bool(modifiable).string(codeSource(type));
        frame.u1(!modifiable ? 2 : inventory.seesHandlers(type.getClassLoader()) ? 0 : 1);
    }

    private static String codeSource(Class<?> type) {
        try {
            java.security.CodeSource source = type.getProtectionDomain().getCodeSource();
            return source == null || source.getLocation() == null ? "" : source.getLocation().toString();
        } catch (RuntimeException hidden) {
            return "";
        }
    }

    private void read(int id, Payload request) throws IOException {
        int[] ids = request.u4s();
        request.end();
        Frame frame = new Frame(Frame.CLASS_FILES, 1 << 16).u4(id);
        int at = frame.size();
        frame.u4(0);
        int read = 0;
        for (int each : ids) {
            Class<?> type = record(each).loaded();
            byte[] classFile = type == null ? null : Resources.classFile(type);
            if (classFile != null && frame.size() + classFile.length > MAX_CLASS_FILES_BYTES && read > 0) {
                break;
            }
            frame.u4(each).bytes(classFile == null ? new byte[0] : classFile);
            read++;
        }
        link.send(frame.patch(at, read));
    }

    /** The supertypes of types that need not be loaded, and theirs, from their class files. */
    private void lookUp(int id, Payload request) throws IOException {
        ClassLoader loader = inventory.loader(request.string());
        ArrayDeque<String> names = new ArrayDeque<String>();
        for (int left = request.count(4); left > 0; left--) {
            names.add(request.string());
        }
        request.end();
        Set<String> seen = new HashSet<String>(names);
        Frame frame = new Frame(Frame.SUPERTYPES, 1 << 12).u4(id);
        int at = frame.size();
        frame.u4(0);
        int found = 0;
        while (!names.isEmpty() && found < MAX_LOOKED_UP) {
            String name = names.remove();
            byte[] classFile = Resources.classFile(loader, name);
            ClassHeader header = classFile == null ? null : ClassHeader.parse(classFile);
            if (header == null) {
                continue;
            }
            frame.string(name).string(header.superclass).u4(header.interfaces.length);
            for (String each : header.interfaces) {
                frame.string(each);
                if (seen.add(each)) {
                    names.add(each);
                }
            }
            if (!header.superclass.isEmpty() && seen.add(header.superclass)) {
                names.add(header.superclass);
            }
            found++;
        }
        link.send(frame.patch(at, found));
    }

    private void install(int id, Payload request) throws IOException {
        String error = "";
        try {
            for (int left = request.count(16); left > 0; left--) {
                int map = request.u4();
                int kind = request.u1();
                int keys = request.u1();
                int precision = request.u1();
                int capacity = request.size();
                boolean evicts = request.bool();
                session.addMap(map, kind, keys, precision, capacity, request.u8s());
                if (evicts) {
                    session.evict(map);
                }
            }
            for (int left = request.count(63); left > 0; left--) {
                int probe = request.u4();
                boolean enabled = request.bool();
                int mode = request.u1();
                double parameter = Double.longBitsToDouble(request.u8());
                boolean adaptive = request.bool();
                session.addProbe(probe);
                session.sampling(probe, mode, parameter, adaptive, request.u4());
                session.limit(probe, request.u8(), request.u8(), request.u8(), request.u8());
                session.level(probe, request.u4());
                session.feeds(request.u4(), request.u4s());
                session.setEnabled(probe, enabled);
            }
            String refused = Tracer.defineHandlers(request);
            request.end();
            error = refused == null ? "" : refused;
        } catch (IllegalArgumentException outOfRange) {
            error = outOfRange.getMessage();
        }
        done(id, error);
    }

    /**
     * Classes that are loaded and match now are the client's to SEARCH and WEAVE; they get their records here, so that only
     * what is loaded from now on can slip through.
     */
    private void watch(int id, Payload request) throws Exception {
        Watch wanted = new Watch(patterns(request));
        request.end();
        if (!wanted.isEmpty()) {
            tracer.listen();
        }
        transformer.watch(wanted);
        tracer.ask();
        for (Class<?> type : instrumentation.getAllLoadedClasses()) {
            if (!type.isArray() && wanted.matchesLoaded(type, ClassNames.of(type), false)) {
                inventory.of(type);
            }
        }
        wanted.forget();
        done(id, "");
        if (!inventory.overdue().isEmpty()) {
            weaveSlipped(); // nobody was there to weave them
        }
    }

    /** Answered through the outbox, behind what was told of classes for which the client takes back what it has said. */
    private void foresee(int id, Payload request) throws ProtocolException {
        String error = tracer.foresee(request.bool(), request);
        outbox.post(new Frame(Frame.DONE).u4(id).string(error == null ? "" : error));
    }

    /** Where the loaders of the JVM look for classes of the application. */
    private void locate(int id, Payload request) throws IOException {
        request.end();
        Frame frame = new Frame(Frame.LOCATIONS).u4(id);
        int at = frame.size();
        frame.u4(0);
        int found = 0;
        for (String property : new String[] {"java.class.path", "jdk.module.path"}) {
            String path = System.getProperty(property);
            for (String each : path == null ? new String[0] : path.split(File.pathSeparator)) {
                frame.string(new File(each).getAbsolutePath());
                found++;
            }
        }
        link.send(frame.patch(at, found));
    }

    private void weave(int id, Payload request) throws Exception {
        int[] ids = request.u4s();
        List<ClassRecord> records = new ArrayList<ClassRecord>();
        for (int each : ids) {
            records.add(record(each));
        }
        for (int left = request.count(32); left > 0; left--) {
            tracer.wovenAhead(record(request.u4()), request);
        }
        boolean searches = request.bool();
        losesNames = request.bool();
        request.end();
        searchedBy(searches);
        tracer.listen();
        List<ClassRecord> held = new ArrayList<ClassRecord>();
        for (ClassRecord each : records) {
            if (each.woven) {
                each.returned = null;
                held.add(each);
            }
        }
        Retransformer retransformer = new Retransformer(instrumentation, transformer, batchSize).losingNames(losesNames);
        tracer.retransform(retransformer, records);
        for (ClassRecord each : records) {
            each.ahead = null;
        }
        int putBack = 0;
        for (ClassRecord each : held) {
            if (!each.woven && each.failure == null) {
                putBack += each.isPutBack() ? 1 : 0;
                each.failure = each.isPutBack() ? null : ClassRecord.CHANGED;
            }
        }
        searchedBy(searches);
        if (!searches && transformer.hasPassed()) {
            weaveSlipped();
        }
        Frame frame = new Frame(Frame.WEAVE_RESULT).u4(id);
        int at = frame.size();
        frame.u4(0);
        int failed = 0;
        for (ClassRecord each : records) {
            if (each.failure != null) {
                frame.u4(each.id).string(each.failure);
                failed++;
            }
        }
        frame.patch(at, failed).u4(putBack).u4(retransformer.batches()).u8(retransformer.longestNanos());
        link.send(frame.u8(retransformer.totalNanos()).u8(retransformer.waitedNanos()));
    }

    private synchronized void searchedBy(boolean client) {
        searchedUntil = System.nanoTime() + (client ? SEARCHED_NANOS : 0);
    }

    private void timer(int id, Payload request) throws IOException {
        int site = request.u4();
        long period = request.u8();
        String handler = request.string();
        request.end();
        Class<?> type = HandlerClasses.find(handler);
        if (type == null || site >>> 24 != slot || period < 0) {
            done(id, type == null ? "there is no handler " + handler : "the site or the period is not valid");
            return;
        }
        try {
            Method fire = type.getMethod("fire", int.class);
            if (period == 0) {
                events.runOnce(id, site, fire);
            } else {
                events.runEvery(period, site, fire);
                done(id, "");
            }
        } catch (NoSuchMethodException absent) {
            done(id, handler + " has no fire(int)");
        }
    }

    private void hook(int id, Payload request) throws Exception {
        int probe = request.u4();
        int site = request.u4();
        String handler = request.string();
        int kind = request.u1();
        int number = request.u4();
        ClassPattern[] patterns = patterns(request);
        int[] lines = request.u4s();
        request.end();
        Class<?> type = HandlerClasses.find(handler);
        Method fire = type == null ? null : Hook.fire(type);
        if (fire == null || site >>> 24 != slot) {
            done(id, fire == null ? "there is no handler " + handler : "the site is not valid");
            return;
        }
        Hook hook;
        try {
            hook = new Hook(probe, kind, number, kind == Hook.CLASS_LOADED ? new Watch(patterns) : null,
                kind == Hook.MEMORY_LOW ? new MemoryPools(patterns, number) : null, sampler(kind, number), lines, site, fire);
        } catch (IllegalArgumentException nothing) {
            done(id, nothing.getMessage());
            return;
        } catch (LinkageError absent) {
            done(id, "this JVM has no module java.management");
            return;
        }
        events.hook(hook);
        if (kind == Hook.CLASS_LOADED) {
            for (Class<?> each : instrumentation.getAllLoadedClasses()) {
                hook.classes.matchesLoaded(each, ClassNames.of(each), false); // learns the names of subtypes
            }
            hook.classes.forget();
            tracer.listen();
            transformer.hook(hook, events);
        }
        done(id, "");
    }

    private ThreadSampler sampler(int kind, int perSecond) {
        if (kind != Hook.THREAD_BUSY && kind != Hook.THREAD_SEEN) {
            return null;
        }
        return new ThreadSampler(perSecond, kind == Hook.THREAD_SEEN, session.mostFrames(), session.share());
    }

    /** Probes that fire no more, and the timers and hooks that end with them. */
    private void remove(int id, Payload request) throws IOException {
        int[] probes = request.u4s();
        int[] sites = request.u4s();
        request.end();
        for (int probe : probes) {
            session.setEnabled(probe, false);
        }
        for (int site : sites) {
            events.remove(site);
            transformer.unhook(site);
        }
        done(id, "");
    }

    private void sample(int id, Payload request) throws IOException {
        int probe = request.u4();
        int mode = request.u1();
        double parameter = Double.longBitsToDouble(request.u8());
        boolean adaptive = request.bool();
        request.end();
        String error = "";
        try {
            session.resample(probe, mode, parameter, adaptive);
        } catch (IllegalArgumentException outOfRange) {
            error = outOfRange.getMessage();
        }
        done(id, error);
    }

    private void snapshot(int id, Payload request) throws ProtocolException {
        int[] maps = request.u4s();
        request.end();
        events.snapshot(id, maps);
    }

    private void detach(int id) throws IOException {
        Restoration restoration = tracer.restore();
        events.finish(DRAIN_MILLIS);
        outbox.flush(DRAIN_MILLIS);
        int handlers = 0;
        int agent = 0;
        for (Class<?> type : instrumentation.getInitiatedClasses(null)) {
            String name = ClassNames.of(type);
            if (HandlerClasses.isHandler(name)) {
                handlers++;
            } else if (name.startsWith("btpy.")) {
                agent++;
            }
        }
        Frame frame = new Frame(Frame.FAREWELL).u4(id).u4(restoration.failures().size());
        for (String[] each : restoration.failures()) {
            frame.string(each[0] + " is still woven: " + each[1]);
        }
        tracer.end();
        link.send(frame.u4(handlers).u4(agent));
        tracer.leave(null);
    }

    /** The client goes, the session stays. */
    private void leave(int id, Payload request) throws IOException {
        int ttlMillis = request.size();
        String name = request.string();
        byte[] description = request.bytes();
        request.end();
        String refused = tracer.keep(ttlMillis, name, description);
        if (refused != null) {
            link.send(new Frame(Frame.LEFT).u4(id).string(refused).u4(0));
            return;
        }
        events.part();
        if (!events.awaitParted(DRAIN_MILLIS)) {
            throw new IOException("the event thread does not answer");
        }
        outbox.flush(DRAIN_MILLIS);
        link.send(new Frame(Frame.LEFT).u4(id).string("").u4(tracer.id()));
        tracer.part();
    }

    /** Weaves what missed the deadline and what was loaded before it was known to match, each reported by LATE. */
    private void weaveSlipped() {
        Watch watch = transformer.watch();
        Class<?>[] loaded = instrumentation.getAllLoadedClasses();
        inventory.settle(loaded);
        List<ClassRecord> slipped = inventory.overdue();
        for (int i = 0; watch != null && i < loaded.length; i++) {
            Class<?> type = loaded[i];
            String name = ClassNames.of(type);
            if (type.isArray() || Inventory.isOwn(name) || !watch.matchesLoaded(type, name, false) || inventory.find(type) != null) {
                continue;
            }
            ClassRecord record = inventory.of(type);
            String refusal = refusal(type);
            if (refusal == null) {
                slipped.add(record);
            } else {
                outbox.post(Transformer.late(name, record.loaderName, 2, refusal));
            }
        }
        if (watch != null) {
            watch.forget();
        }
        if (slipped.isEmpty()) {
            return;
        }
        for (ClassRecord each : slipped) {
            each.overdue = false;
        }
        tracer.retransform(new Retransformer(instrumentation, transformer, batchSize).losingNames(losesNames), slipped);
        for (ClassRecord each : slipped) {
            if (each.failure != null) {
                outbox.post(Transformer.late(each.name, each.loaderName, 2, each.failure));
            } else if (each.woven && each.lostNanos != 0) {
                outbox.post(Transformer.late(each.name, each.loaderName, 3, lost(each)));
            } else if (each.woven) {
                outbox.post(Transformer.late(each.name, each.loaderName, 1, ""));
            }
        }
    }

    /** Why a class that has its probes again had none for a while. */
    private static String lost(ClassRecord record) {
        long seconds = (System.nanoTime() - record.lostNanos) / 1_000_000_000L;
        record.lostNanos = 0;
        return "another session or agent changed it " + seconds + " s ago, and nobody was connected";
    }

    /** Null when a class that nobody has asked the client about may be retransformed. */
    private String refusal(Class<?> type) {
        if (!instrumentation.isModifiableClass(type)) {
            return "the JVM does not let this class be changed";
        }
        if (!inventory.seesHandlers(type.getClassLoader())) {
            return Inventory.UNSEEN;
        }
        return null;
    }

    private ClassRecord record(int id) throws ProtocolException {
        ClassRecord record = inventory.get(id);
        if (record == null) {
            throw new ProtocolException("no class has the id " + id);
        }
        return record;
    }

    private void done(int id, String error) throws IOException {
        link.send(new Frame(Frame.DONE).u4(id).string(error));
    }

    static ClassPattern[] patterns(Payload request) throws ProtocolException {
        ClassPattern[] patterns = new ClassPattern[request.count(9)];
        for (int i = 0; i < patterns.length; i++) {
            patterns[i] = new ClassPattern(request.u1(), request.string(), request.byteArrays());
        }
        return patterns;
    }

    private void pause(long millis) {
        try {
            wait(millis);
        } catch (InterruptedException nobodysBusiness) {
            // an agent thread has no use for its interrupt flag
        }
    }
}
