import reactor.core.publisher.Sinks;

/** The requests of {@link ReactorFlows}, and the sinks that Reactor has since 3.4. */
public class ReactorSinkFlows {
    public static void main(String[] arguments) throws Exception {
        HandingOver requests = ReactorFlows.requests();
        Sinks.One<Integer> one = Sinks.one();
        requests.kind("sink of one", 1, work -> {
            one.asMono().subscribe(number -> work.run());
            HandingOver.later(20, () -> one.tryEmitValue(1));
        });
        Sinks.Empty<Integer> empty = Sinks.empty();
        requests.kind("sink of none", 1, work -> {
            empty.asMono().doOnTerminate(work).subscribe();
            HandingOver.later(20, () -> empty.tryEmitEmpty());
        });
        requests.kind("unicast sink", 2, work -> {
            Sinks.Many<Integer> sink = Sinks.many().unicast().onBackpressureBuffer();
            sink.asFlux().subscribe(number -> work.run());
            HandingOver.later(1, () -> sink.tryEmitNext(1));
            HandingOver.later(9, () -> sink.tryEmitNext(2));
        });
        Sinks.Many<Integer> direct = Sinks.many().multicast().directBestEffort();
        requests.kind("direct sink", 1, work -> {
            direct.asFlux().next().subscribe(number -> work.run());
            HandingOver.later(20, () -> emit(direct));
        });
        Sinks.Many<Integer> buffered = Sinks.many().multicast().onBackpressureBuffer(1000, false);
        requests.kind("buffering sink", 1, work -> {
            buffered.asFlux().next().subscribe(number -> work.run());
            HandingOver.later(20, () -> emit(buffered));
        });
        Sinks.Many<Integer> replaying = Sinks.many().replay().latest();
        requests.kind("replaying sink", 1, work -> {
            replaying.asFlux().next().subscribe(number -> work.run());
            HandingOver.later(20, () -> emit(replaying));
        });
        requests.serve();
    }

    private static synchronized void emit(Sinks.Many<Integer> sink) {
        sink.tryEmitNext(1);
    }
}
