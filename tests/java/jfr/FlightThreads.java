import java.util.ArrayList;
import java.util.List;

/** Calls {@code work} on platform threads and on virtual threads. */
public final class FlightThreads {
    private static volatile int sink;

    private FlightThreads() {}

    /** Arguments: the number of threads of each kind, and of the calls of each. */
    public static void main(String[] arguments) throws Exception {
        int calls = Integer.parseInt(arguments[1]);
        Gate.await();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(arguments[0]); i++) {
            Runnable work = () -> repeat(calls);
            Thread platform = new Thread(work, "platform " + i);
            platform.start();
            threads.add(platform);
            threads.add((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("done");
        Gate.pass();
    }

    private static void repeat(int calls) {
        for (int i = 0; i < calls; i++) {
            work(i);
            Thread.yield();
        }
    }

    static void work(int number) {
        sink = number;
    }
}
