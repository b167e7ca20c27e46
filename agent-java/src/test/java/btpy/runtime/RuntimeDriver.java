package btpy.runtime;

import app.StackProbe;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;

/**
 * Does what handlers and the agent do, and leaves what came out in files for tests/runtime: {@code NAME.events} (payloads of EVENTS),
 * {@code NAME.stacks}, {@code NAME.counters}, {@code NAME.errors}, {@code NAME.map<id>}; facts as lines {@code scenario key value} on
 * stdout.
 */
public final class RuntimeDriver {
    private static final Memory MEMORY = Memory.instance();
    private static final int WRITERS = 8;

    private final File directory;
    private String scenario;
    private Session session;
    private final byte[] target = new byte[1 << 19];

    private RuntimeDriver(File directory) {
        this.directory = directory;
    }

    interface Work {
        void run(int writer) throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        RuntimeDriver driver = new RuntimeDriver(new File(arguments[0]));
        rehearsing(); // before the session of another ticks
        driver.values();
        driver.limits();
        driver.growing();
        driver.exactCounts();
        driver.histogram();
        driver.keys();
        driver.fullMap();
        driver.flushing();
        driver.flushedKeys();
        driver.tallying();
        driver.adding();
        driver.clearedAdditions();
        driver.clearedTallies();
        driver.foundWays();
        driver.costs();
        driver.budget();
        driver.allowance();
        driver.atOnce();
        driver.printsAtOnce();
        driver.cheap();
        driver.learnt();
        driver.shortWays();
        driver.unowned();
        driver.unfinished();
        driver.crowded();
        driver.runs();
        driver.turns();
        driver.sketches();
        driver.examples();
        driver.series();
        driver.tooMuch();
        driver.sampling();
        driver.samplingByThread();
        driver.limitedFirings();
        driver.deletion();
        driver.plainValues();
        driver.overflow();
        driver.stuckWriter();
        driver.requests();
        driver.guard();
        driver.depth();
        driver.errors();
        driver.stacks();
        driver.stacksAgain();
        driver.fields();
        driver.manyThreads();
        driver.names();
        driver.threadValues();
        driver.slots();
        System.out.println("done all true");
    }

    // ------------------------------------------------------------------------------------------------ machinery

    private void open(String scenario, Limits limits) {
        this.scenario = scenario;
        session = Session.open(limits, 4711);
        for (int probe = 0; probe < 16; probe++) {
            session.addProbe(probe);
            session.setEnabled(probe, true);
        }
    }

    private static Limits defaults() {
        return new Limits(8 << 20, 200, 2, 20, 20, 32);
    }

    private int site(int n) {
        return session.slot() << 24 | n;
    }

    private void fact(String key, Object value) {
        System.out.println(scenario + " " + key + " " + value);
    }

    private void write(String suffix, byte[] bytes, int count) throws IOException {
        if (bytes != null) {
            try (OutputStream out = new FileOutputStream(new File(directory, scenario + "." + suffix), true)) {
                out.write(bytes, 0, count);
            }
        }
    }

    private void drainAll() throws IOException {
        drainAll(System.nanoTime());
    }

    private void drainAll(long now) throws IOException {
        int count;
        do {
            count = session.drain(target, now);
            writeStacks();
            write("events", target, count);
        } while (count > 0);
    }

    private void writeStacks() throws IOException {
        for (byte[] stacks = session.takeStacks(); stacks != null; stacks = session.takeStacks()) {
            write("stacks", stacks, stacks.length);
        }
    }

    private void finish(int... maps) throws IOException {
        drainAll();
        for (int map : maps) {
            byte[] content = session.mapContent(map, false, 12 << 20);
            write("map" + map, content, content.length);
        }
        writeStacks();
        byte[] counters = session.counters();
        write("counters", counters, counters.length);
        byte[] errors = session.takeErrors();
        write("errors", errors, errors == null ? 0 : errors.length);
        session.close();
    }

