import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoProcessor;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** Monos and Fluxes of Reactor whose work runs on schedulers, and after signals from other threads. */
public class ReactorFlows {
    public static void main(String[] arguments) throws Exception {
        requests().serve();
    }

    @SuppressWarnings("deprecation")
    static HandingOver requests() {
        Scheduler own = Schedulers.fromExecutor(Executors.newFixedThreadPool(3));
        HandingOver requests = new HandingOver();
        requests.kind("subscribeOn", 2, work -> Mono.fromRunnable(work).subscribeOn(Schedulers.boundedElastic())
                .doFinally(signal -> work.run()).subscribe());
        requests.kind("publishOn", 3, work -> Flux.range(0, 3).publishOn(Schedulers.parallel(), 1)
                .subscribe(number -> work.run()));
        requests.kind("publishOn twice", 5, work -> Flux.range(0, 5).publishOn(Schedulers.single(), 2)
                .flatMap(number -> Mono.just(number).publishOn(Schedulers.parallel()))
                .publishOn(Schedulers.boundedElastic()).subscribe(number -> work.run()));
        requests.kind("publishOn to the end", 4, work -> Flux.range(0, 3).publishOn(Schedulers.parallel(), 1)
                .publish(numbers -> numbers.map(number -> number + 1)).publishOn(Schedulers.parallel())
                .doOnComplete(work).subscribe(number -> work.run()));
        requests.kind("own executor", 3, work -> Flux.range(0, 3).publishOn(own).subscribe(number -> work.run()));
        requests.kind("delayElement", 1, work -> Mono.just(1).delayElement(Duration.ofMillis(2))
                .subscribe(number -> work.run()));
        requests.kind("delayElements", 3, work -> Flux.range(0, 3).delayElements(Duration.ofMillis(1))
                .subscribe(number -> work.run()));
        requests.kind("delaySubscription", 1, work -> Mono.just(1).delaySubscription(Duration.ofMillis(1))
                .subscribe(number -> work.run()));
        requests.kind("interval", 5, work -> Flux.interval(Duration.ofMillis(1)).onBackpressureBuffer().take(5)
                .subscribe(number -> work.run()));
        requests.kind("parallel", 8, work -> Flux.range(0, 8).parallel(4).runOn(Schedulers.parallel())
                .doOnNext(number -> work.run()).sequential().subscribe());
        requests.kind("timeout", 1, work -> Mono.never().timeout(Duration.ofMillis(2))
                .onErrorResume(failure -> Mono.fromRunnable(work)).subscribe());
        requests.kind("create", 1, work -> Mono.create(sink -> HandingOver.later(1, () -> sink.success(1)))
                .subscribe(number -> work.run()));
        requests.kind("create many", 4, work -> Flux.<Integer>create(sink -> HandingOver.later(1, () -> {
            sink.next(1);
            sink.next(2);
            sink.next(3);
            sink.complete();
        })).doOnComplete(work).subscribe(number -> work.run()));
        CompletableFuture<Integer> future = new CompletableFuture<>();
        requests.kind("future", 1, work -> {
            Mono.fromFuture(future).subscribe(number -> work.run());
            HandingOver.later(20, () -> future.complete(1));
        });
        MonoProcessor<Integer> shared = MonoProcessor.create();
        requests.kind("one signal for all", 1, work -> {
            shared.subscribe(number -> work.run());
            HandingOver.later(20, () -> shared.onNext(1));
        });
        Mono<Integer> cached = Mono.fromCallable(() -> 1).delayElement(Duration.ofMillis(20)).cache();
        requests.kind("cached", 1, work -> cached.subscribe(number -> work.run()));
        Mono<Integer> expiring = Mono.fromCallable(() -> 1).delayElement(Duration.ofMillis(5)).cache(Duration.ofMillis(1));
        requests.kind("cached for a while", 1, work -> expiring.subscribe(number -> work.run()));
        Flux<Long> hot = Flux.interval(Duration.ofMillis(1)).share();
        requests.kind("shared", 2, work -> hot.take(2).subscribe(number -> work.run()));
        requests.kind("replayed", 3, work -> {
            Flux<Integer> replayed = Flux.range(0, 3).delayElements(Duration.ofMillis(1)).replay().autoConnect();
            replayed.subscribe(number -> work.run());
        });
        requests.kind("block", 1, work -> {
            Mono.just(1).delayElement(Duration.ofMillis(1)).block();
            work.run();
        });
        return requests;
    }
}
