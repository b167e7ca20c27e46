package btpy.agent;

import java.security.ProtectionDomain;

/**
 * The transformer of JDK 9 and later. Woven code calls handlers, which are in the module {@code btpy}: the module of a woven class
 * must read that, as unnamed modules do of their own accord.
 */
final class ModuleTransformer extends Transformer {
    ModuleTransformer(Inventory inventory, Questions questions, PrewovenClasses prewoven, Sites sites, Outbox outbox, Link link, Sweeper sweeper,
        int deadlineMillis, boolean keeps) {
        super(inventory, questions, prewoven, sites, outbox, link, sweeper, deadlineMillis, keeps);
    }

    @Override
    public byte[] transform(Module module, ClassLoader loader, String internalName, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        byte[] changed = transform(loader, internalName, redefined, domain, bytes);
        if (changed != null) {
            try {
                Jdk9.read(module);
            } catch (Throwable unexpected) { // the end of the stack, above all: the class stays as it is
                return null;
            }
        }
        return changed;
    }
}
