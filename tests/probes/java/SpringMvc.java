import java.io.File;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.file.Files;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.springframework.stereotype.Controller;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.ResponseBody;
import org.springframework.web.context.support.AnnotationConfigWebApplicationContext;
import org.springframework.web.servlet.DispatcherServlet;
import org.springframework.web.servlet.config.annotation.EnableWebMvc;

/** A controller of Spring MVC in a Tomcat: requests that are answered, fail (handled or not), or fit no method. */
public class SpringMvc {
    @Controller
    public static class Shop {
        @GetMapping("/items/{number}")
        @ResponseBody
        public String item(@PathVariable("number") int number) throws InterruptedException {
            Thread.sleep(2);
            return "item " + number;
        }

        @GetMapping("/sold")
        @ResponseBody
        public String sold() {
            throw new IllegalStateException("sold out");
        }

        @GetMapping("/broken")
        @ResponseBody
        public String broken() {
            throw new UnsupportedOperationException("broken");
        }

        @ExceptionHandler(IllegalStateException.class)
        @ResponseBody
        public String later(IllegalStateException exception) {
            return "later";
        }
    }

    @EnableWebMvc
    public static class Settings {}

    public static void main(String[] arguments) throws Exception {
        Logger.getLogger("").setLevel(Level.OFF);
        AnnotationConfigWebApplicationContext spring = new AnnotationConfigWebApplicationContext();
        spring.register(Settings.class, Shop.class);
        File base = Files.createTempDirectory("tomcat").toFile();
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(base.getPath());
        tomcat.setPort(0);
        Context context = tomcat.addContext("", base.getAbsolutePath());
        Tomcat.addServlet(context, "spring", new DispatcherServlet(spring)).setLoadOnStartup(1);
        context.addServletMappingDecoded("/", "spring");
        tomcat.getConnector();
        tomcat.start();
        String app = "http://127.0.0.1:" + tomcat.getConnector().getLocalPort();
        Gate.await();
        send(app + "/items/1", 31, 200);
        send(app + "/sold", 7, 200);
        send(app + "/broken", 5, 500);
        send(app + "/nothing", 3, 404);
        System.out.println("done");
        System.out.flush();
        Gate.pass();
        tomcat.stop();
    }

    private static void send(String url, int times, int status) throws IOException {
        for (int i = 0; i < times; i++) {
            HttpURLConnection connection = (HttpURLConnection) new URL(url).openConnection();
            if (connection.getResponseCode() != status) {
                throw new AssertionError(url + " " + connection.getResponseCode());
            }
            connection.disconnect();
        }
    }
}
