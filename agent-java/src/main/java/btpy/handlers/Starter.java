package btpy.handlers;

import btpy.agent.Agent;
import java.lang.instrument.Instrumentation;

/**
 * The way from outside to the agent, and the one class of this package that is not made by the client: the others are handlers
 * ({@code Handler_} and the hash of their content). On JDK 9 and later the package is the only one that the module {@code btpy} exports.
 * Whether a class loader finds this class shows whether the code of its classes can call handlers.
 */
public final class Starter {
    private Starter() {
    }

    /** Starts the agent for a caller that has an {@code Instrumentation} of the JVM. For any other it does nothing. */
    public static void start(String options, Instrumentation instrumentation) {
        if (instrumentation != null) {
            Class<?> type = instrumentation.getClass();
            if (type.getClassLoader() == null && type.getName().equals("sun.instrument.InstrumentationImpl")) {
                Agent.start(options, instrumentation);
            }
        }
    }
}
