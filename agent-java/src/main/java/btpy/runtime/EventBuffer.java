package btpy.runtime;

import jdk.internal.vm.annotation.DontInline;

/**
 * Records on their way from application threads to the drain thread, in a fixed amount of memory.
 *
 * <p>The memory is split into stripes, each a ring that a thread picks by its id. A writer claims room with one compare-and-set
 * of the ring's head, marks the place busy, writes, and commits with one ordered store. The drain thread reads records in the
 * order of their times, merging the stripes, clears what it has read and moves the tails.
 *
 * <p>A ring is made of arrays of at most {@link #MAX_CHUNK_BYTES}, and no record lies in two of them: a larger array takes regions of its
 * own in the heaps of G1 and Shenandoah, which a heap that is nearly full does not have.
 *
 * <p>In the ring a record is preceded by one word: {@code busy:1 (bit 63) · request:1 (bit 62) · probe:16 (bits 32–47) · bytes
 * claimed:32, this word included}. All free memory is zero, so 0 is a place that was claimed and not yet marked.
 *
 * <p>A writer that never commits (its stack ran over, its thread was stopped) would block its ring. After {@link #STALL_NANOS}
 * the drain thread closes the ring, puts a new one in its place, and takes from the old one all that is committed by then; the
 * rest is counted as stalled. Late writers have the array of their ring, or find by the generation in their cursor that they have none:
 * what they still write goes into the old array, which nobody reads any more, or nowhere.
 */
final class EventBuffer {
    private static final Memory MEMORY = Memory.instance();
    static final long STALL_NANOS = 500_000_000L;
    /** Before the values: size, template, site, probe, time, thread id. */
    static final int HEADER = 32;

    private static final int MAX_RING_BYTES = 1 << 20;
    private static final int MIN_RING_BYTES = 1 << 14;
    /** Below half of the smallest region of any collector (256 KiB, Shenandoah). */
    static final int CHUNK_SHIFT = 17;

    static final int MAX_CHUNK_BYTES = 1 << CHUNK_SHIFT;
    private static final int MAX_RINGS = 64;
    private static final int RINGS_TRIED = 8;
    private static final int CLAIMS_TRIED = 16;

    static final long BUSY = 1L << 63;
    static final long REQUEST = 1L << 62;
    private static final long CLOSED = 1L << 62;
    /** Instead of a probe: the unused end of a ring. */
    static final int PADDING = 0xFFFF;
    /** Instead of a probe: the name of a thread, or a request to the drain thread. */
    static final int NO_PROBE = 0xFFFE;

    // cursor := generation:36 · ring:6 · position:21; never negative
    static final int POSITION_BITS = 21;
    static final int RING_BITS = 6;
    static final long POSITIONS = (1L << POSITION_BITS) - 1;

    /** Results of {@link #claim} that are not cursors. */
    static final long DROPPED_FULL = -1;
    static final long DROPPED_LARGE = -2;
    /** Another writer was faster; not given to callers. */
    private static final long OUTRUN = -3;

    /** One ring. Cursor and array never change; a ring that is given up is replaced as a whole. */
    static final class Ring {
        private static final int HEAD = 16;
        final long[][] chunks;
        /** Element 16: the head, bytes claimed since the start, with {@link #CLOSED}; alone in its cache lines. */
        final long[] head = new long[48];
        /** Its generation and number, as cursors have them. */
        final long name;
        /** Bytes that writers may claim again: {@link #read}, as far as the drain thread has told. */
        volatile long tail;
        /** Bytes read and cleared. This and what follows belongs to the drain thread. */
        long read;
        /** Of the record at {@link #read}. */
        long time;
        /** When the drain thread first saw the record at {@link #read} unfinished; 0: it is not. */
        long waitingSince;

        Ring(int bytes, int chunkBytes, long name) {
            this.chunks = new long[bytes / chunkBytes][chunkBytes >> 3];
            this.name = name;
        }

