package btpy.runtime;

/** Turns the records in the buffers into payloads, on the event thread, and counts them. */
final class Drain implements EventBuffer.Sink {
    private static final Memory MEMORY = Memory.instance();

    private final Session session;
    private byte[] target;
    private int count;
    /** The size of the record that did not fit; 0 if there is none. */
    private int oversize;
    private Request request;

    Drain(Session session) {
        this.session = session;
    }

    int fill(byte[] target, long now) {
        if (request != null) {
            return 0;
        }
        this.target = target;
        count = 0;
        oversize = 0;
        session.events.drain(this, now);
        this.target = null;
        return count == 0 ? -oversize : count;
    }

    Request take() {
        Request result = request;
        request = null;
        return result != null ? result : Request.takeLate(session);
    }

    @Override
    public boolean record(int probe, boolean isRequest, long[] words, long offset, int bytes) {
        if (request != null) {
            return false;
        }
        if (isRequest) {
            int[] maps = new int[bytes / 4 - 10];
            for (int i = 0; i < maps.length; i++) {
                maps[i] = integer(words, offset + 40 + 4 * i);
            }
            request = new Request(
                    integer(words, offset + 32),
                    integer(words, offset + 4),
                    integer(words, offset + 12),
                    integer(words, offset + 8),
                    integer(words, offset + 36),
                    maps,
                    Values.ordered(MEMORY.getLong(words, offset + 16)));
            return true;
        }
        if (count + bytes > target.length) {
            oversize = bytes;
            return false;
        }
        MEMORY.copy(words, offset, target, Memory.BYTE_BASE + count, bytes);
        count += bytes;
        Probe owner = session.probe(probe);
        if (owner != null) {
            owner.deliveredRecords++;
        }
        return true;
    }

    @Override
    public void stalled(int probe) {
        Probe owner = session.probe(probe);
        if (owner != null) {
            owner.stalledRecords++;
        }
    }

    private static int integer(long[] words, long offset) {
        return Values.ordered(MEMORY.getInt(words, offset));
    }
}
