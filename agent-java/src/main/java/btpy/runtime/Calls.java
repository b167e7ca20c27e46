package btpy.runtime;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.ref.WeakReference;
import java.lang.reflect.Method;

/**
 * Calls methods for a script: methods that are known to be harmless, and methods that the user allowed by name.
 *
 * <p>The handler lists them as {@code owner#name(types)} or {@code owner#name/count}, separated by {@code |}. A {@code
 * +} in front of the owner includes its subtypes, and {@code =} means that {@link Substitutes} implements the method. A
 * method with types belongs to the JDK. If another loader than the boot loader has a class of the same name, that is a
 * different class. The method of a class is cached, with weak references, so that no class is kept loaded.
 *
 * <p>While such a method runs, no probe fires on its thread.
 */
public final class Calls {
    private static final Memory MEMORY = Memory.instance();
    private static final int SIZE = 1024;
    private static final int WINDOW = 8;
    private static final Callee[] NONE = {};
    private static volatile Callee[] table = NONE;

    /** The number of threads inside a called method. While it is 0, handlers do not need to check their threads. */
    private static final long[] RUNNING = new long[1];

    private static final class Callee extends WeakReference<Class<?>> {
        final int hash;
        final String allowList;
        final WeakReference<MethodHandle> handle;
        final Class<?>[] parameters;
        /** The number of the substitute in {@link Substitutes}; −1: the method itself is called. */
        final int substitute;
        /**
         * Whether the class belongs to the application. Calls of other classes are not counted in {@link #RUNNING},
         * because handlers in classes of the JDK are guarded anyway.
         */
        final boolean ofApplication;

        Callee(Class<?> type, int hash, String allowList, int substitute, MethodHandle handle, Class<?>[] parameters) {
            super(type);
            this.substitute = substitute;
            this.hash = hash;
            this.allowList = allowList;
            this.handle = handle == null ? null : new WeakReference<MethodHandle>(handle);
            this.parameters = parameters;
            this.ofApplication = type.getClassLoader() != null;
        }
    }

    private Calls() {}

    static boolean anyRunning() {
        return RUNNING[0] != 0;
    }

    /** Called at the end of the last session, when memory may be short. */
    static void clear() {
        table = NONE;
    }

    /** Whether one of the methods exists for the class. */
    static boolean has(Object target, String allowList) {
        Callee callee = of(target.getClass(), allowList);
        return callee.substitute >= 0 || callee.handle != null;
    }

    /**
     * Calls the method and returns its result; null if {@code target} is null.
     *
     * @throws ProbeError if no method is allowed for the class, or if the method threw
     */
    public static Object call(Object target, String allowList, Object[] arguments) {
        if (target == null) {
            return null;
        }
        Callee callee = of(target.getClass(), allowList);
        if (callee.substitute >= 0) {
            try {
                return Substitutes.call(callee.substitute, target, arguments);
            } catch (ClassCastException otherFields) { // a different class with the same name
                throw ProbeError.BAD_CAST;
            }
        }
        MethodHandle handle = callee.handle == null ? null : callee.handle.get();
        if (handle == null && callee.handle != null) { // the garbage collector has freed the handle: find it again
            callee = find(target.getClass(), callee.hash, allowList);
            handle = callee.handle == null ? null : callee.handle.get();
        }
        if (handle == null) {
            throw ProbeError.notAllowed(target.getClass().getName(), allowList);
        }
        Object[] values = new Object[arguments.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = convert(arguments[i], callee.parameters[i]);
        }
        int lentStripe = -1;
        if (callee.ofApplication) {
            MEMORY.getAndAddLong(RUNNING, Memory.LONG_BASE, 1);
            lentStripe = Stripes.lend();
        }
        try {
            return (Object) handle.invokeExact(target, values);
        } catch (ClassCastException wrongArgument) {
            throw ProbeError.BAD_CAST;
        } catch (Throwable failure) {
            throw ProbeError.failedCall(name(allowList), failure);
        } finally {
            if (callee.ofApplication) {
                Stripes.takeBack(lentStripe);
                MEMORY.getAndAddLong(RUNNING, Memory.LONG_BASE, -1);
            }
        }
    }

    /** Converts a number of the language, Long or Double, to the type of a parameter. */
    private static Object convert(Object value, Class<?> type) {
        if (!type.isPrimitive()) {
            return value;
        }
        if (type == boolean.class) {
            return Boolean.valueOf(Dynamic.truth(value));
        }
        if (type == double.class) {
            return Double.valueOf(Dynamic.toDouble(value));
        }
        if (type == float.class) {
            return Float.valueOf((float) Dynamic.toDouble(value));
        }
        long number = Dynamic.toLong(value);
        return type == long.class
                ? (Object) Long.valueOf(number)
                : type == int.class
                ? (Object) Integer.valueOf((int) number)
                : type == short.class
                ? (Object) Short.valueOf((short) number)
                : type == byte.class ? (Object) Byte.valueOf((byte) number) : (Object) Character.valueOf((char) number);
    }

