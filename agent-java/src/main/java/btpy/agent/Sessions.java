package btpy.agent;

import java.util.ArrayList;
import java.util.List;

/** The sessions of this JVM, for clients that list sessions or join one. */
final class Sessions {
    private static final List<Tracer> ALL = new ArrayList<Tracer>();

    private static volatile boolean several;

    private Sessions() {
    }

    static synchronized void add(Tracer tracer) {
        ALL.add(tracer);
        several = ALL.size() > 1;
    }

    static synchronized void remove(Tracer tracer) {
        ALL.remove(tracer);
        several = ALL.size() > 1;
    }

    /** Whether there are several sessions, so that a transformer may be shown code that another session has woven. */
    static boolean areSeveral() {
        return several;
    }

    /** Returns null if no session has this id. */
    static synchronized Tracer find(int id) {
        for (Tracer tracer : ALL) {
            if (tracer.id() == id) {
                return tracer;
            }
        }
        return null;
    }

    /** The message SESSIONS. */
    static Frame frame(int request) {
        List<Tracer> all;
        synchronized (Sessions.class) {
            all = new ArrayList<Tracer>(ALL);
        }
        Frame frame = new Frame(Frame.SESSIONS).u4(request).u4(all.size());
        for (Tracer tracer : all) {
            tracer.describe(frame);
        }
        return frame;
    }
}
