package btpy.agent;

import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;

/** Puts every class of a session back, and reports the result. */
final class Restoration {
    private static final int LOOKS = 5;
    private static final int BETWEEN_LOOKS_MILLIS = 50;

    /** The number of attempts to put a class back if the target has too little memory. */
    private static final int ATTEMPTS = 50;

    private static final int BETWEEN_ATTEMPTS_MILLIS = 100;

    private int wovenCount;
    private int restoredCount;
    private int unloadedCount;
    /** The name and the reason of each class that was not put back. */
    final List<String[]> failures = new ArrayList<String[]>();

    /**
     * Puts the classes back, and removes the transformer at the end. The transformer must already be restoring, and no
     * retransformation of this session may be running.
     *
     * <p>{@link ClassRecord#isPutBack} decides whether a class counts as restored.
     */
    static Restoration run(Instrumentation instrumentation, Transformer transformer, Inventory inventory, BatchSize batchSize) {
        Restoration result = new Restoration();
        for (int look = 0; look < LOOKS && !inventory.findLoaded(instrumentation.getAllLoadedClasses()); look++) {
            pause(BETWEEN_LOOKS_MILLIS);
        }
        List<ClassRecord> records = inventory.woven();
        List<ClassRecord> remaining = records;
        for (int attempt = 0; attempt < ATTEMPTS && !remaining.isEmpty(); attempt++) {
            if (attempt > 0) {
                pause(BETWEEN_ATTEMPTS_MILLIS);
                Platform.needMemory();
            }
            new Retransformer(instrumentation, transformer, batchSize, false).run(remaining);
            remaining = selectExhausted(remaining);
        }
        instrumentation.removeTransformer(transformer);
        for (ClassRecord record : records) {
            result.judge(record);
        }
        return result;
    }

    /** The message RESTORED. */
    Frame frame(int request) {
        Frame frame = new Frame(Frame.RESTORED).u4(request).u4(wovenCount).u4(restoredCount).u4(unloadedCount);
        frame.u4(failures.size());
        for (String[] failure : failures) {
            frame.string(failure[0]).string(failure[1]);
        }
        return frame;
    }

    /** The classes that failed, or that the JVM did not show to the transformer, because memory was short. */
    private static List<ClassRecord> selectExhausted(List<ClassRecord> records) {
        List<ClassRecord> exhausted = new ArrayList<ClassRecord>();
        for (ClassRecord record : records) {
            String failure = record.failure;
            boolean unseen = failure == null && record.restoredHash == null;
            if (record.loaded() != null && (unseen || failure != null && failure.contains("OutOfMemoryError"))) {
                exhausted.add(record);
            }
        }
        return exhausted;
    }

    private void judge(ClassRecord record) {
        wovenCount++;
        if (record.loaded() == null) {
            unloadedCount++;
        } else if (record.failure != null) {
            failures.add(new String[] {record.name, record.failure});
        } else if (record.restoredHash == null) {
            failures.add(new String[] {record.name, "the JVM did not show its class file"});
        } else if (!record.isPutBack()) {
            failures.add(new String[] {record.name, ClassRecord.CHANGED});
            record.woven = false;
        } else {
            restoredCount++;
            record.woven = false;
        }
    }

    private static void pause(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException ignored) {
            // an agent thread does not use its interrupt flag
        }
    }
}
