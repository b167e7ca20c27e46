import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.List;

/**
 * Places as many orders as a line of its standard input says. The line {@code types} asks for the types of events that JFR
 * knows.
 */
public final class FlightOrders {
    private static volatile int sink;

    private FlightOrders() {}

    public static void main(String[] arguments) throws Exception {
        order(0, "warm-up", 0.0, false, FlightOrders.class, Thread.currentThread(), 'w', 0L);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            if (line.equals("types")) {
                System.out.println("types " + types());
                continue;
            }
            for (int i = 1; i <= Integer.parseInt(line); i++) {
                order(i, "customer " + i, i / 2.0, i % 2 == 0, List.class, Thread.currentThread(), (char) ('a' + i % 26), i * 1024L);
            }
            System.out.println("done " + line);
        }
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