        /** The one that is put in its place. */
        Ring next() {
            int chunkBytes = 8 * chunks[0].length;
            return new Ring(chunks.length * chunkBytes, chunkBytes, name + (1L << POSITION_BITS + RING_BITS) & Long.MAX_VALUE);
        }

        long head() {
            return MEMORY.getLongVolatile(head, Memory.LONG_BASE + 8L * HEAD);
        }

        /** Bytes claimed since the start. */
        long claimed() {
            return head() & ~CLOSED;
        }

        /** Lets writers have what was read. */
        void tell() {
            if (tail != read) {
                tail = read;
            }
        }

        boolean moveHead(long from, long to) {
            return MEMORY.compareAndSetLong(head, Memory.LONG_BASE + 8L * HEAD, from, to);
        }

        void close() {
            long now;
            do {
                now = head();
            } while (!moveHead(now, now | CLOSED));
        }

    }

    final Ring[] rings;
    private final int ringBytes;
    private final int chunkBytes;
    /** Rings given up, kept until what is committed in them has been read; only the drain thread looks. */
    private final Ring[] closing;
    /** Those of a pass of the drain thread that have a record for it. */
    private final Ring[] lanes;
    /** Records that were claimed and never even marked, so that their probe is not known. */
    private long stalledUnknown;

    EventBuffer(int bytes) {
        int size = Integer.highestOneBit(bytes >> 3);
        ringBytes = size > MAX_RING_BYTES ? MAX_RING_BYTES : size < MIN_RING_BYTES ? MIN_RING_BYTES : size;
        chunkBytes = ringBytes < MAX_CHUNK_BYTES ? ringBytes : MAX_CHUNK_BYTES;
        int count = bytes / ringBytes;
        rings = new Ring[count > MAX_RINGS ? MAX_RINGS : count < 1 ? 1 : count];
        closing = new Ring[rings.length];
        lanes = new Ring[2 * rings.length];
        for (int i = 0; i < rings.length; i++) {
            rings[i] = new Ring(ringBytes, chunkBytes, (long) i << POSITION_BITS);
        }
    }

    /** Bytes of the largest record on the wire. */
    int maxRecord() {
        int most = ringBytes >> 2;
        return (most < chunkBytes ? most : chunkBytes) - 8;
    }

    private long[] chunk(Ring ring, long position) {
        return ring.chunks[(int) position >>> CHUNK_SHIFT & ring.chunks.length - 1];
    }

    private long offset(long position) {
        return Memory.LONG_BASE + (position & chunkBytes - 1);
    }

    private long word(Ring ring, long position) {
        return MEMORY.getLongVolatile(chunk(ring, position), offset(position));
    }

    /**
     * Claims room for a record of at most {@code bytes}, marks it and writes nothing else.
     *
     * @param flags {@link #REQUEST} or 0
     * @return the cursor of the first byte, or a negative number
     */
    long claim(int bytes, int probe, long flags, long threadId) {
        int size = (bytes + 8 + 7) & ~7;
        if (bytes < 0 || size - 8 > maxRecord()) {
            return DROPPED_LARGE;
        }
        int index = (int) ((Threads.hash(threadId, 32) & 0xFFFFFFFFL) * rings.length >>> 32);
        long cursor = claimIn(index, size, probe, flags);
        return cursor >= 0 ? cursor : claimElsewhere(index, size, probe, flags);
    }

    /** Apart from {@link #claim}, where once is nearly always enough: that is small enough to be compiled into woven code. */
    @DontInline
    private long claimElsewhere(int index, int size, int probe, long flags) {
        int count = rings.length;
        int tries = count < RINGS_TRIED ? count : RINGS_TRIED;
        for (int i = 0; i < tries; i++) {
            long cursor = OUTRUN;
            for (int attempt = 0; attempt < CLAIMS_TRIED && cursor == OUTRUN; attempt++) {
                cursor = claimIn(index, size, probe, flags);
            }
            if (cursor >= 0) {
                return cursor;
            }
            index = index + 1 == count ? 0 : index + 1;
        }
        return DROPPED_FULL;
    }

