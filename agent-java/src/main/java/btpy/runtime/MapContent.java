package btpy.runtime;

import java.util.Arrays;

/**
 * Writes a snapshot of a map, or the content that a flush takes, as MapContent of the wire protocol. Only agent threads
 * use it. Other threads continue to write: each cell is exact at some moment of the reading, different cells at
 * different moments.
 */
final class MapContent {
    private static final Memory MEMORY = Memory.instance();

    private final Aggregation map;
    private final Session session;
    private final MapShape shape;
    /** Whether to take the values, so that no later content includes them. */
    private final boolean flush;
    private final Output out;
    /** The exemplars of the entries written so far. */
    private final Output exemplars = new Output();
    private int exemplarCount;
    /** The number of keys that did not fit and were not taken. */
    int omittedKeys;
    /** The sum of {@link MapShape#samples} of all written values. */
    double samples;

    MapContent(Aggregation map, Session session, boolean flush, Output out) {
        this.map = map;
        this.session = session;
        this.shape = map.shape;
        this.flush = flush;
        this.out = out;
    }

    /**
     * Writes the keys of the tables, each once.
     *
     * @param room the number of bytes after which no further key is written; the remaining keys are counted as
     * omitted
     */
    void write(KeyTable[] tables, int room) {
        int omittedAt = out.skip4();
        int countAt = out.skip4();
        int count = 0;
        for (int t = 0; t < tables.length; t++) {
            for (int at = 0; at < tables[t].entries.length; at++) {
                Entry entry = tables[t].present(at);
                Entry[] entries = entry == null ? null : ofKey(tables, t, at, entry);
                if (entries == null) {
                    continue;
                }
                if (out.count() > room) {
                    omittedKeys += map.isEmpty(entry) ? 0 : 1;
                } else if (write(entries)) {
                    for (Entry written : entries) {
                        exemplarCount += Exemplars.take(written, count, exemplars);
                    }
                    count++;
                }
            }
        }
        out.set4(omittedAt, omittedKeys);
        out.set4(countAt, count);
        out.u4(exemplarCount);
        out.append(exemplars);
    }

    /**
     * Returns all entries with the key of {@code entry}, starting with itself. Returns null if an earlier entry has the
     * same key and its key was already written.
     */
    private static Entry[] ofKey(KeyTable[] tables, int t, int at, Entry entry) {
        Entry[] entries = {entry};
        for (int u = 0; u < tables.length; u++) {
            for (int i = 0; i < tables[u].window; i++) {
                int place = tables[u].place(entry.hash, i);
                Entry otherEntry = tables[u].entry(place);
                if (otherEntry == null) {
                    break;
                }
                if (otherEntry == entry || otherEntry == Entry.DELETED || !entry.hasKeyOf(otherEntry)) {
                    continue;
                }
                if (u < t || u == t && i < (at - tables[u].place(entry.hash, 0) & tables[u].entries.length - 1)) {
                    return null;
                }
                Entry[] newEntries = Arrays.copyOf(entries, entries.length + 1);
                newEntries[entries.length] = otherEntry;
                entries = newEntries;
            }
        }
        return entries;
    }

    /** Writes the key and the value of entries with the same key. @return false if there is nothing to write */
    private boolean write(Entry[] entries) {
        int start = out.count();
        out.u4(shape.keys);
        for (int i = 0; i < shape.keys; i++) {
            Keys.write(entries[0].component(i), session, out);
        }
        switch (shape.kind) {
            case MapShape.VALUE:
                return out.truncateUnless(start, writeValue(entries));
            case MapShape.FIRST:
            case MapShape.LAST:
                return out.truncateUnless(start, writeTimed(entries) && writeWeights(entries));
            default:
                return out.truncateUnless(start, writeCells(entries) && writeWeights(entries));
        }
    }

    /** Writes the weights of samples that represent several hits, or an empty list. */
    private boolean writeWeights(Entry[] entries) {
        long[] sums = new long[Weights.COUNT];
        for (Entry entry : entries) {
            Weights.merge(entry, sums, flush);
        }
        boolean any = sums[0] != 0;
        out.u4(any ? Weights.COUNT : 0);
        for (int i = 0; any && i < Weights.COUNT; i++) {
            out.u8(sums[i]);
        }
        return true;
    }

    private boolean writeValue(Entry[] entries) {
        Object value = Entry.UNSET;
        boolean assigned = false;
        for (Entry entry : entries) {
            Object entryValue = entry.value(flush);
            assigned |= entry.assigned;
            if (value == Entry.UNSET) {
                value = entryValue;
            } else if (entryValue != Entry.UNSET && !assigned) {
                value = Keys.store(Dynamic.apply('+', Keys.shown(value), Keys.shown(entryValue)), session.limits.chars);
            }
        }
        if (value != Entry.UNSET) {
            Keys.write(value, session, out);
        }
        return value != Entry.UNSET;
    }

