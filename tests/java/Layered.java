import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.Callable;

/**
 * An application calls a platform through a proxy, and the platform calls a driver, with many frames of a framework
 * between. Each place of the application makes a known number of calls and exceptions.
 */
public final class Layered {
    private Layered() {}

    /** The method with a probe. */
    static final class Driver {
        private Driver() {}

        static int execute(int number) {
            if (number % 7 == 3) {
                throw new IllegalStateException("no " + number);
            }
            return number;
        }
    }

    /** Stands for a framework. btpy recognises it only if the user names it. */
    static final class Platform {
        private Platform() {}

        static int call(int frames, Callable<Integer> work) throws Exception {
            return frames == 0 ? work.call() : call(frames - 1, work);
        }

        static int query(int frames, int number) throws Exception {
            return call(frames, () -> Driver.execute(number));
        }

        static Repository repository() {
            return (Repository) Proxy.newProxyInstance(
                    Repository.class.getClassLoader(), new Class<?>[] {Repository.class},
                    (proxy, method, arguments) -> query(60, (Integer) arguments[0]));
        }
    }

    interface Repository {
        int find(int number);
    }

    private static final Repository REPOSITORY = Platform.repository();

    public static void main(String[] arguments) throws Exception {
        Driver.execute(1);
        Gate.await();
        int failures = 0;
        for (int i = 0; i < 13; i++) {
            failures += first(i);
        }
        for (int i = 0; i < 31; i++) {
            failures += second(i);
        }
        List.of(1, 2, 3, 4, 5).forEach(Layered::find);
        Platform.query(300, 1);
        System.out.println("done " + failures);
        System.out.flush();
        Gate.pass();
    }

    private static int first(int number) {
        return find(number);
    }

    private static int second(int number) {
        return find(number);
    }

    private static int find(int number) {
        try {
            REPOSITORY.find(number);
            return 0;
        } catch (IllegalStateException e) {
            return 1;
        }
    }
}
