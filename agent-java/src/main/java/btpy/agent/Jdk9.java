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

    /** Exports packages of java.base to the module of the agent. */
    static void export(Instrumentation instrumentation, String... packages) {
        Set<Module> ours = Collections.singleton(Jdk9.class.getModule());
        Map<String, Set<Module>> exports = new HashMap<String, Set<Module>>();
        for (String each : packages) {
            exports.put(each, ours);
        }
        instrumentation.redefineModule(Object.class.getModule(), new HashSet<Module>(), exports,
            new HashMap<String, Set<Module>>(), new HashSet<Class<?>>(), new HashMap<Class<?>, java.util.List<Class<?>>>());
    }

    /** Lets a module use the handlers, which are in the module of the agent. Unnamed modules can from the start. */
    static void read(Instrumentation instrumentation, Module module) {
        Module ours = Jdk9.class.getModule();
        if (module != null && module.isNamed() && !module.canRead(ours)) {
            instrumentation.redefineModule(ours, new HashSet<Module>(), Collections.singletonMap("btpy.handlers", Collections.singleton(module)),
                new HashMap<String, Set<Module>>(), new HashSet<Class<?>>(), new HashMap<Class<?>, java.util.List<Class<?>>>());
            instrumentation.redefineModule(module, Collections.singleton(ours), new HashMap<String, Set<Module>>(),
                new HashMap<String, Set<Module>>(), new HashSet<Class<?>>(), new HashMap<Class<?>, java.util.List<Class<?>>>());
        }
    }

    static void readFromBase(Instrumentation instrumentation) {
        read(instrumentation, Object.class.getModule());
    }

    static Transformer transformer(Instrumentation instrumentation, Inventory inventory, Questions questions, Foreseen foreseen, Sites sites,
        Outbox outbox, Link link, Sweeper sweeper, int deadlineMillis, boolean keeps) {
        return new ModuleTransformer(instrumentation, inventory, questions, foreseen, sites, outbox, link, sweeper, deadlineMillis, keeps);
    }

    static int pid() {
        return (int) ProcessHandle.current().pid();
    }
}
