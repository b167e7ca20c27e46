import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import java.util.ServiceLoader;
import org.osgi.framework.Bundle;
import org.osgi.framework.launch.Framework;
import org.osgi.framework.launch.FrameworkFactory;

/**
 * An OSGi framework. Arguments: its cache; "implicit", "strict", or names of packages; then its bundles. With
 * "implicit" a class outside of bundles may find classes of the boot loader through a bundle, with "strict" no class
 * may; otherwise all classes may find the named packages. Lines of its input: "run N", "end".
 */
public final class Bundles {
    private Bundles() {}

    public static void main(String[] arguments) throws Exception {
        Map<String, String> configuration = new HashMap<>();
        configuration.put("org.osgi.framework.storage", arguments[0]);
        configuration.put("felix.log.level", "0");
        configuration.put("felix.bootdelegation.implicit", String.valueOf(arguments[1].equals("implicit")));
        configuration.put("org.osgi.framework.bootdelegation", arguments[1]);
        Framework framework = ServiceLoader.load(FrameworkFactory.class).iterator().next().newFramework(configuration);
        framework.start();
        Bundle last = null;
        for (int i = 2; i < arguments.length; i++) {
            last = framework.getBundleContext().installBundle("file:" + arguments[i]);
            last.start();
        }
        Runnable plugin = (Runnable) last.loadClass("plugin.Plugin").getDeclaredConstructor().newInstance();
        plugin.run();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); !line.equals("end"); line = input.readLine()) {
            for (int i = 0; i < Integer.parseInt(line.split(" ")[1]); i++) {
                plugin.run();
            }
            System.out.println("run " + plugin);
        }
        framework.stop();
        framework.waitForStop(0);
        System.out.println("stopped");
    }
}
