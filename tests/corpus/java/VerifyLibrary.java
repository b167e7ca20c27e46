import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.List;

/**
 * Runs {@code java.lang.classfile.ClassFile.verify} of JDK 24 and later over the classes named in a file, one a line, and prints
 * {@code name outcome} for each error: the first arguments after the file are the directory that the classes are read from and, for
 * their supertypes, the directories and jars of all others.
 */
public class VerifyLibrary {
    public static void main(String[] args) throws Exception {
        Path root = Paths.get(args[1]);
        URL[] urls = new URL[args.length - 2];
        for (int i = 2; i < args.length; i++) {
            urls[i - 2] = Paths.get(args[i]).toUri().toURL();
        }
        Object verifier = verifier(new URLClassLoader(urls, ClassLoader.getPlatformClassLoader()));
        Class<?> type = Class.forName("java.lang.classfile.ClassFile");
        StringBuilder out = new StringBuilder();
        for (String name : Files.readAllLines(Paths.get(args[0]))) {
            byte[] bytes = Files.readAllBytes(root.resolve(name.replace('.', '/') + ".class"));
            List<?> errors;
            try {
                errors = (List<?>) type.getMethod("verify", byte[].class).invoke(verifier, (Object) bytes);
            } catch (java.lang.reflect.InvocationTargetException error) {
                errors = Arrays.asList(error.getCause());
            }
            for (Object error : errors) {
                out.append(name).append(' ').append(error.toString().split("\n", 2)[0]).append('\n');
            }
        }
        System.out.print(out);
    }

    /** A {@code ClassFile} that finds supertypes in the class files of a loader. */
    private static Object verifier(ClassLoader loader) throws Exception {
        Class<?> type = Class.forName("java.lang.classfile.ClassFile");
        Class<?> resolver = Class.forName("java.lang.classfile.ClassHierarchyResolver");
        Class<?> option = Class.forName("java.lang.classfile.ClassFile$ClassHierarchyResolverOption");
        Class<?> options = Class.forName("[Ljava.lang.classfile.ClassFile$Option;");
        Object files = resolver.getMethod("ofResourceParsing", ClassLoader.class).invoke(null, loader);
        Object otherwise = resolver.getMethod("defaultResolver").invoke(null);
        Object chain = resolver.getMethod("orElse", resolver).invoke(files, otherwise);
        Object array = java.lang.reflect.Array.newInstance(options.getComponentType(), 1);
        java.lang.reflect.Array.set(array, 0, option.getMethod("of", resolver).invoke(null, chain));
        return type.getMethod("of", options).invoke(null, array);
    }
}
