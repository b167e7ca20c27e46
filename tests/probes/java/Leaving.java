/** Adds shutdown hooks and ends with an exit code, or, with an argument, at the end of its last thread. */
public final class Leaving {
    private Leaving() {}

    public static void main(String[] arguments) throws Exception {
        Gate.await();
        for (int i = 0; i < 3; i++) {
            Runtime.getRuntime().addShutdownHook(new Thread(Leaving::cleanUp, "cleaner-" + i));
        }
        System.out.println("done");
        System.out.flush();
        Gate.pass();
        if (arguments.length == 0) { leave(); }
    }

    private static void leave() {
        System.exit(7);
    }

    private static void cleanUp() {
        try {
            Thread.sleep(50);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
