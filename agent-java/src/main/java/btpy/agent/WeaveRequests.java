package btpy.agent;

import btpy.runtime.ClassNames;
import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;

/** Requests that change classes: WATCH, PREWEAVE and WEAVE. Also weaves matching classes that were loaded unwoven. */
final class WeaveRequests extends RequestHandler {
    /** The time after a WEAVE in which a client that searches is expected to complete its search. */
    private static final long SEARCHED_NANOS = 20_000_000_000L;

    private final Weaving weaving;
    private final Instrumentation instrumentation;
    private final Inventory inventory;
    private final Transformer transformer;
    private final PrewovenClasses prewoven;
    private final Sites sites;
    private final Outbox outbox;

    /** The classes that were loaded at the last WATCH or search for missed classes. */
    private LoadedClasses searchedClasses = LoadedClasses.NONE;

    /** Whether the last WEAVE lets classes lose the names of their parameters. */
    private boolean losesNames;

    /**
     * System.nanoTime until which the client itself searches for missed classes, with the code that it has woven for
     * them.
     */
    private volatile long searchedUntil = System.nanoTime();

    WeaveRequests(Link link, Weaving weaving, Instrumentation instrumentation, Inventory inventory, Transformer transformer,
        PrewovenClasses prewoven, Sites sites, Outbox outbox) {
        super(link);
        this.weaving = weaving;
        this.instrumentation = instrumentation;
        this.inventory = inventory;
        this.transformer = transformer;
        this.prewoven = prewoven;
        this.sites = sites;
        this.outbox = outbox;
    }

    /** Whether the client itself searches for missed classes. */
    boolean clientSearches() {
        return System.nanoTime() - searchedUntil < 0;
    }

    /**
     * The client will SEARCH and WEAVE the classes that are loaded and match now. The search for missed classes looks
     * only at classes that are loaded later.
     */
    void watch(int id, Payload request) throws Exception {
        Watch watch = new Watch(ClassPattern.list(request));
        request.end();
        if (!watch.isEmpty()) {
            weaving.listen();
        }
        transformer.watch(watch);
        weaving.ask();
        Class<?>[] types = instrumentation.getAllLoadedClasses();
        searchedClasses = new LoadedClasses(types);
        watch.learn(types);
        done(id, "");
        if (!inventory.overdue().isEmpty()) {
            weaveMissed(); // no client was connected that could weave them
        }
    }

    /**
     * Answers through the outbox, so that the answer follows the messages about the classes that the client now takes
     * back.
     */
    void preweave(int id, Payload request) throws ProtocolException {
        String error = "";
        try {
            if (request.bool()) {
                prewoven.forget();
            }
            prewoven.add(request);
        } catch (ProtocolException protocolError) {
            throw protocolError;
        } catch (IOException failure) {
            error = failure.getMessage();
        }
        outbox.post(new Frame(Frame.DONE).u4(id).string(error));
    }

    void weave(int id, Payload request) throws Exception {
        int[] ids = request.u4s();
        List<ClassRecord> records = new ArrayList<ClassRecord>();
        for (int classId : ids) {
            records.add(inventory.require(classId));
        }
        for (int remaining = request.count(32); remaining > 0; remaining--) {
            ClassRecord record = inventory.require(request.u4());
            sites.add(record, request);
            record.prewoven = new PrewovenMethods(request);
        }
        boolean searches = request.bool();
        losesNames = request.bool();
        request.end();
        searchedBy(searches);
        weaving.listen();
        List<ClassRecord> wovenBefore = new ArrayList<ClassRecord>();
        for (ClassRecord record : records) {
            if (record.woven) {
                record.restoredHash = null;
                wovenBefore.add(record);
            }
        }
        Retransformer retransformer = weaving.retransform(records, losesNames);
        for (ClassRecord record : records) {
            record.prewoven = null;
        }
        int putBackCount = 0;
        for (ClassRecord record : wovenBefore) {
            if (!record.woven && record.failure == null) {
                putBackCount += record.isPutBack() ? 1 : 0;
                record.failure = record.isPutBack() ? null : ClassRecord.CHANGED;
            }
        }
        searchedBy(searches);
        if (!searches && transformer.hasPassed()) {
            weaveMissed();
        }
        Frame frame = new Frame(Frame.WEAVE_RESULT).u4(id);
        int at = frame.size();
        frame.u4(0);
        int failedCount = 0;
        for (ClassRecord record : records) {
            if (record.failure != null) {
                frame.u4(record.id).string(record.failure);
                failedCount++;
            }
        }
        frame.patch(at, failedCount).u4(putBackCount).u4(retransformer.batches).u8(retransformer.longestNanos);
        send(frame.u8(retransformer.totalNanos).u8(retransformer.waitedNanos));
    }

    private void searchedBy(boolean client) {
        searchedUntil = System.nanoTime() + (client ? SEARCHED_NANOS : 0);
    }

    /**
     * Weaves the classes whose answer missed the deadline, and the classes that were loaded before they were known to match. LATE
     * reports each of them.
     */
    void weaveMissed() {
        Watch watch = transformer.watch();
        Class<?>[] loadedTypes = instrumentation.getAllLoadedClasses();
        inventory.findLoaded(loadedTypes);
        List<ClassRecord> missedRecords = inventory.overdue();
        LoadedClasses earlierClasses = searchedClasses;
        searchedClasses = new LoadedClasses(loadedTypes);
        for (int i = 0; watch != null && i < loadedTypes.length; i++) {
            Class<?> type = loadedTypes[i];
            String name = ClassNames.of(type);
            if (type.isArray() || Inventory.isOwn(name) || earlierClasses.contains(type, name) || inventory.find(type) != null
                    || !watch.matchesLoaded(type, name, true)) {
                continue;
            }
            ClassRecord record = inventory.of(type);
            if (instrumentation.isModifiableClass(type) && !inventory.seesHandlers(type.getClassLoader())) {
                outbox.post(Transformer.late(name, record.loaderName, 2, Inventory.UNSEEN));
            } else {
                missedRecords.add(record);
            }
        }
        if (watch != null) {
            watch.forget();
        }
        if (missedRecords.isEmpty()) {
            return;
        }
        for (ClassRecord record : missedRecords) {
            record.overdue = false;
        }
        weaving.retransform(missedRecords, losesNames);
        for (ClassRecord record : missedRecords) {
            if (record.failure != null) {
                outbox.post(Transformer.late(record.name, record.loaderName, 2, record.failure));
            } else if (record.woven && record.lostNanos != 0) {
                outbox.post(Transformer.late(record.name, record.loaderName, 3, lossReason(record)));
            } else if (record.woven) {
                outbox.post(Transformer.late(record.name, record.loaderName, 1, ""));
            }
        }
    }

    /** Reports the reason why a class had no probes for a while, when it has them again. */
    private static String lossReason(ClassRecord record) {
        long seconds = (System.nanoTime() - record.lostNanos) / 1_000_000_000L;
        record.lostNanos = 0;
        return "another session or agent changed it " + seconds + " s ago, and nobody was connected";
    }
}
