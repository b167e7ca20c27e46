import java.net.HttpURLConnection;
import java.net.URL;
import java.time.Duration;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.stereotype.Controller;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.ResponseBody;
import org.springframework.web.reactive.config.EnableWebFlux;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.adapter.WebHttpHandlerBuilder;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/** A controller of Spring WebFlux on Reactor Netty: answers that come later, in parts, or not at all. */
public class SpringWebFlux {
    @Controller
    public static class Shop {
        @GetMapping("/items/{number}")
        @ResponseBody
        public Mono<String> item(@PathVariable("number") int number) {
            return Mono.delay(Duration.ofMillis(50)).map(zero -> "item " + number);
        }

        @GetMapping("/feed")
        @ResponseBody
        public Flux<String> feed() {
            return Flux.just("a", "b", "c").delayElements(Duration.ofMillis(20));
        }

        @GetMapping("/sold")
        @ResponseBody
        public Mono<String> sold() {
            return Mono.error(new IllegalStateException("sold out"));
        }

        @GetMapping("/broken")
        @ResponseBody
        public Mono<String> broken() {
            throw new UnsupportedOperationException("broken");
        }

        @ExceptionHandler(IllegalStateException.class)
        @ResponseBody
        public Mono<String> later(IllegalStateException exception) {
            return Mono.just("later");
        }
    }

    @EnableWebFlux
    public static class Settings {
        @Bean
        public RouterFunction<ServerResponse> prices() {
            return RouterFunctions.route().GET("/price", request -> Mono.delay(Duration.ofMillis(20))
                    .flatMap(zero -> ServerResponse.accepted().bodyValue("1"))).build();
        }

        /** Replaces the exchange that the server has made, so handlers get another object. */
        @Bean
        public WebFilter named() {
            return (exchange, chain) -> chain.filter(
                    exchange.mutate().request(request -> request.header("name", "value")).build());
        }
    }

    public static void main(String[] arguments) throws Exception {
        Logger.getLogger("").setLevel(Level.OFF);
        AnnotationConfigApplicationContext spring = new AnnotationConfigApplicationContext(Settings.class, Shop.class);
        DisposableServer server = HttpServer.create().host("127.0.0.1").port(0)
                .handle(new ReactorHttpHandlerAdapter(WebHttpHandlerBuilder.applicationContext(spring).build()))
                .bindNow();
        String app = "http://127.0.0.1:" + server.port();
        Gate.await();
        send(app + "/items/1", 31, 200);
        send(app + "/feed", 11, 200);
        send(app + "/price", 13, 202);
        send(app + "/sold", 7, 200);
        send(app + "/broken", 5, 500);
        send(app + "/nothing", 3, 404);
        System.out.println("done");
        System.out.flush();
        Gate.pass();
        server.disposeNow();
    }

    private static void send(String url, int times, int status) throws Exception {
        for (int i = 0; i < times; i++) {
            HttpURLConnection connection = (HttpURLConnection) new URL(url).openConnection();
            if (connection.getResponseCode() != status) {
                throw new AssertionError(url + " " + connection.getResponseCode());
            }
            if (status < 400) {
                connection.getInputStream().readAllBytes();
            }
            connection.disconnect();
        }
    }
}
