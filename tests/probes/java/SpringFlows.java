import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.task.SimpleAsyncTaskExecutor;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/** The asynchronous methods and the executors of Spring. */
public class SpringFlows {
    @Configuration
    @EnableAsync
    public static class Settings {
        @Bean
        public ThreadPoolTaskExecutor taskExecutor() {
            ThreadPoolTaskExecutor executor = new ThreadPoolTaskExecutor();
            executor.setCorePoolSize(3);
            executor.setTaskDecorator(task -> task::run);
            return executor;
        }

        @Bean
        public Executor threads() {
            SimpleAsyncTaskExecutor executor = new SimpleAsyncTaskExecutor();
            executor.setConcurrencyLimit(7);
            return executor;
        }

        @Bean
        public ThreadPoolTaskScheduler scheduler() {
            return new ThreadPoolTaskScheduler();
        }

        @Bean
        public Service service() {
            return new Service();
        }
    }

    public static class Service {
        @Async
        public void forget(Runnable work) {
            work.run();
        }

        @Async("threads")
        public void inThread(Runnable work) {
            work.run();
        }

        @Async
        public CompletableFuture<Integer> promise(Runnable work) {
            work.run();
            return CompletableFuture.completedFuture(1);
        }
    }

    public static void main(String[] arguments) throws Exception {
        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext(Settings.class);
        Service service = context.getBean(Service.class);
        ThreadPoolTaskScheduler scheduler = context.getBean(ThreadPoolTaskScheduler.class);
        ThreadPoolTaskExecutor pool = context.getBean(ThreadPoolTaskExecutor.class);
        HandingOver requests = new HandingOver();
        requests.kind("@Async", 1, service::forget);
        requests.kind("@Async in a thread", 1, service::inThread);
        requests.kind("@Async with a future", 3, work -> service.promise(work).thenAccept(one -> work.run())
                .thenRunAsync(work, pool));
        requests.kind("task executor", 3, work -> {
            pool.execute(work);
            pool.submit(work);
            pool.submitCompletable(work);
        });
        requests.kind("scheduler", 1, work -> scheduler.schedule(work, java.time.Instant.now().plusMillis(2)));
        requests.serve();
    }
}
