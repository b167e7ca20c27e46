package btpy.agent;

import btpy.runtime.Session;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The newest records of an unattended session, kept while no client is connected, for the client that joins. Only the
 * event thread uses it.
 *
 * <p>Records and frames (printed maps, errors) are kept in their order; new ones replace the oldest, which are counted
 * for their probes. Names of threads are kept separately, because the records that need them may be kept longer.
 */
final class Backlog {
    /** The largest number of kept events and other messages. */
    private static final int MAX_ITEMS = 5000;

    private static final int MOST_NAMES = 2048;

    /** The length and the type of a message, in bytes. */
    private static final int HEADER = 5;

    /**
     * The template of a record that names a thread, and the offsets of template, probe and thread in a record
     * (docs/runtime.md, Records).
     */
    private static final int THREAD_NAME = -1;
    private static final int TEMPLATE = 4;
    private static final int PROBE = 12;
    private static final int THREAD = 24;

    private final Session session;
    private final int maxBytes;
    /** {@code byte[]}: a record; {@link Frame}: anything else. */
    private final ArrayDeque<Object> items = new ArrayDeque<Object>();
    private final Map<Long, byte[]> names = new LinkedHashMap<Long, byte[]>();
    /** The names that the former client was told. A record that it did not get may need them. */
    private Map<Long, String> formerNames = Collections.emptyMap();
    private int bytes;

    Backlog(Session session, int maxBytes) {
        this.session = session;
        this.maxBytes = maxBytes;
    }

    int size() {
        return items.size();
    }

    boolean isEmpty() {
        return items.isEmpty() && names.isEmpty();
    }

    /** Keeps complete records, which are in the form of EVENTS. */
    void add(byte[] chunk, int size) {
        for (int at = 0; at < size; ) {
            byte[] record = java.util.Arrays.copyOfRange(chunk, at, at + readInt(chunk, at));
            at += record.length;
            if (readInt(record, TEMPLATE) == THREAD_NAME) {
                keepName(record);
            } else {
                keep(record, record.length);
            }
        }
    }

    /** Counts complete records that no client will get. */
    static void forget(Session session, byte[] chunk, int size) {
        for (int at = 0; at < size; at += readInt(chunk, at)) {
            if (readInt(chunk, at + TEMPLATE) != THREAD_NAME) {
                session.countForgotten(readInt(chunk, at + PROBE));
            }
        }
    }

    void add(Frame frame) {
        keep(frame, frame.size());
    }

    /** {@code formerNames}: names of threads by thread id. */
    void setFormerNames(Map<Long, String> formerNames) {
        this.formerNames = formerNames;
    }

    /**
     * Keeps messages that the former client did not get, before everything that came later. Answers to this client,
     * counters and stacks are left out: the next client asks for itself, and gets all counters and stacks.
     */
    void putBack(List<Frame> frames) {
        List<Object> later = new ArrayList<Object>(items);
        items.clear();
        bytes = 0;
        for (Frame frame : frames) {
            int type = frame.type();
            if (type == Frame.EVENTS) {
                putBack(frame.copy(HEADER, frame.size() - HEADER));
            } else if (type == Frame.MAP || type == Frame.ERRORS || type == Frame.RESTRAINED) {
                add(frame);
            }
        }
        for (Object item : later) {
            keep(item, item instanceof byte[] ? ((byte[]) item).length : ((Frame) item).size());
        }
    }

    private void putBack(byte[] records) {
        for (int at = 0; at < records.length; at += readInt(records, at)) {
            Long thread = readLong(records, at + THREAD);
            String name = names.containsKey(thread) ? null : formerNames.get(thread);
            if (name != null) {
                keepName(session.threadName(thread, name));
            }
        }
        add(records, records.length);
    }

    /**
     * Moves records into {@code target}, names first, until it is full or a frame comes next; returns the number of
     * bytes.
     */
    int take(byte[] target) {
        int size = 0;
        for (java.util.Iterator<byte[]> nameRecords = names.values().iterator(); nameRecords.hasNext(); ) {
            byte[] record = nameRecords.next();
            if (size + record.length > target.length) {
                return size;
            }
            System.arraycopy(record, 0, target, size, record.length);
            size += record.length;
            nameRecords.remove();
        }
        while (items.peek() instanceof byte[] && size + ((byte[]) items.peek()).length <= target.length) {
            byte[] record = (byte[]) items.remove();
            System.arraycopy(record, 0, target, size, record.length);
            size += record.length;
            bytes -= record.length;
        }
        return size;
    }

    /** The frame that comes next, or null. */
    Frame takeFrame() {
        if (!(items.peek() instanceof Frame)) {
            return null;
        }
        Frame frame = (Frame) items.remove();
        bytes -= frame.size();
        return frame;
    }

    /** The number of kept records for each probe. */
    void countInto(long[] counts) {
        for (Object record : items) {
            int probe = record instanceof byte[] ? readInt((byte[]) record, PROBE) : -1;
            if (probe >= 0 && probe < counts.length) {
                counts[probe]++;
            }
        }
    }

    private void keep(Object item, int size) {
        items.add(item);
        bytes += size;
        while (items.size() > MAX_ITEMS || bytes > maxBytes) {
            Object oldest = items.remove();
            if (oldest instanceof byte[]) {
                bytes -= ((byte[]) oldest).length;
                session.countForgotten(readInt((byte[]) oldest, PROBE));
            } else {
                bytes -= ((Frame) oldest).size();
            }
        }
    }

    private void keepName(byte[] record) {
        Long thread = readLong(record, THREAD);
        names.remove(thread);
        names.put(thread, record);
        if (names.size() > MOST_NAMES) {
            names.remove(names.keySet().iterator().next());
        }
    }

    private static long readLong(byte[] bytes, int at) {
        return (long) readInt(bytes, at + 4) << 32 | readInt(bytes, at) & 0xFFFFFFFFL;
    }

    private static int readInt(byte[] bytes, int at) {
        return bytes[at] & 0xFF | (bytes[at + 1] & 0xFF) << 8 | (bytes[at + 2] & 0xFF) << 16 | (bytes[at + 3] & 0xFF) << 24;
    }
}
