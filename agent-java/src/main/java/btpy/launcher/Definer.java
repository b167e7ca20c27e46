package btpy.launcher;

import java.lang.instrument.Instrumentation;
import java.lang.module.ModuleDescriptor;
import java.util.Arrays;
import java.util.HashSet;
import java.util.function.Consumer;
import jdk.internal.misc.Unsafe;
import jdk.internal.module.Modules;

/**
 * Defines class files in the boot loader, on JDK 9 and later. The launcher defines this class in a loader of its own.
 * The JDK exports the packages that the class needs to the module of this loader.
 *
 * <p>The class files belong to a module, {@code btpy}. In the unnamed module of the boot loader every application could
 * access them by reflection, and define classes in their packages. The module exports only the handlers and opens
 * nothing, until a script with events of JFR opens the handlers to the module jdk.jfr.
 */
public final class Definer implements Runnable, Consumer<byte[]> {
    public Definer() {
    }

    /**
     * Defines the module. Call this method before {@link #accept}. Throws IllegalArgumentException if the module
     * exists.
     */
    @Override
    public void run() {
        ModuleDescriptor descriptor = ModuleDescriptor.newModule("btpy")
            .packages(new HashSet<String>(Arrays.asList("btpy.agent", "btpy.runtime", "btpy.handlers")))
            .build();
        Module module = Modules.defineModule(null, descriptor, null);
        Modules.addExportsToAllUnnamed(module, "btpy.handlers"); // exported to named modules when a class of theirs is woven
        Modules.addReadsAllUnnamed(module);
        Modules.addReads(module, Instrumentation.class.getModule()); // the boot layer may lack it
        for (Module other : ModuleLayer.boot().modules()) { // the modules of all classes that a probe may use
            Modules.addReads(module, other);
        }
    }

    /** Defines a class file. */
    @Override
    public void accept(byte[] data) {
        Unsafe.getUnsafe().defineClass(null, data, 0, data.length, null, null);
    }
}
