package btpy.agent;

import btpy.runtime.ClassNames;
import btpy.runtime.Session;
import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.Method;

/** Requests that the event thread carries out: TIMER, HOOK, SEND and SNAPSHOT. */
final class EventRequests extends RequestHandler {
    private final Weaving weaving;
    private final Instrumentation instrumentation;
    private final Transformer transformer;
    private final EventPump events;
    private final Session session;

    EventRequests(Link link, Weaving weaving, Instrumentation instrumentation, Transformer transformer, EventPump events, Session session) {
        super(link);
        this.weaving = weaving;
        this.instrumentation = instrumentation;
        this.transformer = transformer;
        this.events = events;
        this.session = session;
    }

    void timer(int id, Payload request) throws IOException {
        int site = request.u4();
        long period = request.u8();
        String handler = request.string();
        request.end();
        Class<?> type = HandlerClasses.find(handler);
        if (type == null || site >>> 24 != session.slot() || period < 0) {
            done(id, type == null ? "there is no handler " + handler : "the site or the period is not valid");
            return;
        }
        try {
            Method fire = type.getMethod("fire", int.class);
            if (period == 0) {
                events.runOnce(id, site, fire);
            } else {
                events.runEvery(period, site, fire);
                done(id, "");
            }
        } catch (NoSuchMethodException missingMethod) {
            done(id, handler + " has no fire(int)");
        }
    }

    void hook(int id, Payload request) throws Exception {
        int probe = request.u4();
        int site = request.u4();
        String handler = request.string();
        int kind = request.u1();
        int number = request.u4();
        ClassPattern[] patterns = ClassPattern.list(request);
        int[] lines = request.u4s();
        request.end();
        Class<?> type = HandlerClasses.find(handler);
        Method fire = type == null ? null : Hook.fire(type);
        if (fire == null || site >>> 24 != session.slot()) {
            done(id, fire == null ? "there is no handler " + handler : "the site is not valid");
            return;
        }
        Hook hook;
        try {
            hook = new Hook(probe, kind, number, kind == Hook.CLASS_LOADED ? new Watch(patterns) : null,
                kind == Hook.MEMORY_LOW ? new MemoryPools(patterns, number) : null, sampler(kind, number), lines, site, fire);
        } catch (IllegalArgumentException mismatch) {
            done(id, mismatch.getMessage());
            return;
        } catch (LinkageError missingClass) {
            done(id, "this JVM has no module java.management");
            return;
        }
        events.hook(hook);
        if (kind == Hook.CLASS_LOADED) {
            for (Class<?> loadedType : instrumentation.getAllLoadedClasses()) {
                // this call stores the names of subtypes in the patterns
                hook.classes.matchesLoaded(loadedType, ClassNames.of(loadedType), false);
            }
            hook.classes.forget();
            weaving.listen();
            transformer.hook(hook, events);
        }
        done(id, "");
    }

    private ThreadSampler sampler(int kind, int perSecond) {
        if (kind != Hook.THREAD_BUSY && kind != Hook.THREAD_SEEN) {
            return null;
        }
        return new ThreadSampler(perSecond, kind == Hook.THREAD_SEEN, session.mostFrames(), session.share());
    }

    void sendEvent(int id, Payload request) throws ProtocolException {
        int event = request.u4();
        request.end();
        events.send(id, event);
    }

    void snapshot(int id, Payload request) throws ProtocolException {
        int[] maps = request.u4s();
        request.end();
        events.snapshot(id, maps);
    }
}
