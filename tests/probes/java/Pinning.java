import java.util.concurrent.locks.LockSupport;

/** Virtual threads that wait while they are pinned: in a synchronized block, and in a static initializer. */
public final class Pinning {
    private Pinning() {}

    public static void main(String[] arguments) throws Exception {
        Gate.await();
        for (int i = 0; i < 13; i++) {
            run(Pinning::inABlock);
        }
        run(() -> First.touch());
        run(() -> Second.touch());
        run(() -> Third.touch());
        for (int i = 0; i < 17; i++) {
            run(Pinning::free);
        }
        System.out.println("done");
        System.out.flush();
        Gate.pass();
    }

    private static void run(Runnable work) throws Exception {
        ((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work)).join();
    }

    private static void inABlock() {
        synchronized (Pinning.class) {
            LockSupport.parkNanos(2_000_000);
        }
    }

    private static void free() {
        LockSupport.parkNanos(2_000_000);
    }

    static void initialize() {
        LockSupport.parkNanos(30_000_000);
    }

    static final class First {
        static {
            initialize();
        }

        static void touch() {}
    }

    static final class Second {
        static {
            initialize();
        }

        static void touch() {}
    }

    static final class Third {
        static {
            initialize();
        }

        static void touch() {}
    }
}
