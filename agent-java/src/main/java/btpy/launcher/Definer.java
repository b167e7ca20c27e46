package btpy.launcher;

import java.lang.instrument.Instrumentation;
import java.lang.module.ModuleDescriptor;
import java.util.Arrays;
import java.util.HashSet;
import java.util.function.Consumer;
import jdk.internal.misc.Unsafe;
import jdk.internal.module.Modules;

/**
 * Defines class files in the boot loader, on JDK 9 and later. Lives in a loader of the launcher's, to which what it needs is exported.
 *
 * <p>The class files belong to a module, {@code btpy}. Were they in the unnamed module of the boot loader, every application could
 * reach into them by reflection, and define classes beside them. The module exports the handlers alone and opens nothing.
 */
public final class Definer implements Runnable, Consumer<byte[]> {
    public Definer() {
    }

    /** To be called before a class file is defined. Throws IllegalArgumentException when the module is there. */
    @Override
    public void run() {
        ModuleDescriptor descriptor = ModuleDescriptor.newModule("btpy")
            .packages(new HashSet<String>(Arrays.asList("btpy.agent", "btpy.runtime", "btpy.handlers")))
            .build();
        Module module = Modules.defineModule(null, descriptor, null);
        Modules.addExportsToAllUnnamed(module, "btpy.handlers"); // to named ones when a class of theirs is woven
        Modules.addReadsAllUnnamed(module);
        Modules.addReads(module, Instrumentation.class.getModule()); // not of the boot layer where an application is a module
        for (Module other : ModuleLayer.boot().modules()) { // whatever has a class that a probe looks at
            Modules.addReads(module, other);
        }
    }

    /** Defines a class file. */
    @Override
    public void accept(byte[] data) {
        Unsafe.getUnsafe().defineClass(null, data, 0, data.length, null, null);
    }
}
