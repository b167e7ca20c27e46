import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** Work of Reactor that waits for the only thread of its scheduler. */
public class ReactorQueue {
    private static final int MILLIS = 30;

    public static void main(String[] arguments) throws Exception {
        Scheduler shop = Schedulers.newSingle("shop");
        Scheduler later = Schedulers.newSingle("later");
        Gate.await();
        CountDownLatch ended = new CountDownLatch(11 + 7 + 3);
        for (int i = 0; i < 11; i++) {
            Mono.fromRunnable(ReactorQueue::work).subscribeOn(shop).doOnTerminate(ended::countDown).subscribe();
        }
        for (int i = 0; i < 7; i++) {
            Mono.just(i).publishOn(shop).doOnNext(number -> work()).doOnTerminate(ended::countDown).subscribe();
        }
        for (int i = 0; i < 3; i++) {
            Mono.delay(Duration.ofMillis(500), later).doOnTerminate(ended::countDown).subscribe();
        }
        ended.await();
        System.out.println("done");
        System.out.flush();
        Gate.pass();
        shop.dispose();
        later.dispose();
    }

    private static void work() {
        try {
            Thread.sleep(MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
