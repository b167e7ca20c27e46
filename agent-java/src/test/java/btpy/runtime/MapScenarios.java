package btpy.runtime;

import java.io.File;

/** Scenarios of maps: exact counts with many threads, buckets of histograms, keys, full maps, deletion, plain values. */
final class MapScenarios extends Scenarios {
    MapScenarios(File directory) {
        super(directory);
        add("exact", this::exactCounts);
        add("histogram", this::histogram);
        add("keys", this::keys);
        add("full", this::fullMap);
        add("too-much", this::tooMuch);
        add("deletion", this::deletion);
        add("plain", this::plainValues);
    }

    private void exactCounts() throws Exception {
        open(defaults());
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
                        Aggregation keylessMap = session.map(kind);
                        Aggregation keyedMap = session.map(10 + kind);
                        keylessMap.add(keylessMap.slot(), sample);
                        keyedMap.add(keyedMap.slot(key, 1), i % 2 == 0 ? (Object) Long.valueOf(sample)
                                : (Object) Double.valueOf(sample));
                    }
                }
            }
        });
        finish(1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 14, 15, 16, 17);
    }

    private void histogram() throws Exception {
        open(defaults());
        for (int precision = 0; precision <= ExponentialBuckets.MAX_SCALE; precision++) {
            session.addMap(precision, MapShape.HIST, 0, precision, 1, new long[0]);
            Aggregation map = session.map(precision);
            for (long sample : new long[] {3L << 61, Long.MAX_VALUE - 1, Long.MAX_VALUE, Long.MIN_VALUE}) {
                map.add(map.slot(), sample);
            }
            for (int exponent = 0; exponent < 63; exponent++) {
                for (long sample = (1L << exponent) - 1; sample <= (1L << exponent) + 1; sample++) {
                    addBoth(map, sample);
                }
                for (int part = 0; part < 64; part++) {
                    long bound = bound(exponent, part);
                    addBoth(map, bound);
                    addBoth(map, bound + 1);
                }
            }
        }
        finish(0, 1, 2, 3, 4, 5, 6);
    }

    /** Returns the greatest whole number up to 2^(exponent + part / 64). */
    private static long bound(int exponent, int part) {
        long mantissa = 1L << 52 | (part == 0 ? 0 : ExponentialBuckets.ROOTS[part - 1]);
        return exponent < 52 ? mantissa >> 52 - exponent : mantissa << exponent - 52;
    }

    private static void addBoth(Aggregation map, long magnitude) {
        map.add(map.slot(), magnitude);
        map.add(map.slot(), -magnitude);
    }

    private void keys() throws Exception {
        open(new Limits(1 << 20, 8, 2, 20, 20, 32));
        session.addMap(0, MapShape.COUNT, 1, 2, 100, new long[0]);
        session.addMap(1, MapShape.COUNT, 2, 2, 100, new long[0]);
        session.addMap(2, MapShape.COUNT, 3, 2, 100, new long[0]);
        session.addMap(3, MapShape.COUNT, 4, 2, 100, new long[0]);
        session.addMap(4, MapShape.COUNT, 5, 2, 100, new long[0]);
        Object identity = new ApplicationObjects.Money();
        Object[] keys = {
            null, "text", new String("text"), 1L, 1, (short) 1, 1.5, 1.5f, true, 'c', ApplicationObjects.Color.RED, "RED", Integer.class,
            "a long string 1", "a long string 2", identity, identity, new ApplicationObjects.Money(), Double.NaN,
                    0.0 / 0.0,
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
        open(defaults());
        session.addMap(0, MapShape.COUNT, 1, 2, 1000, new long[0]);
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                Session enteredSession = enterGuarded(site(1), 3);
                for (int i = 0; i < 2000; i++) {
                    enteredSession.map(0).count(enteredSession.map(0).slot(Long.valueOf(i), 1));
                }
                leave();
            }
        });
        finish(0);
    }

    /** The content is larger than a frame, and the maps reach their limit of memory. */
    private void tooMuch() throws Exception {
        open(defaults());
        session.addMap(0, MapShape.HIST, 1, 6, 1 << 17, new long[0]);
        Aggregation map = session.map(0);
        long refusedCount = 0;
        for (long key = 0; key < 1 << 17; key++) {
            refusedCount += map.slot(Long.valueOf(key), 1) < 0 ? 1 : 0;
        }
        fact("refused", refusedCount > 0 && refusedCount < 1 << 17);
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
        byte[] smallBuffer = new byte[64 << 10];
        boolean named = session.drain(smallBuffer) > 0; // the record of the name of this thread
        fact("record", named + " " + session.drain(smallBuffer) + " " + session.drain(new byte[session.maxRecord()]));
        session.addMap(1, MapShape.COUNT, 1, 2, 1 << 14, new long[0]);
        map = session.map(1);
        for (long key = 0; key < 1009; key++) {
            map.count(map.slot(Long.valueOf(key), 1));
        }
        byte[] firstPart = session.mapContent(1, true, 9000);
        write("map1.0", firstPart, firstPart.length);
        byte[] secondPart = session.mapContent(1, true, 12 << 20);
        write("map1.1", secondPart, secondPart.length);
        session.close();
    }

    private void deletion() throws Exception {
        open(defaults());
        session.addMap(0, MapShape.COUNT, 1, 2, 50, new long[0]);
        final Aggregation map = session.map(0);
        inParallel(new Work() {
            @Override
            public void run(int writer) {
                for (int i = 0; i < 20_000; i++) { // many more keys than fit into the map, but few at a time
                    Long key = Long.valueOf((long) writer << 32 | i);
                    map.count(map.slot(key, 1));
                    map.delete(map.find(key));
                }
            }
        });
        int oldSlot = map.slot("stale", 1);
        map.count(oldSlot);
        map.delete(oldSlot);
        map.count(oldSlot);
        fact("after-delete", map.find("stale"));
        int newSlot = map.slot("stale", 1);
        map.count(oldSlot);
        fact("fresh", map.value(newSlot));
        map.clear();
        map.count(newSlot);
        map.count(map.slot("after", 1));
        finish(0);
    }

    private void plainValues() throws Exception {
        open(new Limits(1 << 20, 8, 2, 20, 20, 32));
        session.addMap(0, MapShape.VALUE, 1, 2, 100, new long[0]);
        final Aggregation map = session.map(0);
        map.store(map.slot("null", 1), null);
        map.store(map.slot("int", 1), 5);
        map.store(map.slot("cut", 1), "a long string");
        map.store(map.slot("object", 1), new ApplicationObjects.Money());
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
}
