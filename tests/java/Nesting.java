/** Calls within calls: some twice, some recursive, some that end by an exception. */
public class Nesting {
    private static volatile int sink;

    public static void main(String[] arguments) {
        Gate.await();
        for (int i = 0; i < 7; i++) {
            outer();
        }
        System.out.println("done");
        Gate.pass();
    }

    static void outer() {
        work();
        inner();
        inner();
        try {
            falling(2);
        } catch (IllegalStateException expected) {
            sink++;
        }
    }

    static void inner() {
        work();
    }

    static void falling(int further) {
        work();
        if (further == 0) {
            throw new IllegalStateException();
        }
        falling(further - 1);
    }

    private static void work() {
        for (int i = 0; i < 20_000; i++) {
            sink += i;
        }
    }
}
