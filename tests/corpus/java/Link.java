import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Optional;

/**
 * Links the classes named in a file, one {@code module/class} a line, without running them: getDeclaredMethods makes HotSpot
 * link, and so verify. Prints what does not verify, and how many did and how many cannot be linked for lack of a class.
 */
public class Link {
    public static void main(String[] args) throws Exception {
        int linked = 0;
        int missing = 0;
        for (String line : Files.readAllLines(Paths.get(args[0]))) {
            int slash = line.indexOf('/');
            String name = line.substring(slash + 1);
            Optional<Module> module = ModuleLayer.boot().findModule(line.substring(0, slash));
            if (!module.isPresent()) {
                missing++;
                continue;
            }
            try {
                Class.forName(name, false, module.get().getClassLoader()).getDeclaredMethods();
                linked++;
            } catch (ClassNotFoundException | NoClassDefFoundError error) {
                missing++;
            } catch (Throwable error) {
                System.out.println("REFUSED " + name + ": " + error);
            }
        }
        System.out.println("linked " + linked + " missing " + missing);
    }
}
