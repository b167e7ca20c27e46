package btpy.runtime;

/**
 * Reads names of loaded classes without leaving strings behind. A class stores its name as a string from the first
 * request until it is unloaded, and the agent reads the name of every class.
 */
public final class ClassNames {
    private static final Memory MEMORY = Memory.instance();
    /** The offset of the name in a class; below 0 if it is not known for this JDK. */
    private static final long NAME = MEMORY.fieldOffset(Class.class, "name");

    private ClassNames() {}

    public static String of(Class<?> type) {
        boolean kept = NAME < 0 || MEMORY.getReference(type, NAME) != null;
        String name = type.getName();
        if (!kept) {
            MEMORY.putReference(type, NAME, null); // the next request creates the string again
        }
        return name;
    }
}
