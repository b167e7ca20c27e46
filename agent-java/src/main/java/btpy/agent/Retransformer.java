package btpy.agent;

import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;

/**
 * {@code retransformClasses} in batches. A call stops the application once and costs a few milliseconds plus a share per
 * class; the batch starts small and grows or shrinks with the time that was measured, so that one call stays within the
 * pause budget. The time spent waiting for the client does not count: the application runs then.
 *
 * <p>A failing call changes no class of its batch (JVMTI RetransformClasses), so each is tried alone and gets its own error.
 */
final class Retransformer {
    private static final int FIRST_BATCH = 8;
    private static final int LARGEST_BATCH = 256;

    private final Instrumentation instrumentation;
    private final Transformer transformer;
    private final long budgetNanos;
    private int size = FIRST_BATCH;
    private int batches;
    private long longestNanos;
    private long totalNanos;

    Retransformer(Instrumentation instrumentation, Transformer transformer, int budgetMillis) {
        this.instrumentation = instrumentation;
        this.transformer = transformer;
        this.budgetNanos = Math.max(1, budgetMillis) * 1_000_000L;
    }

    /** Retransforms all; {@link ClassRecord#failure} says afterwards how each fared. Unloaded classes are passed over. */
    void run(List<ClassRecord> records) {
        for (int at = 0; at < records.size(); ) {
            List<ClassRecord> batch = new ArrayList<ClassRecord>();
            List<Class<?>> types = new ArrayList<Class<?>>();
            while (at < records.size() && batch.size() < size) {
                ClassRecord record = records.get(at++);
                Class<?> type = record.loaded();
                record.failure = type == null ? "it was unloaded" : refusal(type);
                if (record.failure == null) {
                    batch.add(record);
                    types.add(type);
                }
            }
            if (batch.isEmpty()) {
                continue;
            }
            Throwable failed = attempt(batch, types);
            if (failed == null) {
                continue;
            }
            for (int i = 0; i < batch.size(); i++) {
                if (batch.size() > 1) {
                    failed = attempt(batch.subList(i, i + 1), types.subList(i, i + 1));
                }
                if (failed != null) {
                    batch.get(i).failure = describe(failed);
                }
            }
        }
    }

    int batches() {
        return batches;
    }

    long longestNanos() {
        return longestNanos;
    }

    long totalNanos() {
        return totalNanos;
    }

    private Throwable attempt(List<ClassRecord> batch, List<Class<?>> types) {
        boolean[] before = new boolean[batch.size()];
        for (int i = 0; i < before.length; i++) {
            before[i] = batch.get(i).woven;
            batch.get(i).requested = true;
        }
        Throwable failed = null;
        long start = System.nanoTime();
        long waited = transformer.waitedNanos();
        try {
            instrumentation.retransformClasses(types.toArray(new Class<?>[0]));
        } catch (Throwable refused) {
            failed = refused;
        }
        long nanos = System.nanoTime() - start - (transformer.waitedNanos() - waited);
        for (int i = 0; i < before.length; i++) {
            batch.get(i).requested = false;
            if (failed != null) {
                batch.get(i).woven = before[i];
            }
        }
        batches++;
        totalNanos += nanos;
        longestNanos = Math.max(longestNanos, nanos);
        if (nanos > budgetNanos) {
            size = (int) Math.max(1, Math.min(size / 2, batch.size() * budgetNanos / nanos));
        } else if (nanos < budgetNanos / 2 && batch.size() == size) {
            size = Math.min(size * 2, LARGEST_BATCH);
        }
        return failed;
    }

    /**
     * Null when the class can be retransformed. The class is linked first, which getDeclaredConstructors does without
     * initialising it: retransformation races with linking (JDK-8277444). A type that only the reflective view of the constructors misses is
     * no obstacle.
     */
    private String refusal(Class<?> type) {
        if (!instrumentation.isModifiableClass(type)) {
            return "the JVM does not let this class be changed";
        }
        try {
            type.getDeclaredConstructors();
        } catch (NoClassDefFoundError missing) {
            return null;
        } catch (TypeNotPresentException missing) {
            return null;
        } catch (Throwable unlinkable) {
            return "it cannot be linked: " + describe(unlinkable);
        }
        return null;
    }

    private static String describe(Throwable failed) {
        String message = failed.getMessage();
        String kind = failed.getClass().getSimpleName();
        return message == null ? kind : kind + ": " + message;
    }
}
