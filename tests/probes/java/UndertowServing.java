import io.undertow.Undertow;
import io.undertow.server.handlers.PathHandler;
import io.undertow.servlet.Servlets;
import io.undertow.servlet.api.DeploymentManager;
import io.undertow.servlet.util.ImmediateInstanceFactory;
import java.net.InetSocketAddress;

/** An Undertow with two servlets, and a known number of requests: answered, created, failed, not found, answered later. */
public final class UndertowServing {
    private UndertowServing() {}

    public static void main(String[] arguments) throws Exception {
        DeploymentManager manager = Servlets.defaultContainer().addDeployment(Servlets.deployment()
                .setClassLoader(UndertowServing.class.getClassLoader())
                .setContextPath("/app")
                .setDeploymentName("app")
                .addServlets(
                        Servlets.servlet("items", Served.Items.class, new ImmediateInstanceFactory<>(new Served.Items()))
                                .addMapping("/items/*"),
                        Servlets.servlet("later", Served.Later.class, new ImmediateInstanceFactory<>(new Served.Later()))
                                .addMapping("/later")
                                .setAsyncSupported(true)));
        manager.deploy();
        Undertow server = Undertow.builder()
                .addHttpListener(0, "127.0.0.1")
                .setHandler(new PathHandler().addPrefixPath("/app", manager.start()))
                .build();
        server.start();
        int port = ((InetSocketAddress) server.getListenerInfo().get(0).getAddress()).getPort();
        String app = "http://127.0.0.1:" + port + "/app";
        Served.send("GET", app + "/items/0");
        Gate.await();
        Served.request(app, 3);
        System.out.println("done");
        System.out.flush();
        Gate.pass();
        server.stop();
    }
}