    /** Writes the value with its time. */
    private boolean writeTimed(Entry[] entries) {
        long[] cells = merged(entries);
        Object value = Entry.UNSET;
        for (Entry entry : entries) {
            Object entryValue = entry.value(flush);
            value = value == Entry.UNSET ? entryValue : value;
        }
        if (value != Entry.UNSET) {
            out.u4(1);
            out.u8(cells[0]);
            out.u4(1);
            Keys.write(value, session, out);
        }
        return value != Entry.UNSET;
    }

    private boolean writeCells(Entry[] entries) {
        long[] cells = merged(entries);
        samples += shape.samples(cells);
        char[] layout = shape.layout;
        boolean empty = true;
        for (int i = 0; i < layout.length; i++) {
            empty &= cells[i] == Cells.initial(layout[i]);
        }
        if (empty) {
            return false;
        }
        int lengthAt = out.skip4();
        int length = layout.length;
        for (int i = 0; i < layout.length; i++) {
            out.u8(cells[i]);
        }
        for (int from = layout.length; from < cells.length; from += Cells.SEGMENT) {
            length += writeSegment(cells, from, (from - layout.length) / Cells.SEGMENT);
        }
        if (shape.kind == MapShape.TSERIES) {
            length += writeWindows(entries);
        } else if (shape.kind == MapShape.TOPK) {
            writeCounters(entries, lengthAt, length);
            return true;
        }
        out.set4(lengthAt, length);
        if (shape.kind == MapShape.SAMPLE_OF) {
            writeKept(entries);
        }
        return true;
    }

    /** Merges the cells of all entries. */
    private long[] merged(Entry[] entries) {
        long[] cells = map.merged(entries[0], flush);
        for (int e = 1; e < entries.length; e++) {
            long[] otherCells = map.merged(entries[e], flush);
            for (int c = 0; c < cells.length; c++) {
                cells[c] = Cells.merge(shape.cell(c), cells[c], otherCells[c]);
            }
        }
        return cells;
    }

    /** Writes the number of a segment and its cells if any is not 0. @return the number of written cells */
    private int writeSegment(long[] cells, int from, int number) {
        boolean empty = true;
        for (int i = from; i < from + Cells.SEGMENT; i++) {
            empty &= cells[i] == 0;
        }
        if (empty) {
            return 0;
        }
        out.u8(number);
        for (int i = from; i < from + Cells.SEGMENT; i++) {
            out.u8(cells[i]);
        }
        return 1 + Cells.SEGMENT;
    }

    /** Writes the current epoch, then the windows of all entries that have not expired. */
    private int writeWindows(Entry[] entries) {
        char[] layout = Windows.cells(shape.operator());
        long epoch = session.wallClock() / shape.interval();
        int length = 1;
        out.u8(epoch);
        for (Entry entry : entries) {
            for (Object ring : entry.segments) {
                long[] window = (long[]) ring;
                if (window != null && window[0] > epoch - shape.segments
                        && MEMORY.getLongVolatile(window, Memory.LONG_BASE + 8) != 0) {
                    out.u8(window[0]);
                    for (int i = 1; i < Windows.SIZE; i++) {
                        out.u8(Cells.read(window, i, Cells.initial(layout[i - 1]), flush));
                    }
                    length += Windows.SIZE;
                }
            }
        }
        return length;
    }

    /**
     * Writes the bound on values without a counter, the count and error of each counter, and after these cells the
     * values.
     */
    private void writeCounters(Entry[] entries, int lengthAt, int length) {
        long unseen = 0;
        for (Entry entry : entries) {
            unseen += SpaceSaving.unseen(entry.segments);
        }
        out.u8(unseen);
        SpaceSaving.Counter[] counters = new SpaceSaving.Counter[entries.length * shape.segments];
        int count = 0;
        for (Entry entry : entries) {
            for (int i = 0; i < shape.segments; i++) {
                SpaceSaving.Counter counter = SpaceSaving.at(entry.segments, i, flush);
                if (counter != null) {
                    counters[count++] = counter;
                    out.u8(SpaceSaving.count(counter));
                    out.u8(counter.error);
                }
            }
        }
        out.set4(lengthAt, length + 1 + 2 * count);
        out.u4(count);
        for (int i = 0; i < count; i++) {
            Keys.write(counters[i].value, session, out);
        }
    }

    private void writeKept(Entry[] entries) {
        int countAt = out.skip4();
        int count = 0;
        for (Entry entry : entries) {
            for (int i = 0; i < shape.segments; i++) {
                Object keptValue = entry.segments[i];
                if (keptValue != null) {
                    if (flush) {
                        entry.segments[i] = null;
                    }
                    Keys.write(keptValue, session, out);
                    count++;
                }
            }
        }
        out.set4(countAt, count);
    }
}
