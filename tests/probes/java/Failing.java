/** Exceptions that are created, thrown or not, and requested garbage collections: a known number of each. */
public final class Failing {
    private Failing() {}

    static final class Late extends RuntimeException {
        Late(int by) {
            super("late by " + by);
        }
    }

    static final class Lost extends Exception {}

    public static void main(String[] arguments) throws Exception {
        Gate.await();
        for (int i = 0; i < 31; i++) {
            try {
                late(i);
            } catch (Late e) {
                Object notThrown = new Lost();
                if (i % 3 == 0) {
                    notThrown.hashCode();
                }
            }
        }
        for (int i = 0; i < 7; i++) {
            collect();
        }
        for (int i = 0; i < 5; i++) {
            collectOtherwise();
        }
        for (int i = 0; i < 3; i++) {
            collectThroughJmx();
        }
        for (int i = 0; i < 11; i++) {
            swallow(i);
        }
        for (int i = 0; i < 13; i++) {
            try {
                passOn(i);
            } catch (Late e) {
                swallowed++;
            }
        }
        for (int i = 0; i < 17; i++) {
            try {
                wrap(i);
            } catch (IllegalStateException e) {
                swallowed++;
            }
        }
        for (int i = 0; i < 3; i++) {
            Thread thread = new Thread(() -> late(1));
            thread.setUncaughtExceptionHandler((where, what) -> {});
            thread.start();
            thread.join();
        }
        System.out.println("done");
        System.out.flush();
        Gate.pass();
    }

    private static void late(int by) {
        throw new Late(by);
    }

    private static void collect() {
        System.gc();
    }

    private static void collectOtherwise() {
        Runtime.getRuntime().gc();
    }

    private static void collectThroughJmx() {
        java.lang.management.ManagementFactory.getMemoryMXBean().gc();
    }

    private static int swallowed;

    private static void swallow(int by) {
        try {
            late(by);
        } catch (Late e) {
            swallowed++;
        }
    }

    private static void passOn(int by) {
        try {
            late(by);
        } catch (Late e) {
            swallowed += e.getMessage().isEmpty() ? 1 : 0;
            throw e;
        } finally {
            swallowed++;
        }
    }

    private static void wrap(int by) {
        try {
            late(by);
        } catch (Late e) {
            throw new IllegalStateException("wrapped", e);
        }
    }
}
