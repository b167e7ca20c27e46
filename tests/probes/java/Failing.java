/** Exceptions that are made, thrown or not, and collections that are asked for: a known number of each. */
public final class Failing {
    private Failing() {}

    static final class Late extends RuntimeException {
        Late(int by) {
            super("late by " + by);
        }
    }

    static final class Lost extends Exception {}

    public static void main(String[] arguments) {
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
}
