import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.WorkerExecutor;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/** The contexts, workers, timers, event bus and futures of Vert.x. */
public class VertxFlows {
    public static void main(String[] arguments) throws Exception {
        Vertx vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(3).setWorkerPoolSize(4));
        Context one = vertx.getOrCreateContext();
        WorkerExecutor workers = vertx.createSharedWorkerExecutor("own", 3);
        vertx.eventBus().<Integer>consumer("numbers", message -> message.reply(message.body() + 1));
        HandingOver requests = new HandingOver();
        requests.kind("runOnContext", 2, work -> {
            one.runOnContext(none -> work.run());
            vertx.runOnContext(none -> work.run());
        });
        requests.kind("executeBlocking", 2, work -> vertx.executeBlocking(piece(work)).onSuccess(number -> work.run()));
        requests.kind("executeBlocking unordered", 2,
                work -> vertx.executeBlocking(piece(work), false).onComplete(result -> work.run()));
        requests.kind("in order of a context", 4, work -> one.runOnContext(none -> {
            one.executeBlocking(piece(work)).onSuccess(number -> work.run());
            one.executeBlocking(piece(work)).map(number -> {
                work.run();
                return number;
            });
        }));
        requests.kind("own workers", 2, work -> workers.executeBlocking(piece(work)).onSuccess(number -> work.run()));
        requests.kind("timer", 1, work -> vertx.setTimer(2, timer -> work.run()));
        requests.kind("futures", 6, work -> {
            Promise<Integer> promise = Promise.promise();
            Future<Integer> future = promise.future();
            future.onSuccess(number -> work.run());
            future.onComplete(result -> work.run()).compose(number -> {
                work.run();
                return vertx.executeBlocking(piece(work));
            }).map(number -> {
                work.run();
                return number;
            }).eventually(() -> {
                work.run();
                return Future.succeededFuture();
            });
            HandingOver.later(1, () -> promise.complete(1));
        });
        Promise<Integer> shared = Promise.promise();
        requests.kind("one future for all", 1, work -> {
            shared.future().onSuccess(number -> work.run());
            HandingOver.later(20, () -> shared.tryComplete(1));
        });
        requests.kind("failure", 2, work -> {
            Promise<Integer> promise = Promise.promise();
            promise.future().onFailure(failure -> work.run()).otherwise(failure -> {
                work.run();
                return 1;
            });
            HandingOver.later(1, () -> promise.fail("expected"));
        });
        requests.kind("event bus", 1,
                work -> vertx.eventBus().<Integer>request("numbers", 1).onSuccess(reply -> work.run()));
        requests.serve();
    }

    private static Callable<Integer> piece(Runnable work) {
        return () -> {
            work.run();
            return 1;
        };
    }
}
