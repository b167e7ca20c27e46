package btpy.runtime;

import jdk.internal.vm.annotation.DontInline;

/**
 * Transfers records from application threads to the event thread, in a fixed amount of memory.
 *
 * <p>The memory is divided into rings, and a thread chooses one by its id. A writer claims space with one
 * compare-and-set of the ring's head, marks the space as busy, writes, and commits with one ordered store. The event
 * thread merges the rings, reads records in the order of their times, clears them and moves the tails.
 *
 * <p>A ring consists of arrays of at most {@link #MAX_CHUNK_BYTES}, and a record is always in a single array. A larger
 * array takes regions of its own in the heaps of G1 and Shenandoah, which a nearly full heap does not have.
 *
 * <p>In the ring one word precedes each record: {@code busy:1 (bit 63) · request:1 (bit 62) · probe:16 (bits 32–47) ·
 * bytes claimed:32, including this word}. All free memory is zero, so 0 means claimed and not yet marked.
 *
 * <p>A writer that never commits (after a stack overflow, or because its thread was stopped) would block its ring.
 * After {@link #STALL_NANOS} the event thread closes the ring, replaces it by a new ring, and reads all committed
 * records of the old ring. Records that are not committed are counted as stalled. A late writer either still has the
 * array of the old ring, which is not read any more, or learns from the generation in its cursor that the ring was
 * replaced.
 */
final class EventBuffer {
    private static final Memory MEMORY = Memory.instance();
    static final long STALL_NANOS = 500_000_000L;
    /** The bytes before the values: size, template, site, probe, time, thread id. */
    static final int HEADER = 32;

    private static final int MAX_RING_BYTES = 1 << 20;
    private static final int MIN_RING_BYTES = 1 << 14;
    /** Below half of the smallest region of all collectors (256 KiB, Shenandoah). */
    static final int CHUNK_SHIFT = 17;

    static final int MAX_CHUNK_BYTES = 1 << CHUNK_SHIFT;
    private static final int MAX_RINGS = 64;
    private static final int RINGS_TRIED = 8;
    private static final int CLAIMS_TRIED = 16;

    static final long BUSY = 1L << 63;
    static final long REQUEST = 1L << 62;
    private static final long CLOSED = 1L << 62;
    /** A value in the place of a probe id: the unused end of a ring. */
    static final int PADDING = 0xFFFF;
    /** A value in the place of a probe id: the name of a thread, or a request to the event thread. */
    static final int NO_PROBE = 0xFFFE;

    // cursor := generation:36 · ring:6 · position:21; never negative
    static final int POSITION_BITS = 21;
    static final int RING_BITS = 6;
    static final long POSITIONS = (1L << POSITION_BITS) - 1;

    /** Results of {@link #claim} that are not cursors. */
    static final long DROPPED_FULL = -1;
    static final long DROPPED_LARGE = -2;
    /** Another writer was faster. Callers never get this result. */
    private static final long OUTRUN = -3;

    /** One ring. Its name and arrays never change; a ring that is given up is replaced as a whole. */
    static final class Ring {
        private static final int HEAD = 16;
        final long[][] chunks;
        /**
         * Element 16: the head, bytes claimed since the start, with {@link #CLOSED}. No other data is in its cache
         * lines.
         */
        final long[] head = new long[48];
        /** The generation and number, as in cursors. */
        final long name;
        /** The bytes that writers may reuse: {@link #read}, as last published by the event thread. */
        volatile long tail;
        /** The bytes that were read and cleared. Only the event thread uses this and the following fields. */
        long read;
        /** The time of the record at {@link #read}. */
        long time;
        /** The time when the event thread first saw the record at {@link #read} unfinished; 0 if it is finished. */
        long waitingSince;

        Ring(int bytes, int chunkBytes, long name) {
            this.chunks = new long[bytes / chunkBytes][chunkBytes >> 3];
            this.name = name;
        }

        /** The ring that replaces this one. */
        Ring next() {
            int chunkBytes = 8 * chunks[0].length;
            return new Ring(chunks.length * chunkBytes, chunkBytes, name + (1L << POSITION_BITS + RING_BITS) & Long.MAX_VALUE);
        }

        long head() {
            return MEMORY.getLongVolatile(head, Memory.LONG_BASE + 8L * HEAD);
        }

        /** The bytes claimed since the start. */
        long claimed() {
            return head() & ~CLOSED;
        }

        /** Lets writers reuse the space that was read. */
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
    /** Closed rings, kept until their committed records have been read. Only the event thread uses them. */
    private final Ring[] closingRings;
    /** The rings with a record for the current pass of the event thread. */
    private final Ring[] lanes;
    /** The records that were claimed and never marked, so that their probe is unknown. */
    private long stalledUnknown;

    EventBuffer(int bytes) {
        int size = Integer.highestOneBit(bytes >> 3);
        ringBytes = size > MAX_RING_BYTES ? MAX_RING_BYTES : size < MIN_RING_BYTES ? MIN_RING_BYTES : size;
        chunkBytes = ringBytes < MAX_CHUNK_BYTES ? ringBytes : MAX_CHUNK_BYTES;
        int count = bytes / ringBytes;
        rings = new Ring[count > MAX_RINGS ? MAX_RINGS : count < 1 ? 1 : count];
        closingRings = new Ring[rings.length];
        lanes = new Ring[2 * rings.length];
        for (int i = 0; i < rings.length; i++) {
            rings[i] = new Ring(ringBytes, chunkBytes, (long) i << POSITION_BITS);
        }
    }

