package btpy.agent;

import btpy.runtime.Headroom;
import btpy.runtime.Session;
import java.io.IOException;

/** Requests about probes and maps: INSTALL, ENABLE, SAMPLE, LIMIT, LEVEL and REMOVE. */
final class ProbeRequests extends RequestHandler {
    /** The memory in bytes for a probe, and for a map without keys, with the cells of one thread. */
    private static final int PROBE_BYTES = 8 << 10;
    private static final int MAP_BYTES = 6 << 10;

    /** The size of probes and maps of one INSTALL that is always accepted, even if the heap is nearly full. */
    private static final int ALWAYS_INSTALLED_BYTES = 1 << 20;

    /** The time that a request waits for a garbage collection that may free memory. */
    private static final int PATIENCE_MILLIS = 2_000;

    private final Session session;
    private final EventPump events;
    private final Transformer transformer;
    private final JfrEvents jfr;

    ProbeRequests(Link link, Session session, EventPump events, Transformer transformer, JfrEvents jfr) {
        super(link);
        this.session = session;
        this.events = events;
        this.transformer = transformer;
        this.jfr = jfr;
    }

    void install(int id, Payload request) throws IOException {
        String error = "";
        try {
            int maps = request.count(16);
            requireRoom(maps, MAP_BYTES, "maps");
            for (int remaining = maps; remaining > 0; remaining--) {
                int map = request.u4();
                int kind = request.u1();
                int keys = request.u1();
                int precision = request.u1();
                int capacity = request.size();
                boolean evicts = request.bool();
                session.addMap(map, kind, keys, precision, capacity, request.u8s());
                if (evicts) {
                    session.evict(map);
                }
            }
            int probes = request.count(63);
            requireRoom(probes, PROBE_BYTES, "probes");
            for (int remaining = probes; remaining > 0; remaining--) {
                int probe = request.u4();
                boolean enabled = request.bool();
                int mode = request.u1();
                double parameter = Double.longBitsToDouble(request.u8());
                boolean adaptive = request.bool();
                session.addProbe(probe);
                session.sampling(probe, mode, parameter, adaptive, request.u4());
                session.limit(probe, request.u8(), request.u8(), request.u8(), request.u8());
                session.level(probe, request.u4());
                session.addTargets(request.u4(), request.u4s());
                session.setEnabled(probe, enabled);
            }
            String refusal = HandlerClasses.define(request, jfr);
            request.end();
            error = refusal == null ? "" : refusal;
        } catch (IllegalArgumentException rangeError) {
            error = rangeError.getMessage();
        }
        done(id, error);
    }

    /**
     * Throws IllegalArgumentException if the heap does not have enough memory for {@code count} probes or maps. A few
     * of them are always accepted.
     */
    private static void requireRoom(int count, int bytesOfEach, String what) {
        long bytes = (long) count * bytesOfEach;
        if (bytes > ALWAYS_INSTALLED_BYTES && !Headroom.await(bytes, PATIENCE_MILLIS)) {
            throw new IllegalArgumentException("the heap of the JVM has no room for " + count + " " + what);
        }
    }

    void enable(int id, Payload request) throws IOException {
        int probe = request.u4();
        boolean on = request.bool();
        request.end();
        done(id, session.setEnabled(probe, on) ? "" : "there is no probe " + probe);
    }

    void sample(int id, Payload request) throws IOException {
        int probe = request.u4();
        int mode = request.u1();
        double parameter = Double.longBitsToDouble(request.u8());
        boolean adaptive = request.bool();
        request.end();
        String error = "";
        try {
            session.resample(probe, mode, parameter, adaptive);
        } catch (IllegalArgumentException rangeError) {
            error = rangeError.getMessage();
        }
        done(id, error);
    }

    void limit(int id, Payload request) throws IOException {
        int probe = request.u4();
        boolean exists = session.limit(probe, request.u8(), request.u8(), request.u8());
        request.end();
        done(id, exists ? "" : "there is no probe " + probe);
    }

    void level(int id, Payload request) throws IOException {
        session.setLevel(request.size());
        request.end();
        done(id, "");
    }

    /** Disables probes, and ends the timers and hooks of their sites. */
    void remove(int id, Payload request) throws IOException {
        int[] probes = request.u4s();
        int[] sites = request.u4s();
        request.end();
        for (int probe : probes) {
            session.setEnabled(probe, false);
        }
        for (int site : sites) {
            events.remove(site);
            transformer.unhook(site);
        }
        done(id, "");
    }
}
