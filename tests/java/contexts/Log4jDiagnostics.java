import org.apache.logging.log4j.ThreadContext;

/** The thread context of Log4j 2, on two threads. */
public final class Log4jDiagnostics {
    private Log4jDiagnostics() {}

    public static void main(String[] arguments) throws Exception {
        ThreadContext.clearMap();
        Gate.await();
        Runnable calls = () -> {
            for (int i = 0; i < 17; i++) {
                ThreadContext.put("other", "o" + i);
                ThreadContext.put("userId", "u" + i);
                work("u" + i);
            }
            ThreadContext.remove("userId");
            work(null);
            ThreadContext.clearMap();
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
