import jakarta.servlet.AsyncContext;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** A servlet that answers on other threads, and the requests to it, which this JVM sends. It begins each request. */
final class ServletFlows extends HttpServlet {
    private static final Map<String, HandingOver.Piece> WORK = new ConcurrentHashMap<>();
    private static final AtomicInteger NUMBERS = new AtomicInteger();
    private static final ExecutorService POOL = Executors.newFixedThreadPool(3);

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) {
        if (request.getDispatcherType() == DispatcherType.ASYNC) {
            ((HandingOver.Piece) request.getAttribute("work")).run();
            return;
        }
        HandingOver.Piece work = workOf(request);
        if (work.request < 0) {
            answer(request, work);
        } else {
            handle(request, work.request, work);
        }
    }

    static HandingOver.Piece workOf(HttpServletRequest request) {
        HandingOver.Piece work = WORK.remove(request.getQueryString());
        request.setAttribute("work", work);
        return work;
    }

    static void handle(HttpServletRequest request, int number, HandingOver.Piece work) {
        answer(request, work);
    }

    private static void answer(HttpServletRequest request, HandingOver.Piece work) {
        AsyncContext context = request.startAsync();
        switch (work.kind) {
            case "start":
                work.run();
                context.start(() -> {
                    work.run();
                    context.complete();
                });
                break;
            case "dispatch":
                HandingOver.later(2, context::dispatch);
                break;
            case "dispatch-at-once":
                context.dispatch();
                break;
            case "dispatch-by-a-pool":
                POOL.execute(() -> {
                    work.run();
                    context.dispatch("/served/other");
                });
                break;
            case "complete":
                context.addListener(new Listener(work));
                HandingOver.later(2, context::complete);
                break;
            default:
                context.addListener(new Listener(work));
                context.setTimeout(300); // on a busy machine Jetty loses some timeouts of 10 ms, also without btpy
        }
    }

    private static final class Listener implements AsyncListener {
        private final Runnable work;

        Listener(Runnable work) {
            this.work = work;
        }

        @Override
        public void onComplete(AsyncEvent event) {
            work.run();
        }

        @Override
        public void onTimeout(AsyncEvent event) {
            work.run();
            event.getAsyncContext().complete();
        }

        @Override
        public void onError(AsyncEvent event) {}

        @Override
        public void onStartAsync(AsyncEvent event) {}
    }

    /** {@code kinds}: the paths, each with the number of pieces of work of a request, such as "start=2". */
    static void serve(String app, String... kinds) throws Exception {
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        HandingOver requests = new HandingOver();
        for (String kind : kinds) {
            String[] words = kind.split("=");
            requests.kind(words[0], Integer.parseInt(words[1]), work -> {
                String number = "number" + NUMBERS.incrementAndGet();
                WORK.put(number, (HandingOver.Piece) work);
                URI address = URI.create(app + "/served/" + words[0] + "?" + number);
                client.sendAsync(HttpRequest.newBuilder(address).build(), BodyHandlers.discarding())
                        .whenComplete((response, failure) -> {
                            if (failure != null || response.statusCode() != 200) {
                                System.err.println(address + ": " + (failure != null ? failure : response));
                            }
                        });
            });
        }
        requests.serve();
    }

    static void serve(String app) throws Exception {
        serve(app, "start=2", "dispatch=1", "dispatch-at-once=1", "dispatch-by-a-pool=2", "complete=1", "timeout=2");
    }
}
