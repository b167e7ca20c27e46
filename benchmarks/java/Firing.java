import java.util.concurrent.locks.LockSupport;

/** Calls {@link #fire} at a rate, with the time of the call, while a number of other threads compute. */
public class Firing {
    static volatile long sink;

    static void fire(long at) {
        sink = at;
    }

    public static void main(String[] arguments) {
        long pause = 1_000_000_000L / Long.parseLong(arguments[0]);
        for (int i = 0; i < Integer.parseInt(arguments[1]); i++) {
            Thread busy = new Thread(() -> {
                for (long n = 0; ; n++) {
                    sink = n;
                }
            });
            busy.setDaemon(true);
            busy.start();
        }
        System.out.println("ready");
        for (long next = System.nanoTime(); ; next += pause) {
            LockSupport.parkNanos(next - System.nanoTime());
            fire(System.nanoTime());
        }
    }
}
