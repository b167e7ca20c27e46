package btpy.launcher;

import java.lang.instrument.Instrumentation;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A loader to whose module {@code jdk.internal.misc} is exported. It is garbage once the classes are defined; an export to the module
 * of the application would stay.
 */
final class Exported extends ClassLoader {
    Exported(Instrumentation instrumentation) {
        super(null);
        Set<Module> ours = Collections.singleton(getUnnamedModule());
        Map<String, Set<Module>> exports = new HashMap<String, Set<Module>>();
        exports.put("jdk.internal.misc", ours);
        instrumentation.redefineModule(Object.class.getModule(), new HashSet<Module>(), exports,
            new HashMap<String, Set<Module>>(), new HashSet<Class<?>>(), new HashMap<Class<?>, List<Class<?>>>());
    }

    Class<?> define(byte[] data) {
        return defineClass(null, data, 0, data.length);
    }
}
