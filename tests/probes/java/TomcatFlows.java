import java.io.File;
import java.nio.file.Files;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** Asynchronous servlets in a Tomcat with few threads. */
public class TomcatFlows {
    public static void main(String[] arguments) throws Exception {
        Logger.getLogger("").setLevel(Level.OFF);
        File base = Files.createTempDirectory("tomcat").toFile();
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(base.getPath());
        tomcat.setPort(0);
        Context context = tomcat.addContext("/app", base.getAbsolutePath());
        Tomcat.addServlet(context, "served", new ServletFlows()).setAsyncSupported(true);
        context.addServletMappingDecoded("/served/*", "served");
        tomcat.getConnector().setProperty("maxThreads", "4");
        tomcat.getConnector().setProperty("acceptCount", "1000");
        tomcat.start();
        ServletFlows.serve("http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + "/app");
    }
}
