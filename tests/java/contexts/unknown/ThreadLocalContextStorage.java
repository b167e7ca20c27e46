package io.opentelemetry.context;

/** A storage of a version that does not exist, with a context that no version has. */
public final class ThreadLocalContextStorage {
    private static final ThreadLocal<Object> THREAD_LOCAL_STORAGE = new ThreadLocal<>();

    private ThreadLocalContextStorage() {}

    public static void attach() {
        THREAD_LOCAL_STORAGE.set(new TreeContext());
    }

    static final class TreeContext {
        final Object[] entries = {};
    }
}
