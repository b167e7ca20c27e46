import com.google.common.util.concurrent.FutureCallback;
import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.ListeningExecutorService;
import com.google.common.util.concurrent.MoreExecutors;
import com.google.common.util.concurrent.SettableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** The futures and executors of Guava. */
public class GuavaFlows {
    private static FutureCallback<Integer> callback(Runnable work) {
        return new FutureCallback<Integer>() {
            @Override
            public void onSuccess(Integer number) {
                work.run();
            }

            @Override
            public void onFailure(Throwable failure) {
                work.run();
            }
        };
    }

    public static void main(String[] arguments) throws Exception {
        ListeningExecutorService pool = MoreExecutors.listeningDecorator(Executors.newFixedThreadPool(4));
        ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
        Executor sequential = MoreExecutors.newSequentialExecutor(pool);
        HandingOver requests = new HandingOver();
        requests.kind("submit", 1, work -> pool.submit(work));
        requests.kind("callback", 2, work -> {
            ListenableFuture<Integer> future = pool.submit(() -> {
                work.run();
                return 1;
            });
            Futures.addCallback(future, callback(work), pool);
        });
        SettableFuture<Integer> shared = SettableFuture.create();
        requests.kind("listeners of one future", 5, work -> {
            shared.addListener(work, pool);
            shared.addListener(work, MoreExecutors.directExecutor());
            Futures.addCallback(shared, callback(work), MoreExecutors.directExecutor());
            ListenableFuture<Integer> next = Futures.transform(shared, number -> {
                work.run();
                return number + 1;
            }, pool);
            Futures.addCallback(next, callback(work), pool);
            HandingOver.later(20, () -> shared.set(1));
        });
        requests.kind("catching", 1, work -> {
            SettableFuture<Integer> future = SettableFuture.create();
            Futures.catching(future, IllegalStateException.class, failure -> {
                work.run();
                return 1;
            }, MoreExecutors.directExecutor());
            HandingOver.later(1, () -> future.setException(new IllegalStateException("expected")));
        });
        requests.kind("timeout", 1, work -> Futures.addCallback(
                Futures.withTimeout(SettableFuture.create(), 2, TimeUnit.MILLISECONDS, timer), callback(work), pool));
        requests.kind("all", 1, work -> {
            SettableFuture<Integer> one = SettableFuture.create();
            Futures.whenAllSucceed(one, pool.submit(() -> 2)).run(work, pool);
            HandingOver.later(1, () -> one.set(1));
        });
        requests.kind("sequential", 2, work -> {
            sequential.execute(work);
            sequential.execute(work);
        });
        requests.serve();
    }
}
