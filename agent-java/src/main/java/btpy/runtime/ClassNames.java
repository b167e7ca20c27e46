package btpy.runtime;

/**
 * Names of loaded classes, without what asking for one leaves behind: a class keeps its name as a string from when it was first asked
 * until it is unloaded, and the agent asks every class that there is.
 */
public final class ClassNames {
    private static final Memory MEMORY = Memory.instance();
    /** Where a class keeps its name; below 0: this JDK does not tell. */
    private static final long NAME = MEMORY.fieldOffset(Class.class, "name");

    private ClassNames() {}

    public static String of(Class<?> type) {
        boolean kept = NAME < 0 || MEMORY.getReference(type, NAME) != null;
        String name = type.getName();
        if (!kept) {
            MEMORY.putReference(type, NAME, null); // who asks next has it made again
        }
        return name;
    }
}
