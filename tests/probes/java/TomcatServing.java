import java.io.File;
import java.nio.file.Files;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.util.threads.ThreadPoolExecutor;

/** A Tomcat with one servlet, and a known number of requests: answered, created, failed, and not found. */
public final class TomcatServing {
    private TomcatServing() {}

    public static void main(String[] arguments) throws Exception {
        Logger.getLogger("").setLevel(Level.OFF);
        File base = Files.createTempDirectory("tomcat").toFile();
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(base.getPath());
        tomcat.setPort(0);
        Context context = tomcat.addContext("/app", base.getAbsolutePath());
        Tomcat.addServlet(context, "items", new Served.Items());
        context.addServletMappingDecoded("/items/*", "items");
        tomcat.getConnector();
        tomcat.start();
        String app = "http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + "/app";
        Served.send("GET", app + "/items/0");
        long before = tasks(tomcat);
        Gate.await();
        Served.request(app, 0);
        System.out.println("tasks " + (tasks(tomcat) - before));
        System.out.println("done");
        System.out.flush();
        Gate.pass();
        tomcat.stop();
    }

    /** The tasks that the threads of Tomcat have run, once none is running. */
    private static long tasks(Tomcat tomcat) throws InterruptedException {
        ThreadPoolExecutor threads =
                (ThreadPoolExecutor) tomcat.getConnector().getProtocolHandler().getExecutor();
        while (threads.getActiveCount() > 0) {
            Thread.sleep(1);
        }
        return threads.getCompletedTaskCount();
    }
}
