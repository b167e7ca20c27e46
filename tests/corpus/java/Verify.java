import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Runs {@code java.lang.classfile.ClassFile.verify} of JDK 24 and later over all class files below a directory. */
public class Verify {
    public static void main(String[] args) throws Exception {
        Class<?> type = Class.forName("java.lang.classfile.ClassFile");
        Object verifier = type.getMethod("of").invoke(null);
        Method verify = type.getMethod("verify", byte[].class);
        List<Path> files;
        try (Stream<Path> walk = Files.walk(Paths.get(args[0]))) {
            files = walk.filter(path -> path.toString().endsWith(".class")).sorted().collect(Collectors.toList());
        }
        for (Path file : files) {
            List<?> errors = (List<?>) verify.invoke(verifier, (Object) Files.readAllBytes(file));
            if (!errors.isEmpty()) {
                System.out.println("REFUSED " + file + ": " + errors.get(0));
            }
        }
        System.out.println("verified " + files.size());
    }
}
