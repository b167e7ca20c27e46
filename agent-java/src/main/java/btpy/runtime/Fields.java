package btpy.runtime;

/** Fields of objects by their names, whatever their access; those of superclasses too. */
public final class Fields {
    private static final Object[] NO_ARGUMENTS = {};

    private Fields() {}

    /**
     * Boxed as Long, Double, Boolean or Character; of null null.
     *
     * @throws ProbeError when no class of the target has such a field
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

    /** The field, or what the getter gives where the class has no such field and the getter is allowed. */
    public static Object property(Object target, String name, String allowed) {
        return target == null || Layouts.of(target).find(name) >= 0 || !Calls.has(target, allowed)
                ? read(target, name)
                : Calls.call(target, allowed, NO_ARGUMENTS);
    }
}
