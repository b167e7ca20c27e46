package btpy.runtime;

/** An error of a probe, by kind. Each kind has one instance without a stack, so that failing costs as little as firing. */
public final class ProbeError extends RuntimeException {
    private static final long serialVersionUID = 1L;

    static final int INTERNAL = 0;
    static final int KIND_NULL_OPERAND = 1;
    static final int KIND_BAD_CAST = 2;
    static final int KIND_INDEX = 3;
    static final int KIND_DIV_ZERO = 4;
    static final int KIND_BUDGET = 5;
    static final int KIND_MAP_FULL = 6;
    static final int KIND_RING_FULL = 7;
    static final int KIND_DEPTH = 8;
    static final int KIND_NOT_ALLOWED = 9;
    static final int KIND_NULL_SAMPLE = 10;
    static final int KIND_NO_FIELD = 11;
    static final int KIND_CUT = 12;
    static final int KIND_FEWER_SAMPLES = 13;
    static final int KIND_NO_CONTEXT = 14;
    static final int KIND_STATE_FULL = 15;

    private static final String[] NAMES = {
        "internal", "null-operand", "bad-cast", "index", "div-zero", "budget", "map-full", "ring-full", "depth", "not-allowed",
        "null-sample", "no-field", "cut", "fewer-samples", "no-context", "state-full",
    };

    static final ProbeError NULL_OPERAND = new ProbeError(KIND_NULL_OPERAND, "null operand");
    static final ProbeError BAD_CAST = new ProbeError(KIND_BAD_CAST, "bad cast");
    static final ProbeError DIV_ZERO = new ProbeError(KIND_DIV_ZERO, "division by zero");
    static final ProbeError INDEX = new ProbeError(KIND_INDEX, "index out of range");
    static final ProbeError BUDGET = new ProbeError(KIND_BUDGET, "budget");

    /** The kind, as in ERRORS of the wire protocol. */
    final int kind;

    private ProbeError(int kind, String message) {
        super(message, null, false, false);
        this.kind = kind;
    }

    static ProbeError notAllowed(String className, String allowList) {
        return new ProbeError(KIND_NOT_ALLOWED,
                Calls.name(allowList).concat("() may not be called on ").concat(className));
    }

    /** Reports that a method that the script called has thrown. */
    static ProbeError failedCall(String method, Throwable failure) {
        String message = Dynamic.message(failure);
        String text = method.concat("() threw ").concat(failure.getClass().getName());
        return new ProbeError(INTERNAL, message == null ? text : text.concat(": ").concat(message));
    }

    /** Reports that threads are sampled less often than the script requests, because sampling costs too much. */
    static ProbeError fewerSamples(String why) {
        return new ProbeError(KIND_FEWER_SAMPLES, why);
    }

    /** Reports that the context of a thread cannot be read. Its value is null, and the firing continues. */
    static ProbeError noContext(String why) {
        return new ProbeError(KIND_NO_CONTEXT, why);
    }

    /** The name of a kind in scripts and messages. */
    public static String name(int kind) {
        return kind >= 0 && kind < NAMES.length ? NAMES[kind] : NAMES[INTERNAL];
    }

    /** Reports that a script requested a field that no class of the object has. */
    static ProbeError noField(String className, String field) {
        return new ProbeError(KIND_NO_FIELD, className.concat(" has no field ").concat(field));
    }
}
