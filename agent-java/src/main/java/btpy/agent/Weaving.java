package btpy.agent;

import java.lang.instrument.Instrumentation;
import java.util.List;

/** Changes classes for a session: registers the transformer, retransforms classes, and puts them back once at the end. */
final class Weaving {
    private final Instrumentation instrumentation;
    private final Transformer transformer;
    private final Inventory inventory;
    private final Questions questions;
    private final PrewovenClasses prewoven;
    private final BatchSize batchSize;
    private boolean listening;
    private volatile Restoration restoration;

    Weaving(Instrumentation instrumentation, Transformer transformer, Inventory inventory, Questions questions, PrewovenClasses prewoven,
        BatchSize batchSize) {
        this.instrumentation = instrumentation;
        this.transformer = transformer;
        this.inventory = inventory;
        this.questions = questions;
        this.prewoven = prewoven;
        this.batchSize = batchSize;
    }

    /** Called when the client can answer questions about classes. */
    synchronized void ask() {
        if (restoration == null) {
            questions.open();
        }
    }

    /** Registers the transformer before the first class is woven. */
    synchronized void listen() throws Exception {
        if (!listening && restoration == null) {
            listening = true;
            Warmup.run(instrumentation);
            instrumentation.addTransformer(transformer, true);
        }
    }

    /**
     * Weaves loaded classes. {@link ClassRecord#failure} contains the result of each. Putting classes back waits until
     * this call ends.
     */
    synchronized Retransformer retransform(List<ClassRecord> records, boolean losesNames) {
        Retransformer retransformer = new Retransformer(instrumentation, transformer, batchSize, losesNames);
        if (restoration == null) {
            retransformer.run(records);
            return retransformer;
        }
        for (ClassRecord record : records) {
            record.failure = "the session has put its classes back";
        }
        return retransformer;
    }

    /** Puts every class back at the first call. Returns the outcome at every call. */
    Restoration restore(boolean exiting) {
        transformer.restore();
        questions.close();
        prewoven.close();
        synchronized (this) {
            if (restoration == null) {
                restoration = exiting
                    ? new Restoration() // no class is put back
                    : Restoration.run(instrumentation, transformer, inventory, batchSize);
            }
            return restoration;
        }
    }

    boolean isRestored() {
        return restoration != null;
    }
}
