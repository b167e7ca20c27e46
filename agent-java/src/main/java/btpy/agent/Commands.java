package btpy.agent;

import java.io.IOException;
import java.util.ArrayDeque;

/**
 * Executes the client's requests one after the other, on its own thread. A {@link RequestHandler} does the work of each
 * request.
 */
final class Commands extends Worker {
    private static final int MAX_WAITING = 1024;

    private final Tracer tracer;
    private final WeaveRequests weaveRequests;
    private final ClassRequests classRequests;
    private final ProbeRequests probeRequests;
    private final EventRequests eventRequests;
    private final SessionRequests sessionRequests;

    private final ArrayDeque<Payload> queue = new ArrayDeque<Payload>(MAX_WAITING);
    private boolean sweep;
    private boolean restore;
    private boolean busy;

    Commands(Tracer tracer, WeaveRequests weaveRequests, ClassRequests classRequests, ProbeRequests probeRequests,
        EventRequests eventRequests, SessionRequests sessionRequests) {
        this.tracer = tracer;
        this.weaveRequests = weaveRequests;
        this.classRequests = classRequests;
        this.probeRequests = probeRequests;
        this.eventRequests = eventRequests;
        this.sessionRequests = sessionRequests;
    }

    synchronized void add(Payload request) throws ProtocolException {
        if (queue.size() == MAX_WAITING) {
            throw new ProtocolException("more than " + MAX_WAITING + " requests at once");
        }
        queue.add(request);
        notifyAll();
    }

    /**
     * Searches for classes that were missed, after the waiting requests. Returns false while the client itself searches
     * for them.
     */
    synchronized boolean sweep() {
        if (weaveRequests.clientSearches()) {
            return false;
        }
        sweep = true;
        notifyAll();
        return true;
    }

    /** Restores the classes, after the waiting requests. */
    synchronized void restore() {
        restore = true;
        notifyAll();
    }

    /** Drops the waiting requests, because the client has closed the connection. */
    synchronized void clear() {
        queue.clear();
    }

    /** Waits at most {@code millis} until all requests are done. Returns whether all are done. */
    synchronized boolean awaitIdle(long millis) {
        long deadline = System.nanoTime() + millis * 1_000_000L;
        while (busy || !queue.isEmpty() || restore) {
            if (closed || !pauseUntil(deadline)) {
                return false;
            }
        }
        return true;
    }

    @Override
    public void run() {
        try {
            while (true) {
                Payload request;
                boolean restoring;
                synchronized (this) {
                    busy = false;
                    notifyAll();
                    while (!closed && queue.isEmpty() && !sweep && !restore) {
                        pause(0);
                    }
                    if (closed) {
                        return;
                    }
                    busy = true;
                    request = queue.poll();
                    restoring = request == null && restore;
                    if (restoring) {
                        restore = false;
                    } else if (request == null) {
                        sweep = false;
                    }
                }
                if (restoring) {
                    tracer.restore();
                } else if (request == null) {
                    weaveRequests.weaveMissed();
                } else {
                    answer(request);
                }
            }
        } catch (Throwable failure) {
            tracer.fail(failure);
        }
    }

    private void answer(Payload request) throws Exception {
        try {
            carryOut(request);
        } catch (ProtocolException protocolError) {
            tracer.hangUp(protocolError.getMessage());
        } catch (IOException disconnection) {
            tracer.hangUp(null);
        }
    }

    private void carryOut(Payload request) throws Exception {
        int id = request.u4();
        switch (request.type) {
            case Payload.WATCH:
                weaveRequests.watch(id, request);
                break;
            case Payload.PREWEAVE:
                weaveRequests.preweave(id, request);
                break;
            case Payload.WEAVE:
                weaveRequests.weave(id, request);
                break;
            case Payload.SEARCH:
                classRequests.search(id, request);
                break;
            case Payload.READ:
                classRequests.read(id, request);
                break;
            case Payload.LOOK_UP:
                classRequests.lookUp(id, request);
                break;
            case Payload.LOCATE:
                classRequests.locate(id, request);
                break;
            case Payload.INSTALL:
                probeRequests.install(id, request);
                break;
            case Payload.ENABLE:
                probeRequests.enable(id, request);
                break;
            case Payload.SAMPLE:
                probeRequests.sample(id, request);
                break;
            case Payload.LIMIT:
                probeRequests.limit(id, request);
                break;
            case Payload.LEVEL:
                probeRequests.level(id, request);
                break;
            case Payload.REMOVE:
                probeRequests.remove(id, request);
                break;
            case Payload.TIMER:
                eventRequests.timer(id, request);
                break;
            case Payload.HOOK:
                eventRequests.hook(id, request);
                break;
            case Payload.SEND:
                eventRequests.sendEvent(id, request);
                break;
            case Payload.SNAPSHOT:
                eventRequests.snapshot(id, request);
                break;
            case Payload.RESTORE:
                sessionRequests.restore(id, request);
                break;
            case Payload.DETACH:
                sessionRequests.detach(id, request);
                break;
            case Payload.LEAVE:
                sessionRequests.leave(id, request);
                break;
            default:
                throw new ProtocolException("a message of type 0x" + Integer.toHexString(request.type));
        }
    }
}
