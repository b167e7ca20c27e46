package btpy.handlers;

/**
 * Shows whether a class loader asks the boot loader for classes of this package, in which the handlers of probes are
 * ({@code Handler_} and the hash of their content). On JDK 9 and later it is the only package that the module {@code btpy} exports:
 * code of the application that was woven calls handlers, and nothing else of btpy.
 */
public final class Visibility {
    private Visibility() {
    }
}
