import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** Platform threads, started by the program and by an executor. The argument is the number of virtual threads. */
public final class Starting {
    private Starting() {}

    public static void main(String[] arguments) throws Exception {
        int virtual = Integer.parseInt(arguments[0]);
        Gate.await();
        for (int i = 0; i < 13; i++) {
            Thread thread = new Thread(() -> {}, "one of 13");
            thread.start();
            thread.join();
        }
        ExecutorService pool = Executors.newFixedThreadPool(7);
        for (int i = 0; i < 31; i++) {
            pool.submit(() -> {}).get();
        }
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.MINUTES);
        if (virtual > 0) {
            ExecutorService light = (ExecutorService)
                    Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
            for (int i = 0; i < virtual; i++) {
                light.submit(() -> {}).get();
            }
            light.shutdown();
            light.awaitTermination(1, TimeUnit.MINUTES);
        }
        System.out.println("done");
        System.out.flush();
        Gate.pass();
    }
}
