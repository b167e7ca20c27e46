import java.time.Duration;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.SpawnProtocol;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.AskPattern;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Routers;

/** The typed actors of Pekko, or of Akka: the names of packages are the only difference. */
public class PekkoTypedFlows {
    /** Work that an actor does before it answers. */
    static final class Question {
        final Runnable work;
        final ActorRef<String> asker;

        Question(Runnable work, ActorRef<String> asker) {
            this.work = work;
            this.asker = asker;
        }
    }

    /** Work that an actor gets again, with the answer to its question. */
    static final class Answered implements Runnable {
        private final Runnable work;

        Answered(Runnable work) {
            this.work = work;
        }

        @Override
        public void run() {
            work.run();
        }
    }

    private static Behavior<Runnable> worker() {
        return Behaviors.receiveMessage(work -> {
            work.run();
            return Behaviors.same();
        });
    }

    private static Behavior<Runnable> first(ActorRef<Runnable> next) {
        return Behaviors.receiveMessage(work -> {
            work.run();
            next.tell(work);
            return Behaviors.same();
        });
    }

    private static Behavior<Question> answering() {
        return Behaviors.receiveMessage(question -> {
            question.work.run();
            question.asker.tell("done");
            return Behaviors.same();
        });
    }

    /** Asks another actor for each message, and runs the work again with the answer. */
    private static Behavior<Runnable> asking(ActorRef<Question> answering) {
        return Behaviors.setup(context -> Behaviors.receiveMessage(work -> {
            if (work instanceof Answered) {
                work.run();
            } else {
                ask(context, answering, work);
            }
            return Behaviors.same();
        }));
    }

    private static void ask(ActorContext<Runnable> context, ActorRef<Question> answering, Runnable work) {
        context.ask(String.class, answering, Duration.ofSeconds(20), asker -> new Question(work, asker),
                (answer, failure) -> new Answered(work));
    }

    /** Creates an actor for each message, and gives it the work. */
    private static Behavior<Runnable> spawning() {
        return Behaviors.setup(context -> Behaviors.receiveMessage(work -> {
            context.spawnAnonymous(once()).tell(work);
            return Behaviors.same();
        }));
    }

    private static Behavior<Runnable> once() {
        return Behaviors.receiveMessage(work -> {
            work.run();
            return Behaviors.stopped();
        });
    }

    /** Runs each message a little later, as a message to itself. */
    private static Behavior<Runnable> timed(ActorRef<Runnable> worker) {
        return Behaviors.setup(context -> Behaviors.receiveMessage(work -> {
            context.scheduleOnce(Duration.ofMillis(2), worker, work);
            return Behaviors.same();
        }));
    }

    public static void main(String[] arguments) throws Exception {
        ActorSystem<SpawnProtocol.Command> system = ActorSystem.create(SpawnProtocol.create(), "flows");
        ActorRef<Runnable> worker = system.systemActorOf(worker(), "worker", Props.empty());
        ActorRef<Runnable> first = system.systemActorOf(first(worker), "first", Props.empty());
        ActorRef<Question> answering = system.systemActorOf(answering(), "answering", Props.empty());
        ActorRef<Runnable> asking = system.systemActorOf(asking(answering), "asking", Props.empty());
        ActorRef<Runnable> spawning = system.systemActorOf(spawning(), "spawning", Props.empty());
        ActorRef<Runnable> timed = system.systemActorOf(timed(worker), "timed", Props.empty());
        ActorRef<Runnable> router = system.systemActorOf(Routers.pool(3, worker()), "router", Props.empty());
        HandingOver requests = new HandingOver();
        requests.kind("tell", 2, work -> {
            worker.tell(work);
            router.tell(work);
        });
        requests.kind("next actor", 2, first::tell);
        requests.kind("ask of an actor", 2, asking::tell);
        requests.kind("ask from outside", 2, work -> AskPattern
                .<Question, String>ask(answering, asker -> new Question(work, asker), Duration.ofSeconds(20),
                        system.scheduler())
                .thenAccept(answer -> work.run()));
        requests.kind("new actor", 1, spawning::tell);
        requests.kind("delay", 1, timed::tell);
        requests.serve();
    }
}
