import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import scala.concurrent.ExecutionContext;
import scala.concurrent.ExecutionContext$;
import scala.concurrent.ExecutionContextExecutor;
import scala.concurrent.Future;
import scala.concurrent.Future$;
import scala.concurrent.Promise;
import scala.concurrent.Promise$;
import scala.util.Failure;
import scala.util.Success;

/** The futures of Scala, as its compiler calls them. */
public class ScalaFlows {
    private static <T> T then(Runnable work, T value) {
        work.run();
        return value;
    }

    private static <T> Promise<T> promise() {
        return Promise$.MODULE$.apply();
    }

    public static void main(String[] arguments) throws Exception {
        ExecutionContext global = ExecutionContext$.MODULE$.global();
        ExecutorService threads = Executors.newFixedThreadPool(3);
        ExecutionContextExecutor pool = ExecutionContext$.MODULE$.fromExecutor(threads);
        HandingOver requests = new HandingOver();
        requests.kind("apply", 2, work -> {
            Future$.MODULE$.apply(() -> then(work, 1), global);
            Future$.MODULE$.apply(() -> then(work, 1), pool);
        });
        requests.kind("execute", 2, work -> {
            global.execute(work);
            pool.execute(work);
        });
        requests.kind("chain", 5, work -> Future$.MODULE$.apply(() -> then(work, 1), global)
                .map(number -> then(work, number + 1), pool)
                .flatMap(number -> {
                    work.run();
                    return Future$.MODULE$.apply(() -> then(work, number + 1), global);
                }, global)
                .onComplete(result -> then(work, result), pool));
        Promise<Integer> shared = promise();
        requests.kind("callbacks of one promise", 4, work -> {
            Future<Integer> future = shared.future();
            future.onComplete(result -> then(work, result), pool);
            future.foreach(number -> then(work, number), global);
            future.map(number -> then(work, number), global).foreach(number -> then(work, number), pool);
            HandingOver.later(20, () -> shared.trySuccess(1));
        });
        requests.kind("failed", 2, work -> {
            Promise<Integer> failing = promise();
            failing.future()
                    .transform(result -> then(work, new Success<>(result.isFailure() ? 2 : 3)), pool)
                    .foreach(number -> then(work, number), global);
            HandingOver.later(1, () -> failing.complete(new Failure<>(new IllegalStateException("expected"))));
        });
        requests.kind("complete before", 1,
                work -> Future$.MODULE$.successful(1).map(number -> then(work, number), pool));
        requests.kind("both", 1, work -> {
            Promise<Integer> one = promise();
            one.future().zipWith(Future$.MODULE$.apply(() -> 2, global), (a, b) -> then(work, a + b), pool);
            HandingOver.later(1, () -> one.success(1));
        });
        requests.kind("complete with", 1, work -> {
            Promise<Integer> first = promise();
            Promise<Integer> second = promise();
            second.completeWith(first.future());
            second.future().foreach(number -> then(work, number), pool);
            HandingOver.later(1, () -> first.success(1));
        });
        requests.serve();
    }
}
