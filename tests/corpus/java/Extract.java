import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Writes the classes of the running JDK: {@code Extract <directory> <module or all> <one of how many> <the first>}, as
 * {@code <directory>/<module>/<package>/<class>.class}.
 */
public class Extract {
    public static void main(String[] args) throws Exception {
        Path out = Paths.get(args[0]);
        int step = Integer.parseInt(args[2]);
        FileSystem runtime = FileSystems.getFileSystem(URI.create("jrt:/"));
        Path modules = runtime.getPath("/modules");
        List<Path> files;
        try (Stream<Path> walk = Files.walk(args[1].equals("all") ? modules : modules.resolve(args[1]))) {
            files = walk.filter(path -> path.toString().endsWith(".class")).sorted().collect(Collectors.toList());
        }
        for (int i = Integer.parseInt(args[3]); i < files.size(); i += step) {
            Path to = out.resolve(modules.relativize(files.get(i)).toString());
            Files.createDirectories(to.getParent());
            Files.write(to, Files.readAllBytes(files.get(i)));
        }
    }
}
