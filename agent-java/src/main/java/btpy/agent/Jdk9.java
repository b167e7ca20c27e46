package btpy.agent;

import java.lang.instrument.Instrumentation;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import jdk.internal.module.Modules;

/**
 * Code that needs JDK 9. It is linked only there, and does not use reflection, whose first use loads dozens of classes
 * into the target.
 */
final class Jdk9 {
    private Jdk9() {
    }

    /** Exports packages of java.base to the module of the agent. */
    static void export(Instrumentation instrumentation, String... packages) {
        Set<Module> ownModules = Collections.singleton(Jdk9.class.getModule());
        Map<String, Set<Module>> exports = new HashMap<String, Set<Module>>();
        for (String name : packages) {
            exports.put(name, ownModules);
        }
        instrumentation.redefineModule(Object.class.getModule(), new HashSet<Module>(), exports,
            new HashMap<String, Set<Module>>(), new HashSet<Class<?>>(), new HashMap<Class<?>, java.util.List<Class<?>>>());
    }

    /**
     * Lets a module use the handlers, which are in the module of the agent. Unnamed modules can use them from the
     * start.
     */
    static void read(Module module) {
        Module ownModule = Jdk9.class.getModule();
        if (module != null && module.isNamed() && !module.canRead(ownModule)) {
            Modules.addExports(ownModule, "btpy.handlers", module);
            Modules.addReads(module, ownModule);
        }
    }

    /** Lets the module of a class access all members of the handlers, as JFR does with the classes of events. */
    static void openHandlers(Class<?> user) {
        Module ownModule = Jdk9.class.getModule();
        Modules.addReads(ownModule, user.getModule());
        Modules.addOpens(ownModule, "btpy.handlers", user.getModule());
    }

    static int pid() {
        return (int) ProcessHandle.current().pid();
    }
}
