package btpy.runtime;

/** Reads fields of objects by name, independent of their access modifiers and including those of superclasses. */
public final class Fields {
    private static final Object[] NO_ARGUMENTS = {};

    private Fields() {}

    /**
     * Reads a field, boxed as Long, Double, Boolean or Character. Returns null for a null target.
     *
     * @throws ProbeError if no class of the target has such a field
     */
    public static Object read(Object target, String name) {
        if (target == null) {
            return null;
        }
        if (target.getClass().isArray() && Strings.equal(name, "length")) {
            return Long.valueOf(Values.length(target));
        }
        Layout layout = Layouts.of(target);
        int field = layout.find(name);
        if (field < 0) {
            throw ProbeError.noField(target.getClass().getName(), name);
        }
        return layout.read(target, field);
    }

    /** Returns the field, or the result of the getter if the class has no such field and the getter is allowed. */
    public static Object property(Object target, String name, String allowList) {
        return target == null || Layouts.of(target).find(name) >= 0 || !Calls.has(target, allowList)
                ? read(target, name)
                : Calls.call(target, allowList, NO_ARGUMENTS);
    }
}
