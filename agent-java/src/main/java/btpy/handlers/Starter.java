package btpy.handlers;

import btpy.agent.Agent;
import java.lang.instrument.Instrumentation;

/**
 * Starts the agent for the launcher. It is the only class of this package that the client does not generate. The others
 * are handlers ({@code Handler_} and the hash of their content). On JDK 9 and later the module {@code btpy} exports
 * only this package. If a class loader finds this class, code of its classes can call handlers.
 */
public final class Starter {
    private Starter() {
    }

    /** Starts the agent for a caller that has an {@code Instrumentation} of the JVM. For other callers it does nothing. */
    public static void start(String options, Instrumentation instrumentation) {
        if (instrumentation != null) {
            Class<?> type = instrumentation.getClass();
            if (type.getClassLoader() == null && type.getName().equals("sun.instrument.InstrumentationImpl")) {
                Agent.start(options, instrumentation);
            }
        }
    }
}
