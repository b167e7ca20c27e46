import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/** Asynchronous servlets in a Jetty with few threads. */
public class JettyFlows {
    public static void main(String[] arguments) throws Exception {
        System.setProperty("org.eclipse.jetty.util.log.announce", "false");
        System.setProperty("org.eclipse.jetty.LEVEL", "OFF"); // for versions of Jetty with their own log
        Server server = new Server(new QueuedThreadPool(8, 1));
        ServerConnector connector = new ServerConnector(server, 1, 1);
        connector.setAcceptQueueSize(1000);
        server.addConnector(connector);
        ServletContextHandler context = new ServletContextHandler();
        context.setContextPath("/app");
        ServletHolder served = new ServletHolder(new ServletFlows());
        served.setAsyncSupported(true);
        context.addServlet(served, "/served/*");
        server.setHandler(context);
        server.start();
        ServletFlows.serve("http://127.0.0.1:" + connector.getLocalPort() + "/app");
    }
}
