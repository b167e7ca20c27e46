package btpy.agent;

import java.lang.instrument.Instrumentation;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** What needs JDK 9. Linked only there, and without reflection, whose first use costs the target dozens of classes. */
final class Jdk9 {
    private Jdk9() {
    }

    /** Exports packages of java.base to the module of the agent, the unnamed module of the boot loader. */
    static void export(Instrumentation instrumentation, String... packages) {
        Set<Module> ours = Collections.singleton(Jdk9.class.getModule());
        Map<String, Set<Module>> exports = new HashMap<String, Set<Module>>();
        for (String each : packages) {
            exports.put(each, ours);
        }
        instrumentation.redefineModule(Object.class.getModule(), new HashSet<Module>(), exports,
            new HashMap<String, Set<Module>>(), new HashSet<Class<?>>(), new HashMap<Class<?>, java.util.List<Class<?>>>());
    }

    static int pid() {
        return (int) ProcessHandle.current().pid();
    }
}
