import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** A Jetty 12 with two servlets, and a known number of requests: answered, created, failed, not found, answered later. */
public final class JettyServing {
    private JettyServing() {}

    public static void main(String[] arguments) throws Exception {
        Server server = new Server();
        ServerConnector connector = new ServerConnector(server);
        server.addConnector(connector);
        ServletContextHandler context = new ServletContextHandler("/app");
        context.addServlet(new ServletHolder(new Served.Items()), "/items/*");
        ServletHolder later = new ServletHolder(new Served.Later());
        later.setAsyncSupported(true);
        context.addServlet(later, "/later");
        server.setHandler(context);
        server.start();
        String app = "http://127.0.0.1:" + connector.getLocalPort() + "/app";
        Served.send("GET", app + "/items/0");
        Gate.await();
        Served.request(app, 3);
        System.out.println("done");
        System.out.flush();
        Gate.pass();
        server.stop();
    }
}
