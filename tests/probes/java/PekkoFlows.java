import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.actor.AbstractActorWithStash;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.PoisonPill;
import org.apache.pekko.actor.Props;
import org.apache.pekko.dispatch.Futures;
import org.apache.pekko.pattern.Patterns;
import org.apache.pekko.routing.RoundRobinPool;

/** The actors of Pekko, or of Akka: the names of packages are the only difference. */
public class PekkoFlows {
    /** Runs messages. */
    static final class Worker extends AbstractActor {
        @Override
        public Receive createReceive() {
            return receiveBuilder().match(Runnable.class, Runnable::run).build();
        }
    }

    /** Runs messages, answers them, and gives them to the next actor. */
    static final class First extends AbstractActor {
        private final ActorRef next;

        First(ActorRef next) {
            this.next = next;
        }

        @Override
        public Receive createReceive() {
            return receiveBuilder().match(Runnable.class, work -> {
                work.run();
                getSender().tell("done", getSelf());
                next.forward(work, getContext());
            }).build();
        }
    }

    /** Keeps messages until another message allows it to run them. */
    static final class Waiting extends AbstractActorWithStash {
        private boolean opened;

        @Override
        public Receive createReceive() {
            return receiveBuilder().match(Runnable.class, work -> {
                if (opened) {
                    work.run();
                } else {
                    stash();
                }
            }).matchEquals("open", message -> {
                opened = true;
                unstashAll();
            }).build();
        }
    }

    public static void main(String[] arguments) throws Exception {
        ActorSystem system = ActorSystem.create("flows");
        ActorRef none = ActorRef.noSender();
        ActorRef worker = system.actorOf(Props.create(Worker.class, Worker::new));
        ActorRef first = system.actorOf(Props.create(First.class, () -> new First(worker)));
        ActorRef waiting = system.actorOf(Props.create(Waiting.class, Waiting::new));
        ActorRef router = system.actorOf(new RoundRobinPool(3).props(Props.create(Worker.class, Worker::new)));
        HandingOver requests = new HandingOver();
        requests.kind("tell", 2, work -> {
            worker.tell(work, none);
            router.tell(work, none);
        });
        requests.kind("forward", 2, work -> first.tell(work, none));
        requests.kind("ask", 3, work -> Patterns.ask(first, work, Duration.ofSeconds(20))
                .thenAccept(answer -> work.run()));
        requests.kind("stash", 1, work -> {
            waiting.tell(work, none);
            HandingOver.later(20, () -> waiting.tell("open", none));
        });
        requests.kind("new actor", 1, work -> {
            ActorRef actor = system.actorOf(Props.create(Worker.class, Worker::new));
            actor.tell(work, none);
            actor.tell(PoisonPill.getInstance(), none);
        });
        requests.kind("scheduler", 2, work -> {
            system.scheduler().scheduleOnce(Duration.ofMillis(2), work, system.dispatcher());
            system.scheduler().scheduleOnce(Duration.ofMillis(2), worker, work, system.dispatcher(), none);
        });
        requests.kind("dispatcher", 2, work -> {
            system.dispatcher().execute(work);
            Futures.future(() -> {
                work.run();
                return 1;
            }, system.dispatcher());
        });
        requests.kind("pipe", 2, work -> {
            CompletableFuture<Runnable> future = CompletableFuture.supplyAsync(() -> {
                work.run();
                return work;
            });
            Patterns.pipe(future, system.dispatcher()).to(worker);
        });
        requests.serve();
    }
}