    /** {@code index}: of the ring. @return the cursor, {@link #DROPPED_FULL} or {@link #OUTRUN} */
    private long claimIn(int index, int size, int probe, long flags) {
        Ring ring = rings[index];
        long head = ring.head();
        int start = (int) head & ringBytes - 1;
        int left = chunkBytes - (start & chunkBytes - 1);
        int skipped = size > left ? left : 0; // a record lies in one array
        if ((head & CLOSED) != 0 || head + skipped + size - ring.tail > ringBytes) {
            return DROPPED_FULL;
        }
        // No call from the claim to the mark: the stack may end in any, and nobody would know of the record.
        if (!ring.moveHead(head, head + skipped + size)) {
            return OUTRUN;
        }
        if (skipped != 0) {
            ring.chunks[start >>> CHUNK_SHIFT][(start & chunkBytes - 1) >> 3] = (long) PADDING << 32 | skipped;
            start = start + skipped & ringBytes - 1;
        }
        long[] chunk = ring.chunks[start >>> CHUNK_SHIFT];
        int mark = (start & chunkBytes - 1) >> 3;
        chunk[mark] = BUSY | flags | (long) probe << 32 | size;
        try {
            MEMORY.storeFence();
        } catch (Throwable interruption) {
            chunk[mark] = (long) PADDING << 32 | size;
            throw interruption;
        }
        return ring.name | start + 8;
    }

    /** @return the array that a cursor points into, or null when its ring was given up */
    long[] words(long cursor) {
        Ring ring = ringOf(cursor);
        return ring.name == (cursor & ~POSITIONS) ? chunk(ring, (cursor & POSITIONS) - 8) : null;
    }

    Ring ringOf(long cursor) {
        return rings[(int) (cursor >>> POSITION_BITS) & (1 << RING_BITS) - 1];
    }

    /** Of the first byte of the record in its array. */
    static int position(long cursor) {
        return (int) cursor & MAX_CHUNK_BYTES - 1;
    }

    /** Makes the record visible that begins at this position. */
    static void commit(long[] words, int position) {
        long offset = Memory.LONG_BASE + position - 8;
        MEMORY.putLongRelease(words, offset, MEMORY.getLong(words, offset) & ~BUSY);
    }

    /** Gives the room back instead of committing. @return the probe of the record; −1: nobody waits for it any more */
    static int discard(long[] words, int position) {
        long offset = Memory.LONG_BASE + position - 8;
        long word = MEMORY.getLong(words, offset);
        if (word == 0) {
            return -1;
        }
        MEMORY.putLongRelease(words, offset, (long) PADDING << 32 | word & 0xFFFFFFFFL);
        return probe(word);
    }

    /**
     * Gives the room of a record back whose writer was interrupted between {@link #claim} and {@link #commit}. Nothing is done where the
     * record was committed: by now its place may belong to a record of another thread.
     *
     * @return whether the record was open
     */
    static boolean abandon(long[] words, int position, long thread) {
        long offset = Memory.LONG_BASE + position - 8;
        long word = MEMORY.getLongVolatile(words, offset);
        if (word >= 0 || Values.ordered(MEMORY.getLong(words, offset + 8 + 24)) != thread) {
            return false;
        }
        MEMORY.putLongRelease(words, offset, (long) PADDING << 32 | word & 0xFFFFFFFFL);
        return true;
    }

    // ------------------------------------------------------------------------------------------------ the drain thread

    /** Receives what {@link #drain} finds. */
    interface Sink {
        /** @return false when there is no room: the record stays, the drain stops */
        boolean record(int probe, boolean request, long[] words, long offset, int bytes);

        void stalled(int probe);
    }

    /** Hands over committed records in the order of their times until there is none, or the sink stops it. */
    void drain(Sink sink, long now) {
        try {
            boolean going = true;
            while (going) {
                // A record is claimed after its time was taken: a later one of its thread, in another ring, is for the next pass too.
                long until = System.nanoTime();
                int count = enter(sink, now);
                going = count > 0 && merge(count, until, sink);
            }
        } finally {
            for (Ring ring : rings) {
                ring.tell();
            }
        }
    }

