import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeSet;

/**
 * Binds arguments to parameters by their names, as web frameworks do, when compiled with {@code -parameters}. It prints the parameters that
 * reflection shows, calls {@link Handler}, and lets another agent retransform its classes.
 */
public class Bound {
    static class Handler {
        private final int base;

        Handler(final int base) {
            this.base = base;
        }

        String order(String customer, final long number) {
            return customer + "/" + (base + number);
        }

        String unnamed() {
            return "none";
        }

        static int sum(int first, int second, int... others) {
            return first + second + Arrays.stream(others).sum();
        }
    }

    /** Its constructor has parameters that the compiler added. */
    class Inner {
        String of(String größe, double \uD835\uDC4E) {
            return größe;
        }
    }

    enum Kind {
        SMALL;

        int times(int count) {
            return count;
        }
    }

    /** Loaded by the command {@code late}. */
    static class Late {
        static String hello(String name) {
            return "hello " + name;
        }
    }

    /** A loader that returns no class file, and does not find {@link Absent}. */
    static final class Secretive extends ClassLoader {
        Class<?> define(String name) throws IOException {
            InputStream hidden = Bound.class.getResourceAsStream(name + ".hidden");
            try (InputStream file = hidden != null ? hidden : Bound.class.getResourceAsStream(name + ".class")) {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                file.transferTo(out);
                return defineClass(null, out.toByteArray(), 0, out.size());
            }
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.equals("Bound$Absent")) {
                throw new ClassNotFoundException(name);
            }
            return super.loadClass(name, resolve);
        }

        @Override
        public InputStream getResourceAsStream(String name) {
            return null;
        }
    }

    /** A class that {@link Secretive} defines. */
    public static class Secret {
        public static String whisper(String word) {
            return word;
        }
    }

    /** A second class that {@link Secretive} defines. Reflection cannot list its methods, because a type is missing. */
    public static class Vague {
        public static String whisper(String word) {
            return word;
        }

        void never(Absent absent) {}
    }

    static class Absent {}

    private static Class<?> secret;
    private static Method vague;

    private static String told(Executable method) {
        StringBuilder text = new StringBuilder(method.getName()).append('(');
        for (Parameter parameter : method.getParameters()) {
            text.append(parameter.getModifiers()).append(' ').append(parameter.getName()).append(parameter.isNamePresent() ? "," : "?,");
        }
        return text.append(')').toString();
    }

    private static String names(Class<?>... types) {
        TreeSet<String> told = new TreeSet<>();
        for (Class<?> type : types) {
            for (Method method : type.getDeclaredMethods()) {
                told.add(type.getName() + "." + told(method));
            }
            for (Constructor<?> constructor : type.getDeclaredConstructors()) {
                told.add(type.getName() + "." + told(constructor));
            }
        }
        return String.join(" ", told);
    }

    /** Calls the method with the arguments that its parameters name. */
    private static Object bind(Object self, String name, Map<String, Object> arguments) throws Exception {
        for (Method method : self.getClass().getDeclaredMethods()) {
            if (method.getName().equals(name)) {
                return method.invoke(self, Arrays.stream(method.getParameters()).map(each -> arguments.get(each.getName())).toArray());
            }
        }
        return null;
    }

    public static void main(String[] arguments) throws Exception {
        Handler handler = new Handler(40);
        Class<?>[] types = {Handler.class, Inner.class, Kind.class};
        Map<String, Object> values = Map.of("customer", "ada", "number", 2L);
        new Bound().new Inner().of("", 0);
        Kind.SMALL.times(1);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            switch (line) {
                case "names":
                    System.out.println("names " + names(types));
                    break;
                case "bind":
                    System.out.println("bound " + bind(handler, "order", values));
                    break;
                case "retransform":
                    Observer.instrumentation().retransformClasses(types);
                    System.out.println("retransformed");
                    break;
                case "late":
                    System.out.println("late " + Late.hello("x") + " " + names(Late.class));
                    break;
                case "secret":
                    if (secret == null) {
                        secret = new Secretive().define("Bound$Secret");
                    }
                    System.out.println("secret " + secret.getMethod("whisper", String.class).invoke(null, "psst") + " " + names(secret));
                    break;
                case "vague":
                    if (vague == null) {
                        vague = new Secretive().define("Bound$Vague").getMethod("whisper", String.class);
                    }
                    System.out.println("vague " + vague.invoke(null, "psst") + " " + told(vague));
                    break;
                default:
                    throw new IllegalArgumentException(line);
            }
        }
    }
}
