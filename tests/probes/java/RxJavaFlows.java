import io.reactivex.rxjava3.core.Completable;
import io.reactivex.rxjava3.core.Flowable;
import io.reactivex.rxjava3.core.Maybe;
import io.reactivex.rxjava3.core.Observable;
import io.reactivex.rxjava3.core.Scheduler;
import io.reactivex.rxjava3.core.Single;
import io.reactivex.rxjava3.processors.PublishProcessor;
import io.reactivex.rxjava3.schedulers.Schedulers;
import io.reactivex.rxjava3.subjects.BehaviorSubject;
import io.reactivex.rxjava3.subjects.PublishSubject;
import io.reactivex.rxjava3.subjects.ReplaySubject;
import io.reactivex.rxjava3.subjects.SingleSubject;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** The schedulers of RxJava 3, and signals from other threads. */
public class RxJavaFlows {
    public static void main(String[] arguments) throws Exception {
        Scheduler own = Schedulers.from(Executors.newFixedThreadPool(3));
        Scheduler interruptible = Schedulers.from(Executors.newFixedThreadPool(3), true);
        HandingOver requests = new HandingOver();
        requests.kind("subscribeOn", 2, work -> Single.fromCallable(() -> {
            work.run();
            return 1;
        }).subscribeOn(Schedulers.io()).subscribe(number -> work.run()));
        requests.kind("observeOn", 4, work -> Observable.range(0, 3).observeOn(Schedulers.computation())
                .doOnComplete(work::run).subscribe(number -> work.run()));
        requests.kind("observeOn twice", 5, work -> Flowable.range(0, 5).observeOn(Schedulers.single(), false, 2)
                .flatMapSingle(number -> Single.just(number).observeOn(Schedulers.computation()))
                .observeOn(Schedulers.io()).subscribe(number -> work.run()));
        requests.kind("new thread", 1, work -> Completable.fromRunnable(work).subscribeOn(Schedulers.newThread())
                .subscribe());
        requests.kind("own executor", 3, work -> Flowable.range(0, 3).observeOn(own, false, 1)
                .subscribe(number -> work.run()));
        requests.kind("interruptible", 1, work -> Completable.fromRunnable(work).subscribeOn(interruptible).subscribe());
        requests.kind("own executor later", 1, work -> Single.timer(1, TimeUnit.MILLISECONDS, own)
                .subscribe(number -> work.run()));
        requests.kind("worker", 3, work -> {
            Scheduler.Worker worker = own.createWorker();
            worker.schedule(work);
            worker.schedule(work);
            worker.schedule(work, 1, TimeUnit.MILLISECONDS);
        });
        Scheduler.Worker shared = own.createWorker();
        requests.kind("shared worker", 1, work -> shared.schedule(work));
        requests.kind("delay", 1, work -> Single.just(1).delay(2, TimeUnit.MILLISECONDS)
                .subscribe(number -> work.run()));
        requests.kind("interval", 5, work -> Flowable.interval(1, TimeUnit.MILLISECONDS).onBackpressureBuffer().take(5)
                .subscribe(number -> work.run()));
        requests.kind("parallel", 8, work -> Flowable.range(0, 8).parallel(4).runOn(Schedulers.computation())
                .doOnNext(number -> work.run()).sequential().subscribe());
        requests.kind("timeout", 1, work -> Single.never().timeout(2, TimeUnit.MILLISECONDS)
                .doOnError(failure -> work.run()).subscribe(number -> {}, failure -> {}));
        requests.kind("create", 1, work -> Single.create(emitter -> HandingOver.later(1, () -> emitter.onSuccess(1)))
                .subscribe(number -> work.run()));
        requests.kind("create many", 3, work -> Observable.<Integer>create(
                emitter -> HandingOver.later(1, () -> {
                    emitter.onNext(1);
                    emitter.onNext(2);
                    emitter.onComplete();
                })).doOnComplete(work::run).subscribe(number -> work.run()));
        CompletableFuture<Integer> future = new CompletableFuture<>();
        requests.kind("future", 1, work -> {
            Maybe.fromCompletionStage(future).subscribe(number -> work.run());
            HandingOver.later(20, () -> future.complete(1));
        });
        PublishSubject<Integer> subject = PublishSubject.create();
        requests.kind("subject", 1, work -> {
            subject.take(1).subscribe(number -> work.run());
            HandingOver.later(20, () -> subject.onNext(1));
        });
        BehaviorSubject<Integer> behavior = BehaviorSubject.create();
        requests.kind("behavior subject", 1, work -> {
            behavior.take(1).subscribe(number -> work.run());
            HandingOver.later(20, () -> behavior.onNext(1));
        });
        ReplaySubject<Integer> replaying = ReplaySubject.create();
        requests.kind("replaying subject", 1, work -> {
            replaying.take(1).subscribe(number -> work.run());
            HandingOver.later(20, () -> replaying.onNext(1));
        });
        SingleSubject<Integer> single = SingleSubject.create();
        requests.kind("single subject", 1, work -> {
            single.subscribe(number -> work.run());
            HandingOver.later(20, () -> single.onSuccess(1));
        });
        PublishProcessor<Integer> processor = PublishProcessor.create();
        requests.kind("processor", 1, work -> {
            processor.take(1).subscribe(number -> work.run());
            HandingOver.later(20, () -> processor.onNext(1));
        });
        Single<Integer> cached = Single.just(1).delay(20, TimeUnit.MILLISECONDS).cache();
        requests.kind("cached", 1, work -> cached.subscribe(number -> work.run()));
        Observable<Long> hot = Observable.interval(1, TimeUnit.MILLISECONDS).share();
        requests.kind("shared", 2, work -> hot.take(2).subscribe(number -> work.run()));
        Observable<Long> replayed = Observable.intervalRange(0, 3, 5, 1, TimeUnit.MILLISECONDS).replay().autoConnect();
        requests.kind("replayed", 3, work -> replayed.subscribe(number -> work.run()));
        requests.serve();
    }
}
