import static net.bytebuddy.matcher.ElementMatchers.any;
import static net.bytebuddy.matcher.ElementMatchers.isAbstract;
import static net.bytebuddy.matcher.ElementMatchers.isConstructor;
import static net.bytebuddy.matcher.ElementMatchers.isMethod;
import static net.bytebuddy.matcher.ElementMatchers.isNative;
import static net.bytebuddy.matcher.ElementMatchers.not;

import java.io.File;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.implementation.InvocationHandlerAdapter;
import net.bytebuddy.implementation.MethodDelegation;
import net.bytebuddy.implementation.bind.annotation.AllArguments;
import net.bytebuddy.implementation.bind.annotation.RuntimeType;
import net.bytebuddy.implementation.bind.annotation.SuperCall;
import net.bytebuddy.pool.TypePool;

/** Writes classes that Byte Buddy makes: those of a jar with advice inlined, and subclasses of its own that intercept all methods. */
public class ByteBuddyClasses {
    public static class Timing {
        @Advice.OnMethodEnter
        static long enter(@Advice.AllArguments Object[] arguments) {
            return arguments.length == 0 ? 0 : System.nanoTime();
        }

        @Advice.OnMethodExit(onThrowable = Throwable.class)
        static void exit(@Advice.Enter long start, @Advice.Thrown(readOnly = false) Throwable thrown, @Advice.Origin String method) {
            if (thrown instanceof StackOverflowError) {
                thrown = new IllegalStateException(method + " " + start, thrown);
            }
        }
    }

    public static class Entered {
        @Advice.OnMethodEnter
        static void enter(@Advice.Origin String constructor) {
            if (constructor.isEmpty()) {
                throw new IllegalStateException();
            }
        }
    }

    public static class Interceptor {
        @RuntimeType
        public static Object call(@AllArguments Object[] arguments, @SuperCall Callable<?> zuper) throws Exception {
            return arguments.length > 100 ? null : zuper.call();
        }
    }

    public static void main(String[] args) throws Exception {
        File out = new File(args[0]);
        try (JarFile jar = new JarFile(args[1]);
                ClassFileLocator files =
                        new ClassFileLocator.Compound(
                                new ClassFileLocator.ForJarFile(jar), ClassFileLocator.ForClassLoader.ofPlatformLoader())) {
            TypePool pool = TypePool.Default.of(files);
            List<String> names =
                    jar.stream()
                            .map(entry -> entry.getName())
                            .filter(name -> name.endsWith(".class") && !name.startsWith("META-INF") && !name.contains("module-info"))
                            .collect(Collectors.toList());
            for (String name : names) {
                TypeDescription type = pool.describe(name.replace(".class", "").replace('/', '.')).resolve();
                if (!type.isPackageType()) {
                    new ByteBuddy()
                            .redefine(type, files)
                            .visit(Advice.to(Timing.class).on(isMethod().and(not(isAbstract())).and(not(isNative()))))
                            .visit(Advice.to(Entered.class).on(isConstructor()))
                            .make()
                            .saveIn(out);
                }
            }
        }
        for (Class<?> type : new Class<?>[] {ArrayList.class, HashMap.class, InputStream.class, Object.class}) {
            new ByteBuddy()
                    .subclass(type)
                    .name("made.Delegating" + type.getSimpleName())
                    .method(not(isAbstract()))
                    .intercept(MethodDelegation.to(Interceptor.class))
                    .make()
                    .saveIn(out);
        }
        for (Class<?> type : new Class<?>[] {List.class, Comparable.class, Callable.class}) {
            new ByteBuddy()
                    .subclass(type)
                    .name("made.Proxy" + type.getSimpleName())
                    .method(any())
                    .intercept(InvocationHandlerAdapter.of((proxy, method, arguments) -> Collections.emptyList()))
                    .make()
                    .saveIn(out);
        }
    }
}