    /** The size of the largest record on the wire in bytes. */
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
     * Claims space for a record of at most {@code bytes}, and marks it.
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

    /**
     * Tries again, also in other rings. This is separate from {@link #claim}, because {@link #claim} must be small
     * enough to be compiled into woven code, and nearly always succeeds at the first try.
     */
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

    /** Claims space in a ring. @return the cursor, {@link #DROPPED_FULL} or {@link #OUTRUN} */
    private long claimIn(int index, int size, int probe, long flags) {
        Ring ring = rings[index];
        long head = ring.head();
        int start = (int) head & ringBytes - 1;
        int remaining = chunkBytes - (start & chunkBytes - 1);
        int skippedBytes = size > remaining ? remaining : 0; // a record must be in one array
        if ((head & CLOSED) != 0 || head + skippedBytes + size - ring.tail > ringBytes) {
            return DROPPED_FULL;
        }
        // No call from the claim to the mark: a stack overflow may occur in any call, and the record would be lost.
        if (!ring.moveHead(head, head + skippedBytes + size)) {
            return OUTRUN;
        }
        if (skippedBytes != 0) {
            ring.chunks[start >>> CHUNK_SHIFT][(start & chunkBytes - 1) >> 3] = (long) PADDING << 32 | skippedBytes;
            start = start + skippedBytes & ringBytes - 1;
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

    /** @return the array that contains the cursor, or null if its ring has been replaced */
    long[] words(long cursor) {
        Ring ring = ringOf(cursor);
        return ring.name == (cursor & ~POSITIONS) ? chunk(ring, (cursor & POSITIONS) - 8) : null;
    }

    Ring ringOf(long cursor) {
        return rings[(int) (cursor >>> POSITION_BITS) & (1 << RING_BITS) - 1];
    }

    /** The position of the first byte of the record in its array. */
    static int position(long cursor) {
        return (int) cursor & MAX_CHUNK_BYTES - 1;
    }

    /** Makes the record at this position visible. */
    static void commit(long[] words, int position) {
        long offset = Memory.LONG_BASE + position - 8;
        MEMORY.putLongRelease(words, offset, MEMORY.getLong(words, offset) & ~BUSY);
    }

    /** Frees the space instead of committing. @return the probe of the record; −1 if the event thread has given it up */
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
     * Frees the space of a record whose writer was interrupted between {@link #claim} and {@link #commit}. Does nothing
     * if the record was committed, because its space may already contain a record of another thread.
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

    // The event thread calls the methods below.

    /** Receives the records of {@link #drain}. */
    interface Sink {
        /** @return false if there is no space: the record remains, and the drain stops */
        boolean record(int probe, boolean request, long[] words, long offset, int bytes);

        void stalled(int probe);
    }

    /** Passes on committed records in the order of their times, until there is none or the sink stops it. */
    void drain(Sink sink, long now) {
        try {
            boolean going = true;
            while (going) {
                // A thread claims a record after it has read the time. So if a record is too late for this pass, a
                // later record of the same thread, in another ring, is also left to the next pass.
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

    /** Finds the rings that have a record, and the time of the record. */
    private int enter(Sink sink, long now) {
        int count = 0;
        for (int i = 0; i < rings.length; i++) {
            if (closingRings[i] != null && !isReady(closingRings[i])) {
                finish(i, sink, now);
            }
            if (closingRings[i] != null && isReady(closingRings[i])) {
                lanes[count++] = closingRings[i];
            }
            Ring ring = rings[i];
            if (isReady(ring)) {
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

    /** Passes on the records of these rings up to a time. @return false if the sink has stopped it */
    private boolean merge(int count, long until, Sink sink) {
        while (count > 0) {
            int firstLane = 0;
            for (int i = 1; i < count; i++) {
                if (lanes[i].time - lanes[firstLane].time < 0) {
                    firstLane = i;
                }
            }
            Ring ring = lanes[firstLane];
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
            if (isReady(ring)) {
                ring.time = time(ring);
            } else {
                lanes[firstLane] = lanes[--count];
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

    /** Whether the next record is committed. Skips the unused end of the ring. */
    private boolean isReady(Ring ring) {
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
        int start = (int) ring.read & chunkBytes - 1;
        for (int i = start >> 3; i < start + bytes >> 3; i++) {
            words[i] = 0;
        }
        ring.read += bytes;
    }

    private void wait(int index, long now) {
        Ring ring = rings[index];
        if (ring.waitingSince == 0) {
            ring.waitingSince = now;
        } else if (now - ring.waitingSince > STALL_NANOS && closingRings[index] == null) {
            rings[index] = ring.next();
            ring.close();
            ring.waitingSince = now;
            closingRings[index] = ring;
        }
    }

    /** Skips unfinished records of a closed ring when they are old enough, and drops the ring at its end. */
    private void finish(int index, Sink sink, long now) {
        Ring ring = closingRings[index];
        while (ring.claimed() != ring.read) {
            if (isReady(ring)) {
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
        closingRings[index] = null;
    }

    /**
     * Skips one unfinished record. If its mark is missing, everything up to the next mark is zero, because a writer
     * writes the mark first.
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
