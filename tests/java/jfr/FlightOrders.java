import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.List;

/** Places orders in rounds, one round for each line on stdin, and tells which of its events JFR knows. */
public final class FlightOrders {
    private static volatile int sink;

    private FlightOrders() {}

    /** Arguments: the number of orders in each round, one argument for each round. */
    public static void main(String[] arguments) throws Exception {
        order(0, "warm-up", 0.0, false, FlightOrders.class, Thread.currentThread(), 'w', 0L);
        Gate.await();
        for (String round : arguments) {
            for (int i = 1; i <= Integer.parseInt(round); i++) {
                order(i, "customer " + i, i / 2.0, i % 2 == 0, List.class, Thread.currentThread(), (char) ('a' + i % 26), i * 1024L);
            }
            System.out.println("done " + round);
            Gate.pass();
        }
        System.out.println("types " + types());
        Gate.pass();
    }

    static int order(
            int number, String customer, double price, boolean express, Class<?> type, Thread thread, char grade, long size) {
        sink += number + customer.length();
        return sink;
    }

    /** The types of events that JFR knows, except those of the JDK. */
    private static List<String> types() throws Exception {
        List<String> names = new ArrayList<>();
        try {
            Class<?> recorder = Class.forName("jdk.jfr.FlightRecorder");
            Object one = recorder.getMethod("getFlightRecorder").invoke(null);
            for (Object type : (List<?>) recorder.getMethod("getEventTypes").invoke(one)) {
                String name = (String) type.getClass().getMethod("getName").invoke(type);
                if (!name.startsWith("jdk.")) {
                    names.add(name);
                }
            }
        } catch (ClassNotFoundException | InvocationTargetException absent) {
            names.add(absent.toString());
        }
        return names;
    }
}
