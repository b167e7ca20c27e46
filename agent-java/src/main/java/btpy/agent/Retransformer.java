package btpy.agent;

import btpy.runtime.Headroom;
import btpy.runtime.Memory;
import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;

/**
 * Calls {@code retransformClasses} in batches that keep to the pause budget ({@link BatchSize}).
 *
 * <p>HotSpot parses and verifies the classes of a call one by one while the application runs. Then it stops the
 * application once to install them. The stop is measured as the time from the last answer of the transformer to the end
 * of the call. This time contains the stop and the verification of one class.
 *
 * <p>A failing call changes no class of its batch (JVMTI RetransformClasses). It failed at the last class that the JVM
 * showed to the transformer. This class is retransformed alone, to get its own error. The classes before it and after
 * it are also tried again.
 */
final class Retransformer {
    /** The client recognises this text. */
    private static final String NAMES_LOST = "it would lose the names of its parameters, and no class file tells them (JDK-8240908)";

    static final String NO_MEMORY = "the heap of the JVM is nearly full, and weaving it could take the last of it";

    /** The heap memory in bytes for weaving a class, several times the size of its class file. */
    static final long PER_CLASS = 256 << 10;

    /** The time to wait for a garbage collection that may free memory. */
    private static final long PATIENCE_MILLIS = 2_000;

    private final Instrumentation instrumentation;
    private final Transformer transformer;
    private final BatchSize size;
    private boolean exhausted;
    /** Whether a class is retransformed even if it loses the names of its parameters. */
    private final boolean losesNames;
    /** The number of calls that stopped the application. */
    int batches;
    /** The longest stop. */
    long longestNanos;
    /** The time of all calls. */
    long totalNanos;
    /** The part of {@link #totalNanos} in which the calls waited for the client. */
    long waitedNanos;

    Retransformer(Instrumentation instrumentation, Transformer transformer, BatchSize size, boolean losesNames) {
        this.instrumentation = instrumentation;
        this.transformer = transformer;
        this.size = size;
        this.losesNames = losesNames;
    }

    /**
     * Retransforms all classes. {@link ClassRecord#failure} then contains the result of each. Unloaded classes are
     * skipped.
     */
    void run(List<ClassRecord> records) {
        List<ClassRecord> batch = new ArrayList<ClassRecord>();
        List<Class<?>> types = new ArrayList<Class<?>>();
        for (ClassRecord record : records) {
            Class<?> type = record.loaded();
            record.failure = type == null ? "it was unloaded" : refusal(record, type);
            if (record.failure == null) {
                record.failure = memory();
            }
            if (record.failure == null) {
                batch.add(record);
                types.add(type);
                if (batch.size() >= size.next()) {
                    retransform(batch, types);
                    batch.clear();
                    types.clear();
                }
            }
        }
        retransform(batch, types);
    }

    /**
     * Returns null if the heap has enough memory to weave another class, otherwise the reason. Putting back is never
     * refused.
     */
    private String memory() {
        if (transformer.isRestoring()) {
            return null;
        }
        exhausted = !Headroom.await(PER_CLASS, exhausted ? 0 : PATIENCE_MILLIS);
        return exhausted ? NO_MEMORY : null;
    }

    private void retransform(List<ClassRecord> batch, List<Class<?>> types) {
        if (batch.isEmpty()) {
            return;
        }
        Throwable failure = attempt(batch, types);
        if (failure == null) {
            return;
        }
        if (batch.size() == 1) {
            batch.get(0).failure = describe(failure) + cause(batch.get(0), types.get(0));
            return;
        }
        int at = Math.max(0, batch.indexOf(transformer.lastAsked()));
        retransform(batch.subList(0, at), types.subList(0, at));
        retransform(batch.subList(at, at + 1), types.subList(at, at + 1));
        retransform(batch.subList(at + 1, batch.size()), types.subList(at + 1, batch.size()));
    }

    private Throwable attempt(List<ClassRecord> batch, List<Class<?>> types) {
        boolean[] requestedBefore = new boolean[batch.size()];
        for (int i = 0; i < requestedBefore.length; i++) {
            requestedBefore[i] = batch.get(i).woven;
            batch.get(i).requested = true;
        }
        Throwable failure = null;
        long start = System.nanoTime();
        long waitedBefore = transformer.waitedNanos();
        transformer.expectRetransformation();
        try {
            instrumentation.retransformClasses(types.toArray(new Class<?>[0]));
        } catch (Throwable error) {
            failure = error;
        }
        long end = System.nanoTime();
        for (int i = 0; i < requestedBefore.length; i++) {
            batch.get(i).requested = false;
            if (failure != null) {
                batch.get(i).woven = requestedBefore[i];
            }
        }
        totalNanos += end - start;
        waitedNanos += transformer.waitedNanos() - waitedBefore;
        if (failure == null) {
            batches++;
            long stop = end - Math.max(start, transformer.answeredNanos());
            longestNanos = Math.max(longestNanos, stop);
            size.add(batch.size(), stop);
        }
        return failure;
    }

    /**
     * Returns null if the class can be retransformed, otherwise the reason. A class that is not initialised is linked
     * first, because retransformation races with linking (JDK-8277444); getConstructors links without initialising,
     * and loads only the types in the signatures of public constructors. A type that is missing there is not an
     * obstacle.
     */
    private String refusal(ClassRecord record, Class<?> type) {
        if (!instrumentation.isModifiableClass(type)) {
            return "the JVM does not let this class be changed";
        }
        // If a class was woven while it was being loaded, the JVM shows the class with the names of the parameters. The
        // client sends them together with prewoven methods.
        if (ParameterNames.ARE_LOST && record.parameterNames == null && !record.woven && record.prewoven == null) {
            record.parameterNames = ParameterNames.of(type);
            if (record.parameterNames == null && !losesNames) {
                return NAMES_LOST;
            }
        }
        if (Memory.instance().isInitialized(type)) {
            return null;
        }
        try {
            type.getConstructors();
        } catch (NoClassDefFoundError | TypeNotPresentException missingType) {
            return null;
        } catch (Throwable failure) {
            return "it cannot be linked: " + describe(failure);
        }
        return null;
    }

    /**
     * Returns more facts about a failure: whether the JVM also refuses the unchanged class, as after a failed linking,
     * and the missing class in this case.
     */
    private String cause(ClassRecord record, Class<?> type) {
        if (record.woven) {
            return "";
        }
        try {
            instrumentation.retransformClasses(type); // the transformer changes only requested classes
            return "";
        } catch (Throwable failure) {
            String missingName = missing(type);
            return "; the JVM also refuses it unchanged"
                    + (missingName == null ? ""
                            : ", because it mentions the class " + missingName + ", which does not exist here");
        }
    }

    /** Returns the class without which {@code type} cannot be linked; null if there is none. */
    private static String missing(Class<?> type) {
        try {
            type.getDeclaredConstructors();
            return null;
        } catch (NoClassDefFoundError error) {
            return error.getMessage() == null ? null : error.getMessage().replace('/', '.');
        } catch (Throwable ignored) {
            return null;
        }
    }

    private static String describe(Throwable failure) {
        String message = failure.getMessage();
        String kind = failure.getClass().getSimpleName();
        return message == null ? kind : kind + ": " + message;
    }
}
