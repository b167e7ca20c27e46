import io.netty.util.HashedWheelTimer;
import io.netty.util.concurrent.DefaultEventExecutorGroup;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.EventExecutorGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.NonStickyEventExecutorGroup;
import io.netty.util.concurrent.Promise;
import io.netty.util.concurrent.UnorderedThreadPoolEventExecutor;
import java.util.concurrent.TimeUnit;

/** The event loops of Netty, its timer, and the listeners of its futures. */
public class NettyFlows {
    public static void main(String[] arguments) throws Exception {
        EventExecutorGroup loops = new DefaultEventExecutorGroup(3);
        EventExecutorGroup others = new DefaultEventExecutorGroup(2);
        HashedWheelTimer timer = new HashedWheelTimer(1, TimeUnit.MILLISECONDS);
        HandingOver requests = new HandingOver();
        requests.kind("execute", 1, work -> loops.next().execute(work));
        requests.kind("submit", 1, work -> loops.submit(work));
        requests.kind("schedule", 1, work -> loops.schedule(work, 3, TimeUnit.MILLISECONDS));
        requests.kind("periodic", 1, work -> {
            boolean[] ran = {false};
            loops.next().scheduleAtFixedRate(() -> {
                if (ran[0]) {
                    throw new IllegalStateException("the end of the task");
                }
                ran[0] = true;
                work.run();
            }, 1, 1, TimeUnit.MILLISECONDS);
        });
        requests.kind("loop to loop", 2, work -> {
            EventExecutor first = loops.next();
            first.execute(() -> {
                work.run();
                loops.next().schedule(work, 1, TimeUnit.MILLISECONDS);
            });
        });
        requests.kind("listener", 3, work -> {
            Promise<String> promise = new DefaultPromise<>(loops.next());
            promise.addListener(future -> work.run());
            promise.addListener(future -> work.run());
            promise.addListener(future -> others.next().execute(work));
            others.next().schedule(() -> promise.setSuccess("done"), 1, TimeUnit.MILLISECONDS);
        });
        Promise<String> shared = new DefaultPromise<>(loops.next());
        requests.kind("listeners of one future", 1, work -> {
            shared.addListener(future -> work.run());
            others.next().schedule(() -> shared.trySuccess("done"), 30, TimeUnit.MILLISECONDS);
        });
        requests.kind("wheel timer", 1, work -> timer.newTimeout(timeout -> work.run(), 2, TimeUnit.MILLISECONDS));
        requests.kind("global executor", 1, work -> GlobalEventExecutor.INSTANCE.execute(work));
        requests.kind("global executor scheduled", 1,
                work -> GlobalEventExecutor.INSTANCE.schedule(work, 1, TimeUnit.MILLISECONDS));
        EventExecutorGroup nonSticky = new NonStickyEventExecutorGroup(new UnorderedThreadPoolEventExecutor(3));
        EventExecutor ordered = nonSticky.next();
        requests.kind("non-sticky", 1, work -> ordered.execute(work));
        requests.serve();
    }
}