    private static void inParallel(final Work work) throws Exception {
        Thread[] threads = new Thread[WRITERS];
        final CyclicBarrier start = new CyclicBarrier(WRITERS);
        final List<Throwable> failures = Collections.synchronizedList(new ArrayList<Throwable>());
        for (int i = 0; i < WRITERS; i++) {
            final int writer = i;
            threads[i] = new Thread(new Runnable() {
                @Override
                public void run() {
                    try {
                        start.await();
                        work.run(writer);
                    } catch (Throwable t) {
                        failures.add(t);
                    }
                }
            }, "writer-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        for (Throwable failure : failures) {
            throw new AssertionError(failure);
        }
    }

    /** As a handler does; {@code spare}: bytes that it asks for and does not use. */
    private void print(int probe, int spare, long... values) {
        long begin = Records.begin(session, 0, probe, site(1), 9 * values.length + spare);
        long[] words = Records.words(session, begin);
        if (words != null) {
            int at = Records.position(begin);
            int end = Records.end(begin, 9 * values.length);
            for (long value : values) {
                at = Records.putLong(at, words, end, value);
            }
            Records.commit(session, at, words, begin, end);
        }
    }

    private void emit(int template, Object... values) {
        int bound = 0;
        for (Object value : values) {
            bound += Records.bound(session, value);
        }
        long begin = Records.begin(session, template, 1, site(1), bound);
        long[] words = Records.words(session, begin);
        if (words == null) {
            return;
        }
        int at = Records.position(begin);
        int end = Records.end(begin, bound);
        for (Object value : values) {
            at = Records.put(session, at, words, end, value);
        }
        Records.commit(session, at, words, begin, end);
    }

    // ------------------------------------------------------------------------------------------------ values

    enum Color {
        RED,
        GREEN {
            @Override
            int wave() {
                return 520;
            }
        };

        int wave() {
            return 700;
        }
    }

    static class Base {
        private int hidden = 7;
        private String name = "base";
    }

    static class Money extends Base {
        private final long cents = 1250;
        private final char sign = '$';
        private final boolean exact = true;
        private final double rate = 0.5;
        private final float half = 1.5f;
        private final short small = -3;
        private final byte tiny = -4;
        private final String apiKey = "do not show";
        private final Object nothing = null;
        private Money other;

        @Override
        public String toString() {
            throw new AssertionError("toString of an application object");
        }

        @Override
        public int hashCode() {
            throw new AssertionError("hashCode of an application object");
        }

        @Override
        public boolean equals(Object o) {
            throw new AssertionError("equals of an application object");
        }
    }

    /** A list that must not be asked. */
    static final class Hostile extends ArrayList<String> {
        private static final long serialVersionUID = 1L;

        @Override
        public int size() {
            throw new AssertionError("size of an application list");
        }
    }

    private static Map<String, Object> map(Map<String, Object> into) {
        into.put("a", 1);
        into.put("b", "two");
        into.put("password", "do not show");
        return into;
    }

    private void values() throws Exception {
        open("values", new Limits(1 << 20, 200, 2, 20, 20, 32));
        long begin = Records.begin(session, 0, 1, site(1), 5 + 9 + 9 + 1 + 1 + 3);
        long[] words = Records.words(session, begin);
        int end = Records.end(begin, 5 + 9 + 9 + 1 + 1 + 3);
        int at = Records.putInt(Records.position(begin), words, end, -2);
        at = Records.putLong(at, words, end, Long.MIN_VALUE + 1);
        at = Records.putDouble(at, words, end, -0.5);
        at = Records.putBoolean(at, words, end, 1);
        at = Records.putBoolean(at, words, end, 0);
        at = Records.putChar(at, words, end, 0x20AC);
        Records.commit(session, at, words, begin, end);
        emit(1, null, "plain", "caf\u00e9", "\u20ac\ud83d\ude00", "", 5, 6L, 1.25, 2.5f, (short) 7, (byte) -8, 'x', true, false);
        emit(2, Color.RED, Color.GREEN, String.class);
        emit(3, new int[] {1, -1}, new long[] {2}, new byte[] {-1}, new char[] {'c'}, new boolean[] {true}, new double[] {1.5},
                new float[] {2.5f}, new short[] {-2}, new String[] {"s", null}, new int[0][0]);
        Money money = new Money();
        money.other = money;
        emit(4, money);
        fact("identity", System.identityHashCode(money));
        Object[] loop = new Object[1];
        loop[0] = loop;
        emit(5, (Object) loop);
        emit(6, new ArrayList<Object>(Arrays.asList(1, "x", null)), Arrays.asList(1, 2), new LinkedList<Object>(Arrays.asList(1, 2)),
                new ArrayDeque<Object>(Arrays.asList(1, 2)), Collections.singletonList(9), Collections.emptyList(),
                new HashSet<Object>(Arrays.asList(5)), Collections.singleton(6));
        emit(7, map(new HashMap<String, Object>()), map(new LinkedHashMap<String, Object>()), map(new TreeMap<String, Object>()),
                map(new ConcurrentHashMap<String, Object>()), Collections.singletonMap("k", 1), Collections.emptyMap());
        Hostile hostile = new Hostile();
        emit(8, hostile, Collections.synchronizedList(new ArrayList<Object>()));
        emit(9, Boolean.TRUE);
        finish();
    }

    private void limits() throws Exception {
        open("limits", new Limits(1 << 20, 10, 1, 3, 2, 4));
        StringBuilder huge = new StringBuilder();
        for (int i = 0; i < 1_000_000; i++) {
            huge.append((char) ('a' + i % 26));
        }
        emit(0, huge.toString());
        emit(1, "123456789\ud83d\ude00tail");
        emit(2, new int[10_000]);
        emit(3, new Money());
        Object[] nested = {new Money(), new int[] {1, 2}};
        emit(4, (Object) nested);
        HashMap<String, Object> many = new HashMap<String, Object>();
        for (int i = 0; i < 1000; i++) {
            many.put("k" + i, i);
        }
        emit(5, many);
        finish();
    }

    /** What is captured grows between {@code bound} and {@code put}; and values that lie about their size. */
    private void growing() throws Exception {
        open("growing", defaults());
        List<Object> list = new ArrayList<Object>();
        list.add("one");
        int bound = Records.bound(session, list) + 9;
        long begin = Records.begin(session, 0, 1, site(1), bound);
        for (int i = 0; i < 15; i++) {
            list.add("a rather long string, to take all room there is");
        }
        long[] words = Records.words(session, begin);
        int end = Records.end(begin, bound);
        Records.commit(session, Records.put(session, Records.position(begin), words, end, list), words, begin, end);
        begin = Records.begin(session, 1, 1, site(1), 5);
        words = Records.words(session, begin);
        end = Records.end(begin, 5);
        int at = Records.putInt(Records.position(begin), words, end, 1);
        Records.commit(session, Records.putLong(at, words, end, 2), words, begin, end);
        Records.begin(session, 2, 1, site(1), 10 << 20);
        begin = Records.begin(session, 3, 1, site(1), 5);
        words = Records.words(session, begin);
        end = Records.end(begin, 5);
        Records.commit(session, Records.putInt(Records.position(begin), words, end, 3), words, begin, end);
        finish();
    }

    // ------------------------------------------------------------------------------------------------ aggregations

    private void exactCounts() throws Exception {
        open("exact", defaults());
        for (int kind = MapShape.COUNT; kind <= MapShape.HIST; kind++) {
            session.addMap(kind, kind, 0, 2, 1, new long[0]);
            session.addMap(10 + kind, kind, 1, 2, 64, new long[0]);
        }
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                for (int i = 0; i < 50_000; i++) {
                    long sample = i * 8L + writer;
                    Long key = Long.valueOf(i % 7);
                    session.map(MapShape.COUNT).count(session.map(MapShape.COUNT).slot());
                    session.map(10 + MapShape.COUNT).count(session.map(10 + MapShape.COUNT).slot(key, 1));
                    for (int kind = MapShape.SUM; kind <= MapShape.HIST; kind++) {
                        Aggregation keyless = session.map(kind);
                        Aggregation keyed = session.map(10 + kind);
                        keyless.add(keyless.slot(), sample);
                        keyed.add(keyed.slot(key, 1), i % 2 == 0 ? (Object) Long.valueOf(sample) : (Object) Double.valueOf(sample));
                    }
                }
            }
        });
        finish(1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 14, 15, 16, 17);
    }

    private static final long[] SAMPLES = {
        0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 1000, 1023, 1024, 1025, (1L << 53) - 1, 1L << 53, (1L << 53) + 1, (1L << 54) - 1,
        (1L << 62) - 1, 1L << 62, Long.MAX_VALUE - 1, Long.MAX_VALUE, -1, Long.MIN_VALUE,
    };

    private static final int FLUSHED_KEYS = 13;
    private static final int FLUSHED_ROUNDS = 30_011;

    /** Flushes maps again and again; each flush is a MAP of its own, what is left comes last. */
    private class Flusher extends Thread {
        private final int maps;
        private volatile int flushes;
        private volatile boolean last;
        private Exception unexpected;

        Flusher(int maps) {
            this.maps = maps;
        }

        void beforeFlush(int number) {}

        @Override
        public void run() {
            try {
                boolean ends;
                do {
                    ends = last;
                    beforeFlush(flushes);
                    for (int map = 0; map < maps; map++) {
                        byte[] content = session.mapContent(map, true, 12 << 20);
                        write("map" + map + "." + flushes, content, content.length);
                    }
                    flushes++;
                    Thread.sleep(7);
                } while (!ends);
            } catch (Exception failed) {
                unexpected = failed;
            }
        }

        /** A writer goes on after the next flush, so that there are many, however the threads are scheduled. */
        void waitFor() throws InterruptedException {
            int seen = flushes;
            while (flushes == seen && isAlive()) {
                Thread.sleep(1);
            }
        }

        void end() throws Exception {
            last = true;
            join();
            fact("flushes", unexpected != null ? unexpected : flushes);
        }
    }

    /** Limits, disables and enables probes meanwhile. */
    private final class LimitingFlusher extends Flusher {
        LimitingFlusher(int maps) {
            super(maps);
        }

        @Override
        void beforeFlush(int number) {
            session.tick(System.nanoTime());
            session.limit(1, number % 5 == 1 ? 1L << 40 : 0, 0, 0, 0);
            session.setEnabled(2, number % 3 != 1);
        }
    }

    /** Eight writers, and flushes all the while. */
    private void flushing() throws Exception {
        open("flush", defaults());
        final int[] kinds = {MapShape.COUNT, MapShape.SUM, MapShape.HIST, MapShape.VALUE, MapShape.TOPK};
        for (int i = 0; i < kinds.length; i++) {
            session.addMap(i, kinds[i], 1, 2, 64, new long[] {5});
        }
        session.addMap(5, MapShape.STATS, 0, 2, 1, new long[0]);
        final Flusher flusher = new Flusher(6);
        flusher.start();
        inParallel(new Work() {
            @Override
            public void run(int writer) throws Exception {
                session.fired(1); // some own a stripe from then on, and so cells of their own; the others share
                for (int i = 0; i < FLUSHED_ROUNDS; i++) {
                    Long key = Long.valueOf(i % FLUSHED_KEYS);
                    for (int map = 0; map < 3; map++) {
                        Aggregation found = session.map(map);
                        if (map == 0) {
                            found.count(found.slot(key, 1));
                        } else {
                            found.add(found.slot(key, 1), (long) i);
                        }
                    }
                    Aggregation plain = session.map(3);
                    plain.update(plain.slot(key, 1), "+=", Long.valueOf(1));
                    Aggregation top = session.map(4);
                    top.collect(top.slot("all", 1), key, 1, 0);
                    Aggregation keyless = session.map(5);
                    keyless.add(keyless.slot(), (long) i);
                    if (i % 3001 == 0) {
                        flusher.waitFor();
                    }
                }
            }
        });
        flusher.end();
        session.close();
    }

    private void flushedKeys() throws Exception {
        open("flushed-keys", defaults());
        session.addMap(0, MapShape.COUNT, 1, 2, 8, new long[0]);
        Aggregation map = session.map(0);
        for (int round = 0; round < 4; round++) { // 7 keys of 28 at a time: they do not fill the map, because they are forgotten
            for (int key = 0; key < 7; key++) {
                map.count(map.slot(Long.valueOf(7 * round + key), 1));
            }
            session.mapContent(0, true, 12 << 20);
            fact("size-" + round, map.size() + " " + map.has(map.find(Long.valueOf(7 * round))));
            Thread.sleep(1010); // an empty table is put in place at most once a second
        }
        int before = map.slot(Long.valueOf(-1), 1);
        session.mapContent(0, true, 12 << 20);
        map.count(before); // found its key before the flush, and counts after it
        finish(0);
    }

    /** Two probes that only count into one map, which is flushed, while they are limited, disabled and enabled. */
    private void tallying() throws Exception {
        open("tallies", defaults());
        session.addMap(0, MapShape.COUNT, 0, 2, 1, new long[0]);
        final Flusher flusher = new LimitingFlusher(1);
        flusher.start();
        final int site = site(1);
        inParallel(new Work() {
            @Override
            public void run(int writer) throws Exception {
                for (int i = 0; i < FLUSHED_ROUNDS; i++) {
                    Session.tally(site, 1, 0);
                    Session entered = Session.enter(site, 2);
                    if (entered != null) {
                        entered.tally(2, 0);
                    }
                    if (i % 3001 == 0) {
                        flusher.waitFor();
                    }
                }
            }
        });
        flusher.end();
        finish();
    }

    /** Three probes that only add, to a map of their own each, which are flushed, while they are limited, disabled and enabled. */
    private void adding() throws Exception {
        open("additions", defaults());
        session.addMap(0, MapShape.HIST, 0, 2, 1, new long[0]);
        session.addMap(1, MapShape.COUNT, 1, 2, 64, new long[0]);
        session.addMap(2, MapShape.STATS, 1, 2, 64, new long[0]);
        final Flusher flusher = new LimitingFlusher(3);
        flusher.start();
        final int site = site(1);
        inParallel(new Work() {
            @Override
            public void run(int writer) throws Exception {
                String[] keys = new String[FLUSHED_KEYS];
                for (int i = 0; i < keys.length; i++) {
                    keys[i] = "key" + i; // equal strings, not the same
                }
                for (int i = 0; i < FLUSHED_ROUNDS; i++) {
                    Session.add(site, 1, 0, i, 0);
                    Session.add(site, 2, 1, keys[i % FLUSHED_KEYS], 1, 0);
                    Session.add(site, 3, 2, keys[i % FLUSHED_KEYS], i, 0);
                    if (i % 3001 == 0) {
                        flusher.waitFor();
                    }
                }
            }
        });
        flusher.end();
        finish();
    }

    private void clearedAdditions() throws Exception {
        open("cleared-additions", defaults());
        session.addMap(0, MapShape.HIST, 0, 2, 1, new long[0]);
        Aggregation map = session.map(0);
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 101; i++) {
                Session.add(site(1), 1, 0, i, 0);
            }
            session.tick(System.nanoTime() + round * 1_000_000_000L);
            fact("before-" + round, map.has(map.find()) + " " + map.size());
            if (round == 1) {
                map.clear();
            } else {
                map.delete(map.slot());
            }
            fact("after-" + round, map.has(map.find()) + " " + map.size());
        }
        session.setEnabled(1, false);
        Session.add(site(1), 1, 0, 7, 0);
        session.setEnabled(1, true);
        for (int i = 0; i < 13; i++) {
            Session.add(site(1), 1, 0, 7, 0);
        }
        Session.add(site(1), 1, 99, 7, 0);
        finish(0);
    }

    private void clearedTallies() throws Exception {
        open("cleared-tallies", defaults());
        session.addMap(0, MapShape.COUNT, 0, 2, 1, new long[0]);
        Aggregation map = session.map(0);
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 101; i++) {
                Session.tally(site(1), 1, 0);
            }
            session.tick(System.nanoTime());
            fact("before-" + round, map.value(map.find()) + " " + map.has(map.find()) + " " + map.size());
            if (round == 1) {
                map.clear();
            } else {
                map.delete(map.slot());
            }
            fact("after-" + round, map.value(map.find()) + " " + map.has(map.find()) + " " + map.size());
        }
        session.setEnabled(1, false);
        Session.tally(site(1), 1, 0);
        session.setEnabled(1, true);
        for (int i = 0; i < 13; i++) {
            Session.tally(site(1), 1, 0);
            Session.tally(site(1), 1, 99);
        }
        finish(0);
    }

    private void foundWays() throws Exception {
        open("found-ways", defaults());
        session.addMap(0, MapShape.COUNT, 0, 2, 1, new long[0]);
        session.addMap(1, MapShape.COUNT, 1, 2, 16, new long[0]);
        long now = System.nanoTime();
        session.tick(now);
        Session.tally(site(1), 1, 0);
        Session.add(site(1), 2, 1, "k", 1, 0);
        fact("fired", session.probe(1).hasNewWay() + " " + session.probe(2).hasNewWay());
        session.tick(now + 1);
        fact("ticked", session.probe(1).hasNewWay() + " " + session.probe(2).hasNewWay());
        for (int i = 0; i < 13; i++) {
            Session.tally(site(1), 1, 0);
            Session.add(site(1), 2, 1, "k", 1, 0);
        }
        finish(0, 1);
    }

    /** Firings that take 20 µs at least, false predicates that take as long, and firings that only count. */
    private void costs() throws Exception {
        open("costs", defaults());
        session.addMap(0, MapShape.COUNT, 0, 2, 1, new long[0]);
        session.tick(System.nanoTime());
        for (int i = 0; i < 1009; i++) {
            long fired = session.fired(1);
            long tested = session.tested(2);
            for (long end = System.nanoTime() + 20_000; System.nanoTime() < end; ) {
                // busy
            }
            if (Probe.isTimed(fired)) {
                session.took(1, fired, 0);
            }
            if (Probe.isTimed(tested)) {
                session.took(2, tested, 0);
            }
            Session.tally(site(1), 3, 0);
        }
        session.tick(System.nanoTime() + 1_000_000_000L);
        for (int i = 0; i < 1009; i++) {
            Session.tally(site(1), 3, 0);
        }
        session.tick(System.nanoTime() + 2_000_000_000L);
        finish();
    }

    /** A probe takes all of a core, by a clock that ticks here, then nothing any more; one makes records; one cannot be afforded. */
    private void budget() throws Exception {
        open("budget", defaults());
        session.budget(2_000);
        long now = System.nanoTime();
        session.tick(now);
        long weights = 0;
        for (int i = 0; i < 4001; i++) {
            long run = session.fired(1);
            if (run >= 0) {
                weights += Probe.weight(run);
                lasted(run, 1, 10_000);
            }
            if (i % 500 == 499) {
                session.tick(now += 50_000_000L);
            }
        }
        restraints("sampled");
        fact("weights", weights);
        for (int i = 0; i < 2000 && session.isEnabled(1); i++) { // nothing happens for 100 seconds
            session.tick(now += 50_000_000L);
        }
        restraints("calm");
        fact("free", Probe.weight(session.fired(1)));
        session.budget(20_000);
        for (int round = 0; round < 12; round++) { // three times what is allowed, and records
            for (int i = 0; i < 6; i++) {
                long run = session.fired(2);
                if (run >= 0) {
                    print(2, 0, i);
                    lasted(run, 2, 10_000_000);
                }
            }
            drainAll();
            session.tick(now += 1_000_000_000L);
        }
        restraints("prints");
        session.budget(1_000);
        session.setEnabled(2, false);
        for (int i = 0; i < 2000; i++) {
            session.tick(now += 50_000_000L);
        }
        fact("left-alone", session.isEnabled(2));
        restraints("off");
        now = hitUntilDisabled(now);
        restraints("too-many");
        fact("disabled", session.isEnabled(3));
        for (String when : new String[] {"first", "second"}) { // attempts, the second after it was too much again
            int ticks = 0;
            for (; ticks < 1200 && !session.isEnabled(3); ticks++) { // a minute
                session.tick(now += 50_000_000L);
            }
            fact(when + "-trial", ticks);
            now = hitUntilDisabled(now);
        }
        finish();
    }

    /** A million hits a second, each of which takes 10 us where it fires: even to leave them out takes too much. */
    private long hitUntilDisabled(long now) {
        for (int i = 0; i < 20_000_000 && session.isEnabled(3); i++) {
            long run = session.fired(3);
            if (run >= 0) {
                lasted(run, 3, 10_000);
            }
            if (i % 50_000 == 49_999) {
                session.tick(now += 50_000_000L);
            }
        }
        return now;
    }

    /** Hits that come in turns, of two keys, while the budget lets one in 64 fire. */
    private void turns() throws Exception {
        open("turns", defaults());
        session.addMap(0, MapShape.COUNT, 1, 2, 64, new long[0]);
        session.probe(1).thin(64);
        for (int i = 0; i < 200_003; i++) {
            Session.add(site(1), 1, 0, i % 2 == 0 ? "even" : "odd", 1, 0);
        }
        finish(0);
    }

    /** The same firings take 16 ms, of an allowance of 100 ms at first and of 10 ms later. */
    private void allowance() throws Exception {
        open("allowance", defaults());
        session.budget(10_000);
        long now = System.nanoTime();
        session.tick(now);
        for (String when : new String[] {"first", "later"}) {
            for (int i = 0; i < 16; i++) {
                lasted(session.fired(1), 1, 1_000_000);
            }
            session.tick(now += 50_000_000L);
            restraints(when);
            for (int i = 0; i < 60; i++) { // three seconds
                session.tick(now += 50_000_000L);
            }
        }
        finish();
    }

    /** Each session has an event thread, and they rehearse together. Fails if one of them does. */
    private static void rehearsing() throws Exception {
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                for (int i = 0; i < 100; i++) {
                    Rehearsal.goOn();
                }
            }
        });
    }

    /** A probe becomes hot while nobody looks; another one fires now and then. */
    private void atOnce() throws Exception {
        open("at-once", defaults());
        session.budget(10_000);
        long now = System.nanoTime();
        for (int i = 0; i < 64; i++) { // more than three seconds
            session.tick(now += 50_000_000L);
            lasted(session.fired(1), 1, 10_000);
            lasted(session.fired(2), 2, 10_000);
        }
        session.tick(now += 50_000_000L);
        restraints("before");
        int fired = 0;
        long weights = 0;
        for (int i = 0; i < 50_021; i++) {
            long run = session.fired(1);
            if (run >= 0) {
                fired++;
                weights += Probe.weight(run);
                lasted(run, 1, 10_000);
            }
            if (i % 10_000 == 9_999 && session.fired(2) < 0) {
                fact("too-far", i);
            }
        }
        fact("fired", fired);
        fact("weights", weights);
        session.tick(now += 10_000_000L);
        restraints("after");
        finish();
    }

    /** A probe that makes records becomes hot while nobody looks, and is less so when somebody does. */
    private void printsAtOnce() throws Exception {
        open("prints-at-once", defaults());
        session.budget(10_000);
        long now = System.nanoTime();
        for (int i = 0; i < 64; i++) {
            session.tick(now += 50_000_000L);
            printing(1, 1_000);
        }
        printing(200, 100_000);
        session.tick(now += 10_000_000L);
        restraints("first");
        printing(5, 100_000);
        session.tick(now += 10_000_000L);
        restraints("then");
        finish();
    }

    private void printing(int hits, int nanos) throws Exception {
        for (int i = 0; i < hits; i++) {
            long run = session.fired(1);
            if (run >= 0) {
                print(1, 0, i);
                cost(run, 1, nanos);
            }
        }
        drainAll();
    }

    /**
     * Firings that take 2 ns by the clock of the test, which is less than a hit takes that is left out: half of what is allowed, a
     * quarter more, five times as much. Beside the second of these a probe that takes less than half of what is allowed.
     */
    private void cheap() throws Exception {
        open("cheap", defaults());
        session.budget(2_000);
        long now = System.nanoTime();
        for (int i = 0; i < 60; i++) { // what is allowed for the beginning is gone
            session.tick(now += 50_000_000L);
        }
        int[] firings = {25_000, 60_000, 60_000, 250_000};
        String[] when = {"within", "hardly-over", "beside", "over"};
        for (int phase = 0; phase < when.length; phase++) {
            for (int tick = 0; tick < 20; tick++) {
                for (int i = 0; i < firings[phase] && session.isEnabled(1); i++) {
                    cost(session.fired(1), 1, 2);
                }
                for (int i = 0; i < 400 && phase == 2; i++) {
                    cost(session.fired(2), 2, 100);
                }
                session.tick(now += 50_000_000L);
            }
            restraints(when[phase]);
        }
        finish();
    }

    /** Firings that took 50 µs when they were rare take 100 ns when they are many, but for one that was disturbed. */
    private void learnt() throws Exception {
        open("learnt", defaults());
        session.budget(10_000);
        long now = System.nanoTime();
        for (int i = 0; i < 64; i++) {
            session.tick(now += 50_000_000L);
            for (int k = 0; k < 4; k++) {
                cost(session.fired(1), 1, 50_000);
            }
        }
        session.tick(now += 50_000_000L);
        int timed = 0;
        for (int i = 0; i < 20_011; i++) {
            long run = session.fired(1);
            timed += Probe.isTimed(run) ? 1 : 0;
            cost(run, 1, timed == 200 ? 1_000_000_000 : 100);
        }
        fact("timed", timed);
        session.tick(now += 50_000_000L);
        restraints("hot");
        finish();
    }

    /** Firings that go a short way are found too dear, by one that is timed, while nobody looks. */
    private void shortWays() throws Exception {
        open("short-ways", defaults());
        session.addMap(0, MapShape.COUNT, 0, 2, 1, new long[0]);
        session.addMap(1, MapShape.COUNT, 1, 2, 64, new long[0]);
        session.feeds(1, new int[] {0});
        session.feeds(2, new int[] {1});
        session.budget(100);
        long now = System.nanoTime();
        for (int i = 0; i < 64; i++) {
            session.tick(now += 50_000_000L);
            Session.tally(site(1), 1, 0);
            Session.add(site(1), 2, 1, "k", 1, 0);
        }
        for (int probe = 1; probe <= 2; probe++) {
            for (int i = 0; i < 64; i++) {
                session.probe(probe).tookRun(1_000_000_000, 1, 0, 0);
            }
        }
        restraints("before");
        for (int i = 0; i < 100_003; i++) {
            Session.tally(site(1), 1, 0);
            Session.add(site(1), 2, 1, "k", 1, 0);
        }
        finish(0, 1);
    }

    /** Hits of a thread that owns no stripe, of which one in 16 fires. */
    private void unowned() throws Exception {
        open("unowned", defaults());
        session.fired(1); // it owns one from now on
        session.probe(1).thin(16);
        int stripe = Stripes.lend();
        long weights = 0;
        for (int i = 0; i < 100_003; i++) {
            long run = session.fired(1);
            weights += run >= 0 ? Probe.weight(run) : 0;
        }
        Stripes.takeBack(stripe);
        session.probe(2).thin(16);
        int tested = 0;
        for (int i = 0; i < 100_003; i++) { // and before a predicate that takes time
            tested += session.tested(2) >= 0 ? 1 : 0;
        }
        fact("tested", tested);
        fact("lent", stripe >= 0);
        fact("weights", weights);
        finish();
    }

    /** Ten thousand times 41 hits, of which one in 64 fires: no block of hits is ever finished. */
    private void unfinished() throws Exception {
        open("unfinished", defaults());
        long weights = 0;
        for (int round = 0; round < 10_000; round++) {
            session.probe(1).thin(1);
            session.probe(1).thin(64);
            for (int i = 0; i < 41; i++) {
                long run = session.fired(1);
                weights += run >= 0 ? Probe.weight(run) : 0;
            }
        }
        fact("weights", weights);
        finish();
    }

    /** Hits of many threads that share the numbers of one stripe, of which one in two fires: blocks end while the next one opens. */
    private void crowded() throws Exception {
        open("crowded", defaults());
        final Thinner thinner = new Thinner(2, false);
        final Sampler sampler = new Sampler(Sampler.EVERY, 2, false);
        final long[] weights = new long[WRITERS];
        final long[] sampled = new long[WRITERS];
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                for (int i = 0; i < 200_003; i++) {
                    weights[writer] += thinner.choose(-1);
                    sampled[writer] += sampler.choose();
                }
            }
        });
        long sum = 0;
        long sampledSum = 0;
        for (int writer = 0; writer < WRITERS; writer++) {
            sum += weights[writer];
            sampledSum += sampled[writer];
        }
        fact("hits", WRITERS * 200_003L);
        fact("weights", sum);
        fact("sampled", sampledSum);
        fact("sampler-hits", sampler.hits());
        fact("pending", sampler.pending());
        finish();
    }

    /** Runs of 16 firings that took 24 ns together, and then with a way in of 4 ns and two readings of the clock each. */
    private void runs() throws Exception {
        open("runs", defaults());
        session.tick(System.nanoTime());
        for (int i = 0; i < 64; i++) {
            session.probe(1).tookRun(24 + Costs.clock(), 16, 0, 0);
            session.probe(2).tookRun(24 + Costs.clock(), 16, 4, 2);
        }
        for (int i = 0; i < 1000; i++) { // while the last of them lasted, the thread did not run
            session.probe(3).tookRun((i < 999 ? 100 : 1_000_000_000) + Costs.clock(), 1, 0, 0);
            if (i >= 950) {
                session.probe(4).tookRun((i < 999 ? 100 : 1_000_000_000) + Costs.clock(), 1, 0, 0);
            }
        }
        for (int i = 0; i < 100; i++) { // slow when they were few, fast when they were many
            session.probe(5).tookRun((i < 50 ? 10_000 : 100) + Costs.clock(), 1, 0, 0);
            if (i == 49) {
                session.tick(System.nanoTime() + 1_000_000_000L);
                for (int k = 0; k < 1_000_000; k++) {
                    session.fired(5);
                }
            }
        }
        fact("clock", Costs.clock());
        finish();
    }

    /** What it took if it is timed, in ns. */
    private void cost(long run, int probe, int nanos) {
        if (Probe.isTimed(run)) {
            session.probe(probe).tookRun(nanos + Costs.clock(), 1, 0, 0);
        }
    }

    /** A run ends as if it had begun so many ns ago. */
    private void lasted(long run, int probe, long nanos) {
        if (Probe.isTimed(run)) {
            long clock = (1L << 40) - 1;
            session.took(probe, run & ~clock | System.nanoTime() - nanos & clock, 0);
        }
    }

    /** Probe, step, and whether the client is to take it out. */
    private void restraints(String key) {
        StringBuilder steps = new StringBuilder();
        for (byte[] each = session.takeRestraint(); each != null; each = session.takeRestraint()) {
            boolean rest = (each[17] | each[18] | each[19] | each[20]) != 0;
            steps.append(each[3]).append(':').append(each[4]).append(':').append(rest ? "out" : "").append(' ');
        }
        fact(key, steps.toString().trim());
    }

    private void sketches() throws Exception {
        open("sketches", defaults());
        long[] linear = {Double.doubleToRawLongBits(-10), Double.doubleToRawLongBits(90), Double.doubleToRawLongBits(20)};
        session.addMap(0, MapShape.LHIST, 0, 2, 1, linear);
        session.addMap(1, MapShape.TOPK, 0, 2, 1, new long[] {5});
        session.addMap(2, MapShape.DISTINCT, 0, 2, 1, new long[0]);
        session.addMap(3, MapShape.DISTINCT, 1, 2, 4, new long[0]);
        session.addMap(4, MapShape.LHIST, 1, 2, 4, linear);
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                for (int i = 0; i < 1009; i++) {
                    Aggregation map = session.map(0);
                    map.add(map.slot(), (long) (i % 113 - 13));
                    map = session.map(4);
                    map.add(map.slot("k", 1), i % 113 - 13.0);
                    // value v is seen 8 · (1009 / 2^v) times about: skewed, with a long tail
                    map = session.map(1);
                    map.collect(map.slot(), "value-" + Integer.numberOfTrailingZeros(i + 1), 1, 0);
                    map.collect(map.slot(), "rare-" + i * 8 + writer, 1, 0);
                    map = session.map(2);
                    map.collect(map.slot(), Long.valueOf(i * 8 + writer), 1, 0);
                    map = session.map(3);
                    map.collect(map.slot("few", 1), "text " + i % 17, 1, 0);
                    map.collect(map.slot("null", 1), null, 1, 0);
                }
            }
        });
        fact("distinct", session.map(3).value(session.map(3).find("few")));
        finish(0, 1, 2, 3, 4);
    }

    private void examples() throws Exception {
        open("examples", defaults());
        session.addMap(0, MapShape.SAMPLE_OF, 1, 2, 2048, new long[] {5});
        session.addMap(1, MapShape.FIRST, 1, 2, 4, new long[0]);
        session.addMap(2, MapShape.LAST, 1, 2, 4, new long[0]);
        Aggregation map = session.map(0);
        for (long key = 0; key < 1009; key++) {
            for (long i = 0; i < 101; i++) {
                map.collect(map.slot(Long.valueOf(key), 1), Long.valueOf(i), 1, 0);
            }
        }
        for (int id = 1; id <= 2; id++) {
            map = session.map(id);
            map.collect(map.slot("k", 1), null, 1, 0);
            for (String text : new String[] {"one", "two", "three"}) {
                map.collect(map.slot("k", 1), text, 1, 0);
            }
        }
        fact("first", session.map(1).value(session.map(1).find("k")));
        fact("last", session.map(2).value(session.map(2).find("k")));
        finish(0, 1, 2);
    }

    private void series() throws Exception {
        open("series", defaults());
        for (int operator = Windows.SUM; operator <= Windows.COUNT; operator++) {
            session.addMap(operator, MapShape.TSERIES, 0, 2, 1, new long[] {3_600_000_000_000L, 3, operator});
        }
        session.addMap(5, MapShape.TSERIES, 0, 2, 1, new long[] {1_000_000, 7, Windows.COUNT});
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                for (int i = 0; i < 1009; i++) {
                    for (int operator = Windows.SUM; operator <= Windows.COUNT; operator++) {
                        Aggregation map = session.map(operator);
                        map.add(map.slot(), (long) (8 * i + writer));
                    }
                    Aggregation map = session.map(5);
                    map.add(map.slot(), 1L);
                }
            }
        });
        finish(0, 1, 2, 3, 4, 5);
    }

    /** What a frame has no room for, and what a map may not take. */
    private void tooMuch() throws Exception {
        open("too-much", defaults());
        session.addMap(0, MapShape.HIST, 1, 8, 1 << 17, new long[0]);
        Aggregation map = session.map(0);
        long refused = 0;
        for (long key = 0; key < 1 << 17; key++) {
            refused += map.slot(Long.valueOf(key), 1) < 0 ? 1 : 0;
        }
        fact("refused", refused > 0 && refused < 1 << 17);
        session.addMap(2, MapShape.HIST, 1, 2, 1 << 16, new long[0]);
        session.fired(1);
        map = session.map(2);
        for (long key = 0; key < 60_013; key++) {
            map.add(map.slot(Long.valueOf(key), 1), 3L);
        }
        fact("owner", map.size() + " " + (long) map.total());
        long begin = Records.begin(session, 7, 1, site(1), 100_000);
        long[] words = Records.words(session, begin);
        int at = Records.position(begin);
        int end = Records.end(begin, 100_000);
        for (int i = 0; i < 9001; i++) {
            at = Records.putLong(at, words, end, i);
        }
        Records.commit(session, at, words, begin, end);
        byte[] small = new byte[64 << 10];
        boolean named = session.drain(small) > 0; // the record of the name of this thread
        fact("record", named + " " + session.drain(small) + " " + session.drain(new byte[session.maxRecord()]));
        session.addMap(1, MapShape.COUNT, 1, 2, 1 << 14, new long[0]);
        map = session.map(1);
        for (long key = 0; key < 1009; key++) {
            map.count(map.slot(Long.valueOf(key), 1));
        }
        byte[] some = session.mapContent(1, true, 9000);
        write("map1.0", some, some.length);
        byte[] others = session.mapContent(1, true, 12 << 20);
        write("map1.1", others, others.length);
        session.close();
    }

    private void sampling() throws Exception {
        open("sampling", defaults());
        session.sampling(1, Sampler.EVERY, 13, false, 1);
        session.sampling(2, Sampler.RATE, 20, false, 2);
        session.sampling(3, Sampler.MAX_RATE, 7, false, 3);
        session.sampling(4, Sampler.EVERY, 2, true, 4);
        final long[] weights = new long[4];
        int fired = 0;
        for (int hit = 0; hit < 10_007; hit++) {
            for (int probe = 1; probe <= 3; probe++) {
                weights[probe] += Sampler.choose(site(1), probe);
            }
        }
        fact("every", weights[1]);
        fact("rate", Math.abs(weights[2] - 10_007) < 20); // the last block is not finished
        for (int second = 1; second <= 2; second++) {
            session.tick(System.nanoTime() + second * 1_000_000_000L);
            fired = 0;
            for (int hit = 0; hit < 10_007; hit++) {
                int weight = Sampler.choose(site(1), 3);
                weights[3] += weight;
                fired += weight > 0 ? 1 : 0;
            }
        }
        fact("max-rate", fired <= 7 && fired >= 5);
        fact("max-rate-weights", weights[3] <= 30_021 && weights[3] > 30_021 * 0.7);
        final long[] totals = new long[WRITERS];
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                for (int hit = 0; hit < 10_007; hit++) {
                    totals[writer] += Sampler.choose(site(1), 1);
                }
            }
        });
        long all = weights[1];
        for (long total : totals) {
            all += total;
        }
        fact("every-of-many", all % 13 + " " + (all <= 9 * 10_007 && all > 9 * 10_007 - 16 * 13));
        finish();
    }

    private void samplingByThread() throws Exception {
        open("by-thread", defaults());
        session.sampling(1, Sampler.EVERY, 3, false, 1);
        session.sampling(2, Sampler.EVERY, 3, false, 1);
        StringBuilder decisions = new StringBuilder();
        for (int request = 0; request < 7; request++) {
            int outer = Sampler.enter(site(1), 1);
            int exit = Sampler.enter(site(1), 2);
            int inner = Sampler.enter(site(1), 1);
            Sampler.leave(site(1), 1, inner);
            Sampler.leave(site(1), 2, exit);
            boolean alike = (outer | Sampler.INHERITED) == inner && inner == exit;
            Sampler.leave(site(1), 1, outer);
            decisions.append(alike ? outer : -9).append(' ');
        }
        fact("decisions", decisions.toString().trim());
        session.setEnabled(1, false);
        fact("disabled", Sampler.enter(site(1), 1));
        finish();
    }

    private void limitedFirings() throws Exception {
        open("firings", defaults());
        session.limit(1, 101, 0, 0, 0);
        session.limit(2, 0, 17, 0, 0);
        session.limit(3, 0, 0, 5_000_000_000L, 0);
        final long[] fired = new long[WRITERS];
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                for (int hit = 0; hit < 1009; hit++) {
                    for (int probe = 1; probe <= 3; probe++) {
                        Session entered = Session.enter(site(1), probe);
                        if (entered != null && entered.fired(probe) >= 0 && probe == 1) {
                            fired[writer]++;
                        }
                    }
                }
            }
        });
        long all = 0;
        for (long each : fired) {
            all += each;
        }
        fact("first", all + " " + (Session.enter(site(1), 1) == null));
        session.tick(System.nanoTime() + 1_000_000_000L);
        for (int hit = 0; hit < 101; hit++) {
            session.fired(2);
        }
        fact("in-time", Session.enter(site(1), 3) != null);
        session.tick(System.nanoTime() + 6_000_000_000L);
        fact("late", Session.enter(site(1), 3) == null);
        session.disable(5);
        fact("disabled", Session.enter(site(1), 5) == null);
        session.setEnabled(5, true);
        fact("enabled", Session.enter(site(1), 5) != null);
        session.disable(6);
        finish();
    }

    private void histogram() throws Exception {
        open("histogram", defaults());
        for (int precision = 0; precision <= 8; precision++) {
            session.addMap(precision, MapShape.HIST, 0, precision, 1, new long[0]);
            Aggregation map = session.map(precision);
            for (long sample : SAMPLES) {
                map.add(map.slot(), sample);
            }
        }
        finish(0, 1, 2, 3, 4, 5, 6, 7, 8);
    }

    private void keys() throws Exception {
        open("keys", new Limits(1 << 20, 8, 2, 20, 20, 32));
        session.addMap(0, MapShape.COUNT, 1, 2, 100, new long[0]);
        session.addMap(1, MapShape.COUNT, 2, 2, 100, new long[0]);
        session.addMap(2, MapShape.COUNT, 3, 2, 100, new long[0]);
        session.addMap(3, MapShape.COUNT, 4, 2, 100, new long[0]);
        session.addMap(4, MapShape.COUNT, 5, 2, 100, new long[0]);
        Object one = new Money();
        Object[] keys = {
            null, "text", new String("text"), 1L, 1, (short) 1, 1.5, 1.5f, true, 'c', Color.RED, "RED", Integer.class,
            "a long string 1", "a long string 2", one, one, new Money(), Double.NaN, 0.0 / 0.0,
        };
        Aggregation map = session.map(0);
        for (Object key : keys) {
            map.count(map.slot(key, 1));
        }
        for (int round = 0; round < 2; round++) {
            session.map(1).count(session.map(1).slot("a", 1, 1));
            session.map(2).count(session.map(2).slot("a", 1, true, 1));
            session.map(3).count(session.map(3).slot("a", 1, true, 'c', 1));
            session.map(4).count(session.map(4).slot(new Object[] {"a", 1, true, 'c', null}, 1));
        }
        fact("absent", session.map(1).find("a", 2));
        fact("present", session.map(1).find("a", 1) >= 0);
        fact("value", session.map(1).value(session.map(1).find("a", 1)));
        finish(0, 1, 2, 3, 4);
    }

    private void fullMap() throws Exception {
        open("full", defaults());
        session.addMap(0, MapShape.COUNT, 1, 2, 1000, new long[0]);
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                Session entered = enterGuarded(site(1), 3);
                for (int i = 0; i < 2000; i++) {
                    entered.map(0).count(entered.map(0).slot(Long.valueOf(i), 1));
                }
                leave();
            }
        });
        finish(0);
    }

    private void deletion() throws Exception {
        open("deletion", defaults());
        session.addMap(0, MapShape.COUNT, 1, 2, 50, new long[0]);
        final Aggregation map = session.map(0);
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                for (int i = 0; i < 20_000; i++) { // many more keys than there is room for, but few at a time
                    Long key = Long.valueOf((long) writer << 32 | i);
                    map.count(map.slot(key, 1));
                    map.delete(map.find(key));
                }
            }
        });
        int stale = map.slot("stale", 1);
        map.count(stale);
        map.delete(stale);
        map.count(stale);
        fact("after-delete", map.find("stale"));
        int fresh = map.slot("stale", 1);
        map.count(stale);
        fact("fresh", map.value(fresh));
        map.clear();
        map.count(fresh);
        map.count(map.slot("after", 1));
        finish(0);
    }

    private void plainValues() throws Exception {
        open("plain", new Limits(1 << 20, 8, 2, 20, 20, 32));
        session.addMap(0, MapShape.VALUE, 1, 2, 100, new long[0]);
        final Aggregation map = session.map(0);
        map.store(map.slot("null", 1), null);
        map.store(map.slot("int", 1), 5);
        map.store(map.slot("cut", 1), "a long string");
        map.store(map.slot("object", 1), new Money());
        map.slot("unset", 1);
        fact("unset", map.value(map.find("unset")));
        fact("cut", map.value(map.find("cut")));
        map.update(map.slot("int", 1), "*=", 3L);
        map.update(map.slot("int", 1), "-=", 1L);
        map.update(map.slot("double", 1), "+=", 1.5);
        map.update(map.slot("text", 1), "+=", "ab");
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                for (int i = 0; i < 10_000; i++) {
                    map.update(map.slot("shared", 1), "+=", 1L);
                }
            }
        });
        try {
            map.update(map.slot("null", 1), "+=", 1L);
            fact("null-operand", false);
        } catch (ProbeError e) {
            fact("null-operand", e == ProbeError.NULL_OPERAND);
        }
        finish(0);
    }

    // ------------------------------------------------------------------------------------------------ buffers

    private void overflow() throws Exception {
        open("overflow", new Limits(128 << 10, 200, 2, 20, 20, 32));
        final boolean[] stop = {false};
        final Throwable[] failed = {null};
        Thread drainer = new Thread("drainer") {
            @Override
            public void run() {
                try {
                    while (!stop[0]) {
                        drainAll();
                        Thread.sleep(1);
                    }
                } catch (Throwable t) {
                    failed[0] = t;
                }
            }
        };
        drainer.start();
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                for (int i = 0; i < 40_000; i++) {
                    print(writer, i % 5 == 0 ? 100 : 0, i, ~i);
                }
            }
        });
        stop[0] = true;
        drainer.join();
        fact("drainer", failed[0]);
        finish();
    }

    private void stuckWriter() throws Exception {
        open("stuck", new Limits(64 << 10, 200, 2, 20, 20, 32));
        long now = System.nanoTime();
        emit(0, 1);
        long stuck = Records.begin(session, 0, 2, site(1), 9);
        long[] words = Records.words(session, stuck);
        int end = Records.end(stuck, 9);
        int half = Records.putInt(Records.position(stuck), words, end, 99);
        emit(0, 2);
        drainAll(now);
        // A claim whose writer was stopped before it could mark it.
        EventBuffer.Ring ring = session.events.ringOf(stuck);
        long head = ring.head();
        fact("claimed", ring.moveHead(head, head + 64));
        emit(0, 3);
        drainAll(now + EventBuffer.STALL_NANOS / 2);
        drainAll(now + EventBuffer.STALL_NANOS + 1); // gives the ring up
        emit(0, 4);
        drainAll(now + EventBuffer.STALL_NANOS + 2);
        drainAll(now + 2 * EventBuffer.STALL_NANOS + 3); // gives up what is in it
        fact("late", Records.words(session, stuck) == null);
        for (int i = 0; i < 5000; i++) { // round and round the new ring
            emit(0, 5);
            Records.commit(session, i % 2 == 0 ? Records.putInt(half, words, end, 100) : Integer.MAX_VALUE, words, stuck, end);
            if (i % 50 == 0) {
                drainAll();
            }
        }
        finish();
    }

    private void requests() throws Exception {
        open("requests", defaults());
        session.addMap(0, MapShape.COUNT, 0, 2, 1, new long[0]);
        emit(0, 1);
        Request.printMaps(session, 7, "\0");
        emit(0, 2);
        Request.exit(session, 8, 3, site(5), 42);
        emit(0, 3);
        StringBuilder order = new StringBuilder();
        for (int i = 0; i < 6; i++) {
            int count = session.drain(target);
            order.append(count / 40 == 0 ? "" : "e" + (count > 40 && i == 0 ? "n" : ""));
            Request request = session.takeRequest();
            if (request != null) {
                order.append(request.kind == Request.EXIT ? "x" : "m").append(request.template).append(',').append(request.argument);
                order.append(',').append(request.probe).append(',').append(request.site & 0xFFFFFF).append(';');
            }
        }
        fact("order", order);
        for (int bound = 1000; bound >= 0; bound -= 100) {
            while (Records.begin(session, 0, 1, site(1), bound) >= 0) {
                // fills the buffers with records that are never finished
            }
        }
        Request.exit(session, 9, 3, site(5), 1);
        session.drain(target);
        Request late = session.takeRequest();
        fact("late", late == null ? "lost" : late.template);
        session.close();
    }

    // ------------------------------------------------------------------------------------------------ entering

    /** Where {@link #enterGuarded} has marked the thread. */
    private static final ThreadLocal<Integer> MARKED = new ThreadLocal<Integer>();

    private static Session enterGuarded(int site, int probe) {
        Session entered = Session.enter(site, probe);
        int entry = entered == null ? -1 : Guard.enter(entered, probe);
        if (entry < 0) {
            return null;
        }
        MARKED.set(entry);
        return entered;
    }

    private static void leave() {
        Guard.leave(MARKED.get());
    }

    private void guard() throws Exception {
        open("guard", defaults());
        fact("enter", Session.enter(site(1), 1) == session);
        fact("other-slot", Session.enter(99 << 24 | 1, 1) == null && Session.enter(-1, 1) == null);
        fact("unknown-probe", Session.enter(site(1), 99) == null && Session.enter(site(1), -1) == null);
        session.setEnabled(1, false);
        fact("disabled", Session.enter(site(1), 1) == null && enterGuarded(site(1), 1) == null);
        session.setEnabled(1, true);
        fact("guarded", enterGuarded(site(1), 1) == session);
        fact("inside", enterGuarded(site(1), 2) == null);
        byte[] records = new byte[session.maxRecord()];
        session.drain(records, System.nanoTime() + 3_000_000_000L);
        fact("given-up", enterGuarded(site(1), 2) == session);
        fact("inside-again", enterGuarded(site(1), 2) == null);
        session.drain(records, System.nanoTime());
        leave();
        fact("left", enterGuarded(site(1), 1) == session);
        final boolean[] other = new boolean[3];
        Thread thread = new Thread() {
            @Override
            public void run() {
                other[0] = enterGuarded(site(1), 1) == session;
                leave();
            }
        };
        thread.start();
        thread.join();
        fact("other-thread", other[0]);
        leave();
        AgentThread agent = new AgentThread(new Runnable() {
            @Override
            public void run() {
                other[0] = Session.enter(site(1), 1) == null;
                other[1] = enterGuarded(site(1), 1) == null;
                other[2] = Session.enterAgent(site(1), 1) == session;
            }
        }, "agent");
        agent.start();
        agent.join();
        fact("agent", other[0] && other[1] && other[2]);
        fact("agent-elsewhere", Session.enterAgent(site(1), 1) == null);
        long tid = MEMORY.getLong(Thread.currentThread(), MEMORY.fieldOffset(Thread.class, "tid"));
        fact("tid", tid == Thread.currentThread().getId() && Threads.id() == tid);
        session.close();
        fact("closed", Session.enter(site(1), 1) == null && enterGuarded(site(1), 1) == null);
    }

    private void depth() throws Exception {
        open("depth", defaults());
        fact("outermost", Depths.enter(site(1), 1));
        fact("second", Depths.enter(site(1), 1));
        fact("other-probe", Depths.enter(site(1), 2));
        fact("third", Depths.enter(site(1), 1));
        Depths.leave(site(1), 1, 1); // the exit of the third was missed
        fact("healed", Depths.enter(site(1), 1));
        Depths.leave(site(1), 1, 1);
        Depths.leave(site(1), 1, 0);
        fact("again", Depths.enter(site(1), 1));
        Depths.leave(site(1), 1, 0);
        Depths.leave(site(1), 2, 0);
        final long offset = MEMORY.fieldOffset(Thread.class, "tid");
        final int[] seen = new int[2];
        Thread many = new Thread() {
            @Override
            public void run() {
                long own = MEMORY.getLong(this, offset);
                for (long tid = 1_000_000; tid < 1_100_000; tid++) {
                    MEMORY.putLong(this, offset, tid);
                    seen[Depths.enter(site(1), 1) == 0 ? 0 : 1]++;
                }
                MEMORY.putLong(this, offset, own);
            }
        };
        many.start();
        many.join();
        fact("counted", seen[0]);
        fact("uncounted", seen[1]);
        finish();
        fact("closed", Depths.enter(site(1), 1));
    }

    private void errors() throws Exception {
        open("errors", defaults());
        session.failed(1, 100, ProbeError.NULL_OPERAND);
        session.failed(1, 100, ProbeError.NULL_OPERAND);
        session.failed(1, 200, new ArithmeticException("/ by zero"));
        session.failed(1, 200, new ClassCastException("no"));
        session.failed(2, 200, new StackOverflowError());
        session.failed(2, 300, new IllegalStateException("odd") {
            private static final long serialVersionUID = 1L;

            @Override
            public String getMessage() {
                throw new AssertionError("getMessage of an application's exception");
            }
        });
        Session entered = enterGuarded(site(1), 5);
        Elements.element(entered, new int[2], 2, 55);
        Elements.element(entered, new ArrayList<Object>(), 0, 55);
        entered.addMap(0, MapShape.SUM, 0, 2, 1, new long[0]);
        entered.map(0).add(entered.map(0).slot(), (Object) null);
        leave();
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                for (int i = 0; i < 10_000; i++) {
                    session.failed(7, i % 3, ProbeError.BAD_CAST);
                }
            }
        });
        byte[] errors = session.takeErrors();
        write("errors", errors, errors.length);
        fact("quiet", session.takeErrors() == null);
        session.failed(1, 100, ProbeError.NULL_OPERAND);
        errors = session.takeErrors();
        fact("since", errors.length > 20 && errors[20] == 1 && errors[3] == 1);
        session.fired(4);
        finish();
    }

    // ------------------------------------------------------------------------------------------------ objects

    private void stacks() throws Exception {
        open("stacks", new Limits(1 << 20, 200, 2, 20, 20, 8));
        StackProbe probe = new StackProbe(session);
        Object[] stacks = new Object[3];
        for (int i = 0; i < stacks.length; i++) {
            stacks[i] = StackProbe.capture(probe, i < 2 ? 3 : 5, 100);
        }
        fact("interned", stacks[0] == stacks[1]);
        fact("distinct", stacks[0] != stacks[2]);
        emit(0, stacks[0], stacks[2]);
        final Throwable liar = StackProbe.fail();
        final Object[] of = {Stack.of(session, liar, 2)};
        Thread holder = new Thread() {
            @Override
            public void run() {
                of[0] = Stack.of(session, liar, 2);
            }
        };
        synchronized (liar) { // somebody holds the exception's monitor
            holder.start();
            holder.join(10_000);
        }
        fact("monitor", !holder.isAlive());
        emit(1, of[0], Stack.of(session, null, 3));
        fact("frameOf", Stack.frameOf(session, liar, 0));
        fact("frame", StackProbe.frame(probe, 0));
        fact("past", Stack.frameHere(session, 7) + " " + Stack.frameHere(session, -1) + " " + Stack.frameHere(session, 1000));
        int before = 0;
        for (int i = 0; i < 20_000; i++) { // more stacks than the table holds
            StackTraceElement[] made = {new StackTraceElement("a.B" + i, "m", "B.java", i)};
            Throwable t = new Throwable();
            t.setStackTrace(made);
            before += ((Stack) Stack.of(session, t, 4)).id == 0 ? 1 : 0;
        }
        fact("overflowed", before > 20_000 - 8192);
        finish();
    }

    /** The second time a stack is found by its raw trace, which the JVM keeps in pieces of 32 frames. */
    private void stacksAgain() throws Exception {
        open("stacksAgain", new Limits(1 << 20, 200, 2, 20, 20, 100));
        StackProbe probe = new StackProbe(session);
        Stack[] all = new Stack[71];
        Object[] cut = new Object[all.length];
        String[] frames = new String[all.length];
        boolean same = true;
        for (int round = 0; round < 3; round++) {
            for (int depth = 0; depth < all.length; depth++) {
                Stack found = (Stack) StackProbe.capture(probe, depth, 100);
                Object short_ = StackProbe.capture(probe, depth, 3);
                String third = StackProbe.frame(probe, depth, 2);
                same &= round == 0 || found == all[depth] && short_ == cut[depth] && third.equals(frames[depth]);
                all[depth] = found;
                cut[depth] = short_;
                frames[depth] = third;
            }
            session.stacks.sweep(System.nanoTime() + round * 10_000_000_000L); // the last round begins with nothing
        }
        boolean right = true;
        for (int depth = 1; depth < all.length; depth++) {
            right &= all[depth].classes.length == all[0].classes.length + depth && all[depth] != all[depth - 1];
            right &= (cut[depth] == cut[depth - 1]) == (depth > 2) && frames[depth].equals(frames[depth - 1]) == (depth > 2);
        }
        boolean apart = true;
        for (int round = 0; round < 3; round++) {
            Object one = StackProbe.capture(probe, 0, 5);
            Object other = StackProbe.capture(probe, 0, 5);
            apart &= one != other;
        }
        fact("same", same);
        fact("right", right);
        fact("apart", apart);
        java.lang.reflect.Method capture = StackProbe.class.getMethod("capture", StackProbe.class, int.class, int.class);
        Object[] reflected = new Object[30];
        for (int i = 0; i < reflected.length; i++) { // the JVM reflects in another way from some call on
            reflected[i] = capture.invoke(null, probe, 2, 5);
        }
        boolean one = true;
        boolean hidden = true;
        for (Object each : reflected) {
            one &= each == reflected[0];
            for (String name : ((Stack) each).classes) {
                hidden &= !name.contains("reflect");
            }
        }
        fact("reflected", one && hidden);
        finish();
    }

    private void fields() throws Exception {
        open("fields", defaults());
        Money money = new Money();
        fact("own", Fields.read(money, "cents"));
        fact("super", Fields.read(money, "hidden"));
        fact("char", Fields.read(money, "sign"));
        fact("boolean", Fields.read(money, "exact"));
        fact("float", Fields.read(money, "half"));
        fact("short", Fields.read(money, "small"));
        fact("byte", Fields.read(money, "tiny"));
        fact("null", Fields.read(null, "x"));
        fact("composed", Fields.read(money, new StringBuilder("na").append("me").toString()));
        fact("length", Fields.read(new int[3], "length"));
        try {
            Fields.read(money, "nosuch");
            fact("absent", "found");
        } catch (ProbeError e) {
            fact("absent", e.getMessage());
        }
        fact("element", Elements.element(session, new byte[] {5}, 0, 55));
        fact("list", Elements.element(session, Arrays.asList("a", "b"), 1, 55));
        fact("linked", Elements.element(session, new LinkedList<Object>(Arrays.asList("a", "b")), 1, 55));
        fact("nullList", Elements.element(session, null, 1, 55));
        try {
            Elements.element(session, money, 0, 55);
            fact("not-a-list", "found");
        } catch (ProbeError e) {
            fact("not-a-list", e.kind);
        }
        session.addSite(site(70), "a.B", "m", "()V", 12, "c.D", "n", "app");
        fact("site", Site.className(session, site(70)) + Site.methodName(session, site(70)) + Site.signature(session, site(70)) + Site.line(session, site(70)));
        fact("operation", Site.targetClass(session, site(70)) + "." + Site.targetMember(session, site(70)));
        fact("no-operation", Site.targetClass(session, site(71)) + "." + Site.targetMember(session, site(100_000)));
        fact("no-site", Site.className(session, site(71)) + Site.line(session, site(100_000)));
        fact("pid", session.pid());
        long difference = session.wallClock() / 1_000_000 - System.currentTimeMillis();
        fact("wall", Math.abs(difference) < 2000);
        session.close();
    }

    /** One thread under a hundred thousand ids, in everything that is kept by thread. */
    /** As {@code thread.n += 1} and the like; of threads that pass for {@code count} others, one after the other. */
    private void keep(final long first, final int count, final int[] kept) throws Exception {
        final long offset = MEMORY.fieldOffset(Thread.class, "tid");
        Thread many = new Thread() {
            @Override
            public void run() {
                long own = MEMORY.getLong(this, offset);
                for (long tid = first; tid < first + count; tid++) {
                    MEMORY.putLong(this, offset, tid);
                    ThreadValues values = ThreadValues.toChange(session, 3, 1, 777);
                    ThreadValues.addNumber(values, 0, tid);
                    ThreadValues.addNumber(values, 0, 1);
                    kept[ThreadValues.has(ThreadValues.now(session), 0) ? 0 : 1]++;
                }
                MEMORY.putLong(this, offset, own);
            }
        };
        many.start();
        many.join();
    }

    private void threadValues() throws Exception {
        open("thread-values", defaults());
        fact("nothing", ThreadValues.now(session) == null);
        fact("absent", ThreadValues.boxedNumber(null, 0) == null && !ThreadValues.has(null, 31));
        int[] kept = new int[2];
        keep(1_000_000, 20_000, kept);
        fact("kept", kept[0]);
        fact("refused", kept[1]);
        long now = System.nanoTime();
        session.drain(target, now); // both threads have ended
        keep(2_000_000, 8_000, kept = new int[2]);
        fact("kept-again", kept[0]);
        final Object[] seen = new Object[3];
        final CyclicBarrier both = new CyclicBarrier(2);
        Thread waiting = new Thread() {
            @Override
            public void run() {
                try {
                    ThreadValues values = ThreadValues.toChange(session, 3, 1, 777);
                    ThreadValues.setReal(values, 1, 2.5);
                    ThreadValues.set(values, 2, this, session);
                    both.await();
                    both.await();
                    seen[0] = ThreadValues.boxedReal(ThreadValues.now(session), 1);
                    seen[1] = ThreadValues.value(ThreadValues.now(session), 2);
                    ThreadValues.clear(ThreadValues.now(session));
                    seen[2] = ThreadValues.boxedReal(ThreadValues.now(session), 1);
                } catch (Exception broken) {
                    seen[0] = broken;
                }
            }
        };
        waiting.start();
        both.await();
        for (int i = 1; i < 4; i++) {
            session.drain(target, now + i * 2_000_000_000L); // it lives on
        }
        both.await();
        waiting.join();
        fact("of-a-live-thread", seen[0]);
        fact("object", seen[1] != null && !(seen[1] instanceof Thread));
        fact("cleared", seen[2] == null);
        session.drain(target, now + 8_000_000_000L);
        keep(3_000_000, 8_000, kept = new int[2]);
        fact("kept-at-last", kept[0]);
        finish();
    }

    private void manyThreads() throws Exception {
        open("threads", new Limits(256 << 10, 200, 2, 20, 20, 32));
        session.addMap(0, MapShape.COUNT, 0, 2, 1, new long[0]);
        final long offset = MEMORY.fieldOffset(Thread.class, "tid");
        Thread many = new Thread("many") {
            @Override
            public void run() {
                long own = MEMORY.getLong(this, offset);
                long used = 0;
                for (int i = 0; i < 200_000; i++) {
                    if (i == 100_000) {
                        used = usedAfterCollection();
                    }
                    MEMORY.putLong(this, offset, 1_000_000L + i);
                    Session entered = enterGuarded(site(1), 1);
                    entered.map(0).count(entered.map(0).slot());
                    Depths.leave(site(1), 1, Depths.enter(site(1), 1));
                    emit(0, i);
                    leave();
                    if (i % 500 == 0) {
                        session.drain(target);
                    }
                }
                MEMORY.putLong(this, offset, own);
                fact("grown", Math.max(0, usedAfterCollection() - used));
            }
        };
        many.start();
        many.join();
        session.drain(target);
        while (session.drain(target) > 0) {
            // the file of so many records is of no interest
        }
        finish(0);
    }

    private static long usedAfterCollection() {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 3; i++) {
            System.gc();
            least = Math.min(least, Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory());
        }
        return least;
    }

    private void names() throws Exception {
        open("names", defaults());
        Thread thread = new Thread("first") {
            @Override
            public void run() {
                emit(0, 1);
                emit(0, 2);
                setName("second");
                emit(0, 3);
                fact("tid", getId());
            }
        };
        thread.start();
        thread.join();
        fact("virtual", Threads.isVirtual());
        finish();
    }

    private void slots() {
        scenario = "slots";
        Session[] sessions = new Session[127];
        boolean[] seen = new boolean[128];
        boolean distinct = true;
        Limits small = new Limits(0, 1, 0, 0, 0, 1);
        for (int i = 0; i < 127; i++) {
            sessions[i] = Session.open(small, 1);
            distinct &= !seen[sessions[i].slot()] && sessions[i].slot() > 0;
            seen[sessions[i].slot()] = true;
        }
        fact("distinct", distinct);
        fact("full", Session.open(small, 1) == null);
        sessions[5].close();
        Session again = Session.open(small, 1);
        fact("reused", again != null && again.slot() == sessions[5].slot());
        sessions[5].close(); // a second time: must not take the slot from its new owner
        again.addProbe(0);
        again.setEnabled(0, true);
        fact("kept", Session.enter(again.slot() << 24 | 1, 0) == again);
        again.close();
        for (Session session : sessions) {
            session.close();
        }
    }
}