    private static Callee of(Class<?> type, String allowList) {
        int hash = System.identityHashCode(type) * 31 + allowList.hashCode();
        Callee[] callees = table;
        int free = -1;
        if (callees.length == 0) {
            table = callees = new Callee[SIZE];
        }
        for (int i = 0; i < WINDOW; i++) {
            Callee callee = callees[hash + i & SIZE - 1];
            if (callee == null) {
                free = hash + i & SIZE - 1;
                break;
            }
            if (callee.hash == hash && callee.get() == type && Strings.equal(callee.allowList, allowList)) {
                if (callee.handle == null || callee.handle.get() != null) {
                    return callee;
                }
                free = hash + i & SIZE - 1;
                break;
            }
        }
        Callee newCallee = find(type, hash, allowList);
        callees[free < 0 ? hash & SIZE - 1 : free] = newCallee;
        return newCallee;
    }

    private static Callee find(Class<?> type, int hash, String allowList) {
        for (int start = 0; start < allowList.length(); ) {
            int end = allowList.indexOf('|', start);
            end = end < 0 ? allowList.length() : end;
            int at = allowList.indexOf('#', start);
            boolean subtypes = allowList.charAt(start) == '+';
            boolean substituted = allowList.charAt(start) == '=';
            Class<?> owner =
                    supertype(type, allowList.substring(subtypes || substituted ? start + 1 : start, at), subtypes);
            if (owner != null && substituted) {
                return new Callee(type, hash, allowList, Substitutes.number(allowList.substring(start + 1, end)), null,
                        null);
            }
            boolean ofJdk = allowList.charAt(end - 1) == ')';
            Method method = owner == null || ofJdk && owner.getClassLoader() != null
                    ? null
                    : method(owner, allowList.substring(at + 1, end));
            if (method != null) {
                MethodHandle handle = handle(type, method);
                if (handle != null) {
                    int count = method.getParameterTypes().length;
                    handle = handle.asFixedArity().asType(MethodType.genericMethodType(1 + count));
                    return new Callee(type, hash, allowList, -1, handle.asSpreader(Object[].class, count),
                            method.getParameterTypes());
                }
            }
            start = end + 1;
        }
        return new Callee(type, hash, allowList, -1, null, null);
    }

    private static Class<?> supertype(Class<?> type, String name, boolean subtypes) {
        if (!subtypes) {
            return Dynamic.hasName(type.getName(), name) ? type : null;
        }
        for (Class<?> c = type; c != null; c = c.getSuperclass()) {
            if (Dynamic.hasName(c.getName(), name)) {
                return c;
            }
            for (Class<?> face : c.getInterfaces()) {
                Class<?> ancestor = supertype(face, name, true);
                if (ancestor != null) {
                    return ancestor;
                }
            }
        }
        return null;
    }

    /**
     * Returns the owner's own method, or else an inherited one. {@code signature}: {@code name(type,type)}, or {@code
     * name/count}.
     */
    private static Method method(Class<?> owner, String signature) {
        for (Class<?> c = owner; c != null; c = c.getSuperclass()) {
            for (Method method : c.getDeclaredMethods()) {
                if (!method.isBridge() && fits(method, signature)) {
                    return method;
                }
            }
        }
        for (Method method : owner.getMethods()) {
            if (fits(method, signature)) {
                return method;
            }
        }
        return null;
    }

    private static boolean fits(Method method, String signature) {
        Class<?>[] types = method.getParameterTypes();
        if (java.lang.reflect.Modifier.isStatic(method.getModifiers())) {
            return false;
        }
        if (signature.indexOf('/') >= 0) {
            return signature.equals(method.getName() + "/" + types.length);
        }
        StringBuilder spelling = new StringBuilder(method.getName()).append('(');
        for (int i = 0; i < types.length; i++) {
            spelling.append(i == 0 ? "" : ",").append(types[i].getName());
        }
        return signature.contentEquals(spelling.append(')'));
    }

    /** Returns a handle of the method from a type that is accessible: an interface or Object if the JDK hides the class. */
    private static MethodHandle handle(Class<?> type, Method method) {
        try {
            method.setAccessible(true);
            return MethodHandles.lookup().unreflect(method);
        } catch (IllegalAccessException | RuntimeException refusal) {
            // try a supertype below
        }
        for (Class<?> c = type; c != null; c = c.getSuperclass()) {
            for (Class<?> face : c.getInterfaces()) {
                MethodHandle result = declared(face, method);
                if (result != null) {
                    return result;
                }
            }
            MethodHandle result = declared(c, method);
            if (result != null) {
                return result;
            }
        }
        return null;
    }

    private static MethodHandle declared(Class<?> type, Method method) {
        try {
            return MethodHandles.publicLookup().unreflect(type.getMethod(method.getName(), method.getParameterTypes()));
        } catch (IllegalAccessException | NoSuchMethodException | RuntimeException refusal) {
            return null;
        }
    }

    /** Returns the name of the method for messages, without owner and types. */
    static String name(String allowList) {
        int start = allowList.indexOf('#') + 1;
        int end = start;
        while (end < allowList.length() && Character.isJavaIdentifierPart(allowList.charAt(end))) {
            end++;
        }
        return allowList.substring(start, end);
    }
}
