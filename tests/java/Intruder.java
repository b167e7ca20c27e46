import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.InputStreamReader;
import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;

/**
 * An application that searches its JVM for btpy and tries to use it. {@code attack CLASS…} prints each attempt on the classes and its
 * outcome. {@code call N} calls {@link #step} N times.
 */
public class Intruder {
    /** A control: the same attempts must succeed on this class. */
    public static class Control {
        private static int secret = 7;

        private static int told() {
            return secret;
        }
    }

    private static final class Loader extends ClassLoader {
        Loader() {
            super(Intruder.class.getClassLoader());
        }

        Class<?> define(byte[] data) {
            return defineClass(null, data, 0, data.length);
        }
    }

    private static int defined;

    static int step(int number) {
        return number + 1;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("call")) {
                for (int i = 0; i < Integer.parseInt(words[1]); i++) {
                    step(i);
                }
                System.out.println("called");
            } else {
                for (int i = 1; i < words.length; i++) {
                    attack(words[i]);
                    for (int k = 0; k < 101; k++) {
                        step(k);
                    }
                }
                launcher();
                threads();
                System.out.println("attacked");
            }
        }
    }

    private static void attack(String name) {
        Class<?> type;
        try {
            type = Class.forName(name, false, null);
        } catch (ClassNotFoundException absent) {
            try {
                type = Class.forName(name, false, Intruder.class.getClassLoader());
            } catch (ClassNotFoundException unknown) {
                System.out.println(name + " absent");
                return;
            }
        }
        Class<?> found = type;
        int opened = 0;
        List<AccessibleObject> members = new ArrayList<>();
        for (Field field : type.getDeclaredFields()) {
            members.add(field);
        }
        for (Method method : type.getDeclaredMethods()) {
            members.add(method);
        }
        for (Constructor<?> constructor : type.getDeclaredConstructors()) {
            members.add(constructor);
        }
        for (AccessibleObject member : members) {
            if (isPublic(found, (Member) member)) {
                continue; // the package is exported, so the intruder gains nothing
            }
            try {
                member.setAccessible(true);
                opened++;
            } catch (InaccessibleObjectException refused) {
                // the expected result
            }
        }
        System.out.println(name + " setAccessible " + (opened == 0 ? "refused" : "succeeds"));
        if (members.stream().anyMatch(member -> isUsable((Member) member) && !isPublic(found, (Member) member))) {
            attempt(name + " reflection", () -> use(found));
        }
        attempt(name + " lookup", () -> MethodHandles.privateLookupIn(found, MethodHandles.lookup()));
        String beside = found.getName().substring(0, found.getName().lastIndexOf('.') + 1) + "Beside" + ++defined;
        attempt(name + " defineClass", () -> MethodHandles.privateLookupIn(found, MethodHandles.lookup()).defineClass(empty(beside, found)));
        if (!Modifier.isFinal(type.getModifiers())) {
            attempt(name + " subclass", () -> new Loader().define(empty(beside + "Loaded", found)));
        }
        attempt(name + " addOpens", () -> found.getModule().addOpens(found.getPackageName(), Intruder.class.getModule()));
        attempt(name + " addExports", () -> found.getModule().addExports(found.getPackageName(), Intruder.class.getModule()));
    }

    private static boolean isPublic(Class<?> type, Member member) {
        return Modifier.isPublic(type.getModifiers()) && Modifier.isPublic(member.getModifiers())
            && type.getModule().isExported(type.getPackageName(), Intruder.class.getModule());
    }

    /** Members that need neither an object nor arguments. */
    private static boolean isUsable(Member member) {
        return Modifier.isStatic(member.getModifiers()) && (member instanceof Field || ((Method) member).getParameterCount() == 0);
    }

    /** Reads a static field of the class, or calls a static method without arguments. */
    private static Object use(Class<?> type) throws Exception {
        Exception last = null;
        for (Method method : type.getDeclaredMethods()) {
            if (isUsable(method) && !isPublic(type, method)) {
                try {
                    return method.invoke(null);
                } catch (IllegalAccessException refused) {
                    last = refused;
                }
            }
        }
        for (Field field : type.getDeclaredFields()) {
            if (isUsable(field)) {
                try {
                    return field.get(null);
                } catch (IllegalAccessException refused) {
                    last = refused;
                }
            }
        }
        throw last;
    }

    /** The launcher is in the loader of the application: it must have no state, and give the application no power. */
    private static void launcher() {
        attempt("BtpyLauncher statics", () -> {
            Class<?> type = Class.forName("BtpyLauncher", true, ClassLoader.getSystemClassLoader());
            for (Class<?> launcher : new Class<?>[] {type, Class.forName("BtpyLauncher$Exported", true, type.getClassLoader())}) {
                for (Field field : launcher.getDeclaredFields()) {
                    field.setAccessible(true);
                    if (Modifier.isStatic(field.getModifiers()) && field.get(null) != null) {
                        return field.get(null);
                    }
                }
            }
            throw new Refused();
        });
        Object forged = Proxy.newProxyInstance(Intruder.class.getClassLoader(), new Class<?>[] {Instrumentation.class}, (self, method, given) -> null);
        for (Object instrumentation : new Object[] {null, forged}) {
            for (String starter : new String[] {"BtpyLauncher agentmain", "btpy.handlers.Starter start"}) {
                attempt(starter + (instrumentation == null ? "" : " forged"), () -> started(starter.split(" "), instrumentation));
            }
        }
        attempt("BtpyLauncher loader", () -> {
            Constructor<?> constructor = Class.forName("BtpyLauncher$Exported").getDeclaredConstructor(Instrumentation.class);
            constructor.setAccessible(true);
            return constructor.newInstance((Object) null);
        });
        attempt("Unsafe", () -> Class.forName("jdk.internal.misc.Unsafe").getMethod("getUnsafe").invoke(null));
        attempt("Modules", () -> Class.forName("jdk.internal.module.Modules").getMethod("addReadsAllUnnamed", Module.class)
            .invoke(null, Intruder.class.getModule()));
    }

    /** The connection of an agent that obeys the caller of its entry point. */
    private static Object started(String[] starter, Object instrumentation) throws Exception {
        Class<?> type = Class.forName(starter[0], true, ClassLoader.getSystemClassLoader());
        Path directory = Files.createTempDirectory("own");
        Files.createFile(directory.resolve("secret-" + "0".repeat(64)));
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            server.setSoTimeout(1_000);
            String options = "socket=tcp:" + server.getLocalPort() + ",secret-in=" + directory;
            type.getMethod(starter[1], String.class, Instrumentation.class).invoke(null, options, instrumentation);
            return server.accept();
        } catch (SocketTimeoutException nobody) {
            throw new Refused();
        }
    }

    private static void threads() {
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().startsWith("btpy-")) {
                attempt("thread lookup", () -> MethodHandles.privateLookupIn(thread.getClass(), MethodHandles.lookup()));
            }
        }
    }

    /** The attempt succeeded, but gained nothing. */
    private static final class Refused extends Exception {
    }

    private static void attempt(String what, Callable<?> action) {
        String how;
        try {
            action.call();
            how = "succeeds";
        } catch (IllegalAccessException | InaccessibleObjectException | IllegalAccessError | IllegalCallerException | Refused refused) {
            how = "refused";
        } catch (InvocationTargetException refused) {
            how = refused.getCause() instanceof NullPointerException ? "refused" : "fails:" + refused.getCause().getClass().getName();
        } catch (Throwable unexpected) {
            how = "fails:" + unexpected.getClass().getName();
        }
        System.out.println(what + " " + how);
    }

    private static void attempt(String what, Action action) {
        attempt(what, (Callable<?>) () -> {
            action.run();
            return null;
        });
    }

    private interface Action {
        void run() throws Exception;
    }

    /** The class file of a subclass without members (JVMS §4.1). */
    private static byte[] empty(String name, Class<?> parent) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xCAFEBABE);
        out.writeInt(52);
        out.writeShort(5);
        out.writeByte(1);
        out.writeUTF(name.replace('.', '/'));
        out.writeByte(7);
        out.writeShort(1);
        out.writeByte(1);
        out.writeUTF((Modifier.isFinal(parent.getModifiers()) ? Object.class : parent).getName().replace('.', '/'));
        out.writeByte(7);
        out.writeShort(3);
        for (int item : new int[] {0x21, 2, 4, 0, 0, 0, 0}) {
            out.writeShort(item);
        }
        return bytes.toByteArray();
    }
}
