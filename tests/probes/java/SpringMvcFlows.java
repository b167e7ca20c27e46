import jakarta.servlet.DispatcherType;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.File;
import java.nio.file.Files;
import java.util.concurrent.Callable;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;
import org.springframework.stereotype.Controller;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.ResponseBody;
import org.springframework.web.context.request.async.DeferredResult;
import org.springframework.web.context.support.AnnotationConfigWebApplicationContext;
import org.springframework.web.servlet.DispatcherServlet;
import org.springframework.web.servlet.HandlerInterceptor;
import org.springframework.web.servlet.config.annotation.AsyncSupportConfigurer;
import org.springframework.web.servlet.config.annotation.EnableWebMvc;
import org.springframework.web.servlet.config.annotation.InterceptorRegistry;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;

/** Controllers of Spring MVC whose results come later, in a Tomcat with few threads. */
public class SpringMvcFlows {
    private interface Rest {
        void run() throws Exception;
    }

    /** The servlet of Spring, in which a request begins. */
    private static final class Dispatcher extends DispatcherServlet {
        Dispatcher(AnnotationConfigWebApplicationContext context) {
            super(context);
        }

        @Override
        protected void doService(HttpServletRequest request, HttpServletResponse response) throws Exception {
            boolean continues = request.getDispatcherType() == DispatcherType.ASYNC;
            int number = continues ? -1 : ServletFlows.workOf(request).request;
            if (number < 0) {
                super.doService(request, response);
            } else {
                handle(request, number, () -> super.doService(request, response));
            }
        }
    }

    static void handle(HttpServletRequest request, int number, Rest rest) throws Exception {
        rest.run();
    }

    @Controller
    public static class Shop {
        @GetMapping("/deferred")
        @ResponseBody
        public DeferredResult<String> deferred() {
            DeferredResult<String> result = new DeferredResult<>();
            HandingOver.later(2, () -> result.setResult("done"));
            return result;
        }

        @GetMapping("/callable")
        @ResponseBody
        public Callable<String> callable(HttpServletRequest request) {
            Runnable work = (Runnable) request.getAttribute("work");
            return () -> {
                work.run();
                return "done";
            };
        }
    }

    /** Does the work of a request after its result has been written. */
    private static final class AtTheEnd implements HandlerInterceptor {
        @Override
        public void afterCompletion(
                HttpServletRequest request, HttpServletResponse response, Object handler, Exception failure) {
            ((Runnable) request.getAttribute("work")).run();
        }
    }

    @EnableWebMvc
    public static class Configuration implements WebMvcConfigurer {
        @Override
        public void configureAsyncSupport(AsyncSupportConfigurer configurer) {
            ThreadPoolTaskExecutor pool = new ThreadPoolTaskExecutor();
            pool.setCorePoolSize(3);
            pool.initialize();
            configurer.setTaskExecutor(pool);
        }

        @Override
        public void addInterceptors(InterceptorRegistry registry) {
            registry.addInterceptor(new AtTheEnd());
        }
    }

    public static void main(String[] arguments) throws Exception {
        Logger.getLogger("").setLevel(Level.OFF);
        AnnotationConfigWebApplicationContext shop = new AnnotationConfigWebApplicationContext();
        shop.register(Configuration.class, Shop.class);
        File base = Files.createTempDirectory("tomcat").toFile();
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(base.getPath());
        tomcat.setPort(0);
        Context context = tomcat.addContext("/app", base.getAbsolutePath());
        Tomcat.addServlet(context, "served", new Dispatcher(shop)).setAsyncSupported(true);
        context.addServletMappingDecoded("/served/*", "served");
        tomcat.getConnector().setProperty("maxThreads", "4");
        tomcat.getConnector().setProperty("acceptCount", "1000");
        tomcat.start();
        ServletFlows.serve("http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + "/app", "deferred=1", "callable=2");
    }
}
