import com.sun.jdi.Bootstrap;
import com.sun.jdi.Method;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.Connector;
import com.sun.jdi.connect.LaunchingConnector;
import com.sun.jdi.event.Event;
import com.sun.jdi.event.EventSet;
import com.sun.jdi.event.MethodEntryEvent;
import com.sun.jdi.event.MethodExitEvent;
import com.sun.jdi.event.VMDisconnectEvent;
import com.sun.jdi.request.EventRequest;
import com.sun.jdi.request.EventRequestManager;
import com.sun.jdi.request.MethodEntryRequest;
import com.sun.jdi.request.MethodExitRequest;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.util.Map;
import java.util.TreeMap;

/**
 * Runs RunShapes under the Java Debug Interface and prints how often each method of the shapes was entered and
 * returned: {@code counted TYPE METHOD entries returns}. These counts do not depend on btpy. The debugger reports the
 * entry of a constructor before super(…), and no exit by an exception. This class leaves out bridges.
 *
 * <p>Arguments: class path, and the arguments of RunShapes.
 */
public final class CountWithDebugger {
    private final Map<String, long[]> counts = new TreeMap<>();

    private CountWithDebugger() {}

    public static void main(String[] arguments) throws Exception {
        new CountWithDebugger().run(arguments[0], arguments[1]);
    }

    private void run(String classPath, String options) throws Exception {
        LaunchingConnector connector = Bootstrap.virtualMachineManager().defaultConnector();
        Map<String, Connector.Argument> settings = connector.defaultArguments();
        settings.get("main").setValue("RunShapes " + options);
        settings.get("options").setValue("-cp " + classPath);
        VirtualMachine machine = connector.launch(settings);
        Thread gatekeeper = new Thread(() -> passGates(machine));
        gatekeeper.start();
        machine.resume();
        boolean running = true;
        while (running) {
            EventSet events = machine.eventQueue().remove();
            for (Event event : events) {
                if (event instanceof MethodEntryEvent) {
                    count(((MethodEntryEvent) event).method(), 0);
                } else if (event instanceof MethodExitEvent) {
                    count(((MethodExitEvent) event).method(), 1);
                } else if (event instanceof VMDisconnectEvent) {
                    running = false;
                }
            }
            events.resume();
        }
        gatekeeper.join();
        counts.forEach((name, count) -> System.out.println("counted " + name + " " + count[0] + " " + count[1]));
    }

    private void count(Method method, int which) {
        if (method.isBridge()) {
            return;
        }
        counts.computeIfAbsent(method.declaringType().name() + " " + method.name(), unused -> new long[2])[which]++;
    }

    /** Starts to count when the program is at its first gate, and lets it end when it is at its second. */
    private static void passGates(VirtualMachine machine) {
        Process process = machine.process();
        try (BufferedReader out = new BufferedReader(new InputStreamReader(process.getInputStream()));
                OutputStream in = process.getOutputStream()) {
            String line;
            while ((line = out.readLine()) != null) {
                if (line.equals("ready")) {
                    request(machine, "Shapes");
                    request(machine, "Shapes$*");
                }
                if (line.equals("ready") || line.equals("done")) {
                    in.write('\n');
                    in.flush();
                }
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void request(VirtualMachine machine, String classes) {
        EventRequestManager manager = machine.eventRequestManager();
        MethodEntryRequest entries = manager.createMethodEntryRequest();
        entries.addClassFilter(classes);
        entries.setSuspendPolicy(EventRequest.SUSPEND_NONE);
        entries.enable();
        MethodExitRequest exits = manager.createMethodExitRequest();
        exits.addClassFilter(classes);
        exits.setSuspendPolicy(EventRequest.SUSPEND_NONE);
        exits.enable();
    }
}