    /** Finds the rings that have a record, and its time. */
    private int enter(Sink sink, long now) {
        int count = 0;
        for (int i = 0; i < rings.length; i++) {
            if (closing[i] != null && !ready(closing[i])) {
                finish(i, sink, now);
            }
            if (closing[i] != null && ready(closing[i])) {
                lanes[count++] = closing[i];
            }
            Ring ring = rings[i];
            if (ready(ring)) {
                ring.waitingSince = 0;
                lanes[count++] = ring;
            } else if (ring.claimed() != ring.read) {
                wait(i, now);
            }
        }
        for (int i = 0; i < count; i++) {
            lanes[i].time = time(lanes[i]);
        }
        return count;
    }

    /** Hands over what these rings have of that time or before. @return false when the sink has stopped it */
    private boolean merge(int count, long until, Sink sink) {
        while (count > 0) {
            int first = 0;
            for (int i = 1; i < count; i++) {
                if (lanes[i].time - lanes[first].time < 0) {
                    first = i;
                }
            }
            Ring ring = lanes[first];
            if (ring.time - until > 0) {
                return true;
            }
            long word = word(ring, ring.read);
            long[] words = chunk(ring, ring.read);
            long offset = offset(ring.read) + 8;
            int bytes = Values.ordered(MEMORY.getInt(words, offset));
            if (!sink.record(probe(word), (word & REQUEST) != 0, words, offset, bytes)) {
                return false;
            }
            release(ring, (int) word);
            if (ready(ring)) {
                ring.time = time(ring);
            } else {
                lanes[first] = lanes[--count];
            }
        }
        return true;
    }

    long stalledUnknown() {
        return stalledUnknown;
    }

    private static int probe(long word) {
        return (int) (word >>> 32) & 0xFFFF;
    }

    /** True when the next record is committed; steps over the unused end of the ring. */
    private boolean ready(Ring ring) {
        while (ring.claimed() != ring.read) {
            long word = word(ring, ring.read);
            if (word <= 0) {
                return false;
            }
            if (probe(word) != PADDING) {
                return true;
            }
            release(ring, (int) word);
        }
        return false;
    }

    private long time(Ring ring) {
        return Values.ordered(MEMORY.getLong(chunk(ring, ring.read), offset(ring.read) + 8 + 16));
    }

    private void release(Ring ring, int bytes) {
        long[] words = chunk(ring, ring.read);
        int from = (int) ring.read & chunkBytes - 1;
        for (int i = from >> 3; i < from + bytes >> 3; i++) {
            words[i] = 0;
        }
        ring.read += bytes;
    }

    private void wait(int index, long now) {
        Ring ring = rings[index];
        if (ring.waitingSince == 0) {
            ring.waitingSince = now;
        } else if (now - ring.waitingSince > STALL_NANOS && closing[index] == null) {
            rings[index] = ring.next();
            ring.close();
            ring.waitingSince = now;
            closing[index] = ring;
        }
    }

    /** Steps over unfinished records of a closed ring once they are old enough; forgets the ring at its end. */
    private void finish(int index, Sink sink, long now) {
        Ring ring = closing[index];
        while (ring.claimed() != ring.read) {
            if (ready(ring)) {
                return;
            }
            if (ring.claimed() == ring.read) {
                break;
            }
            if (now - ring.waitingSince <= STALL_NANOS) {
                return;
            }
            skip(ring, sink);
        }
        closing[index] = null;
    }

    /**
     * Skips one record that nobody finished. Where not even its mark was written, everything up to the next mark is zero, since
     * the mark is what a writer writes first.
     */
    private void skip(Ring ring, Sink sink) {
        long word = word(ring, ring.read);
        if (word != 0) {
            if ((word & REQUEST) == 0) {
                sink.stalled(probe(word));
            }
            release(ring, (int) word);
            return;
        }
        long head = ring.claimed();
        long next = ring.read;
        while (next != head && word(ring, next) == 0) {
            next += 8;
        }
        stalledUnknown++;
        ring.read = next;
    }
}
