package btpy.runtime;

/** Counts errors of probes by probe, position and kind, in a bounded table without locks. */
final class ErrorTable {
    private static final Memory MEMORY = Memory.instance();
    private static final long COUNT = MEMORY.fieldOffset(Failure.class, "count");
    private static final long DETAIL = MEMORY.fieldOffset(Throwable.class, "detailMessage");
    private static final int SIZE = 1024;
    private static final int WINDOW = 32;

    private static final class Failure {
        final int probe;
        final int position;
        final int kind;
        /** Code changes it with atomic operations at its field offset. */
        long count;
        /** The type of the last failure. Its text is created when it is shipped. */
        Class<?> type;
        String message;
        long shippedCount;

        Failure(int probe, int position, int kind) {
            this.probe = probe;
            this.position = position;
            this.kind = kind;
        }
    }

    private final Object[] failures = new Object[SIZE];

    /** @param cause null if the kind alone describes the error */
    void count(int probe, int position, int kind, Throwable cause) {
        count(probe, position, kind, cause, 1);
    }

    /** Counts errors. The counting is the last call, so that an error that is interrupted earlier is not counted. */
    void count(int probe, int position, int kind, Throwable cause, long times) {
        int hash = (probe * 31 + position) * 31 + kind;
        hash ^= hash >>> 15;
        for (int i = 0; i < WINDOW; i++) {
            int at = hash + i & SIZE - 1;
            Failure failure = (Failure) failures[at];
            if (failure == null) {
                long offset = Memory.REFERENCE_BASE + (long) Memory.REFERENCE_SCALE * at;
                MEMORY.compareAndSetReference(failures, offset, null, new Failure(probe, position, kind));
                failure = (Failure) MEMORY.getReferenceVolatile(failures, offset);
            }
            if (failure.probe == probe && failure.position == position && failure.kind == kind) {
                if (cause != null) {
                    failure.message = (String) MEMORY.getReference(cause, DETAIL);
                    failure.type = cause.getClass();
                }
                MEMORY.getAndAddLong(failure, COUNT, times);
                return;
            }
        }
    }

    static int kindOf(Throwable t) {
        if (t instanceof ProbeError) {
            return ((ProbeError) t).kind;
        }
        if (t instanceof ArithmeticException) {
            return ProbeError.KIND_DIV_ZERO;
        }
        if (t instanceof ClassCastException) {
            return ProbeError.KIND_BAD_CAST;
        }
        return t instanceof StackOverflowError ? ProbeError.KIND_DEPTH : ProbeError.INTERNAL;
    }

    /** Called only by the event thread. @return the payload of ERRORS with the errors since the last call, or null */
    byte[] take() {
        Output out = new Output();
        int countAt = out.skip4();
        int rows = 0;
        for (Object entry : failures) {
            Failure failure = (Failure) entry;
            if (failure == null) {
                continue;
            }
            long count = MEMORY.getLongVolatile(failure, COUNT);
            if (count == failure.shippedCount) {
                continue;
            }
            out.u4(failure.probe);
            out.u4(failure.position);
            out.u1(failure.kind);
            out.u8(count - failure.shippedCount);
            out.string(text(failure));
            failure.shippedCount = count;
            rows++;
        }
        out.set4(countAt, rows);
        return rows == 0 ? null : out.toBytes();
    }

    private static String text(Failure failure) {
        Class<?> type = failure.type;
        String message = failure.message;
        if (type == null) {
            return "";
        }
        if (message != null && message.length() > 1000) {
            message = message.substring(0, 1000);
        }
        if (type == ProbeError.class) {
            return message == null ? "" : message;
        }
        return message == null ? type.getName() : type.getName() + ": " + message;
    }
}
