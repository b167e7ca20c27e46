import io.opentelemetry.context.ThreadLocalContextStorage;
import org.slf4j.MDC;

/** Calls with libraries of unknown versions. */
public final class Unknown {
    private Unknown() {}

    public static void main(String[] arguments) throws Exception {
        MDC.put();
        ThreadLocalContextStorage.attach();
        System.out.println("ready");
        System.in.read();
        for (int i = 0; i < 13; i++) {
            work();
        }
        System.out.println("done");
        System.in.read();
    }

    static void work() {}
}
