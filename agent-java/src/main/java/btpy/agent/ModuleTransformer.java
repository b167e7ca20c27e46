package btpy.agent;

import java.security.ProtectionDomain;

/**
 * The transformer of JDK 9 and later. Woven code calls handlers, which are in the module {@code btpy}: the module of a
 * woven class must read it. Unnamed modules do this automatically.
 */
final class ModuleTransformer extends Transformer {
    ModuleTransformer(Inventory inventory, Questions questions, PrewovenClasses prewoven, Sites sites, Outbox outbox, Link link, Sweeper sweeper,
        int deadlineMillis, boolean keeps) {
        super(inventory, questions, prewoven, sites, outbox, link, sweeper, deadlineMillis, keeps);
    }

    @Override
    public byte[] transform(Module module, ClassLoader loader, String internalName, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        byte[] newBytes = transform(loader, internalName, redefined, domain, bytes);
        if (newBytes != null) {
            try {
                Jdk9.read(module);
            } catch (Throwable ignored) { // usually a stack overflow: the class stays unchanged
                return null;
            }
        }
        return newBytes;
    }
}
