package btpy.agent;

import btpy.runtime.ClassNames;
import java.io.IOException;
import java.lang.instrument.Instrumentation;

/** Requests about the session itself: RESTORE, DETACH and LEAVE. */
final class SessionRequests extends RequestHandler {
    private static final int DRAIN_MILLIS = 5_000;

    private final Tracer tracer;
    private final Instrumentation instrumentation;
    private final EventPump events;
    private final Outbox outbox;

    SessionRequests(Link link, Tracer tracer, Instrumentation instrumentation, EventPump events, Outbox outbox) {
        super(link);
        this.tracer = tracer;
        this.instrumentation = instrumentation;
        this.events = events;
        this.outbox = outbox;
    }

    void restore(int id, Payload request) throws IOException {
        request.end();
        send(tracer.restore().frame(id));
    }

    void detach(int id, Payload request) throws IOException {
        request.end();
        Restoration restoration = tracer.restore();
        events.finish(DRAIN_MILLIS);
        outbox.flush(DRAIN_MILLIS);
        int handlers = 0;
        int agent = 0;
        for (Class<?> type : instrumentation.getInitiatedClasses(null)) {
            String name = ClassNames.of(type);
            if (HandlerClasses.isHandler(name)) {
                handlers++;
            } else if (name.startsWith("btpy.")) {
                agent++;
            }
        }
        Frame frame = new Frame(Frame.FAREWELL).u4(id).u4(restoration.failures.size());
        for (String[] failure : restoration.failures) {
            frame.string(failure[0] + " is still woven: " + failure[1]);
        }
        tracer.end();
        send(frame.u4(handlers).u4(agent));
        tracer.leave(null);
    }

    /** The client leaves, and the session continues without it. */
    void leave(int id, Payload request) throws IOException {
        int ttlMillis = request.size();
        String name = request.string();
        byte[] description = request.bytes();
        request.end();
        String refusal = tracer.keep(ttlMillis, name, description);
        if (refusal != null) {
            send(new Frame(Frame.LEFT).u4(id).string(refusal).u4(0));
            return;
        }
        events.detachClient();
        if (!events.awaitDetached(DRAIN_MILLIS)) {
            throw new IOException("the event thread does not answer");
        }
        outbox.flush(DRAIN_MILLIS);
        send(new Frame(Frame.LEFT).u4(id).string("").u4(tracer.id()));
        tracer.detachClient();
    }
}
