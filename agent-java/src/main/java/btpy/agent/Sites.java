package btpy.agent;

import btpy.runtime.Session;
import java.util.BitSet;

/** The sites that the client has woven, as its messages describe them, and the probes that have sites. */
final class Sites {
    /** The last number of a point in the protocol. */
    private static final int LAST_POINT = 20;

    private final Session session;
    private final BitSet probes = new BitSet();

    Sites(Session session) {
        this.session = session;
    }

    /** Reads the {@code list<MethodSites>} of a class. */
    void add(ClassRecord record, Payload message) throws ProtocolException {
        for (int methods = message.count(12); methods > 0; methods--) {
            String method = message.string();
            String descriptor = message.string();
            for (int remaining = message.count(21); remaining > 0; remaining--) {
                int id = message.u4();
                int probe = message.u4();
                int point = message.u1();
                int line = message.u4();
                String targetClass = message.string();
                String targetMember = message.string();
                if (id >>> 24 != session.slot() || point > LAST_POINT || probe < 0 || probe >= Session.MAX_PROBES) {
                    throw new ProtocolException("a site that cannot be");
                }
                session.addSite(id, record.name, method, descriptor, line, targetClass, targetMember, record.loaderName);
                synchronized (probes) {
                    probes.set(probe);
                }
            }
        }
    }

    /** Disables the probes in woven code. Handlers that only the agent runs may still run. */
    void disableProbes() {
        synchronized (probes) {
            for (int probe = probes.nextSetBit(0); probe >= 0; probe = probes.nextSetBit(probe + 1)) {
                session.setEnabled(probe, false);
            }
        }
    }
}
