import org.slf4j.MDC;

/** The MDC of SLF4J, with any implementation, on two threads. */
public final class Diagnostics {
    private Diagnostics() {}

    public static void main(String[] arguments) throws Exception {
        MDC.clear();
        Gate.await();
        Runnable calls = () -> {
            for (int i = 0; i < 17; i++) {
                MDC.put("userId", "u" + i);
                MDC.put("password", "p" + i);
                work("u" + i);
            }
            MDC.remove("userId");
            work(null);
            MDC.clear();
            work(null);
        };
        calls.run();
        Thread thread = new Thread(calls);
        thread.start();
        thread.join();
        System.out.println("done");
        Gate.pass();
    }

    static void work(String user) {}
}
