import java.net.InetAddress;
import java.net.UnknownHostException;
import java.security.Security;

/** Looks up names: the JDK finds them in a file, and keeps no answer. */
public final class Naming {
    private Naming() {}

    public static void main(String[] arguments) throws Exception {
        Security.setProperty("networkaddress.cache.ttl", "0");
        Security.setProperty("networkaddress.cache.negative.ttl", "0");
        Gate.await();
        int found = 0;
        for (int i = 0; i < 29; i++) {
            found += lookUp("prices.test");
        }
        for (int i = 0; i < 13; i++) {
            found += lookUp("stock.test");
        }
        for (int i = 0; i < 17; i++) {
            found += lookUp("gone.test");
        }
        for (int i = 0; i < 11; i++) {
            found += lookUp("127.0.0.1");
        }
        System.out.println("found " + found);
        System.out.println("done");
        System.out.flush();
        Gate.pass();
    }

    private static int lookUp(String name) {
        try {
            return InetAddress.getAllByName(name).length;
        } catch (UnknownHostException e) {
            return 0;
        }
    }
}
