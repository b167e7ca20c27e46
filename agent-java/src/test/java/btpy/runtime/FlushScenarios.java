package btpy.runtime;

import java.io.File;

/** Scenarios of maps that are flushed or cleared while threads count into them. */
final class FlushScenarios extends Scenarios {
    private static final int FLUSHED_KEYS = 13;
    private static final int FLUSHED_ROUNDS = 30_011;

    /** Flushes maps repeatedly. Each flush writes its own MAP; the last flush contains the rest. */
    private class Flusher extends Thread {
        private final int maps;
        private volatile int flushes;
        private volatile boolean last;
        private Exception failure;

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
            } catch (Exception error) {
                failure = error;
            }
        }

        /** A writer waits for the next flush, so that many flushes happen however the threads are scheduled. */
        void waitFor() throws InterruptedException {
            int flushesBefore = flushes;
            while (flushes == flushesBefore && isAlive()) {
                Thread.sleep(1);
            }
        }

        void end() throws Exception {
            last = true;
            join();
            fact("flushes", failure != null ? failure : flushes);
        }
    }

    /** Also limits, disables and enables probes before each flush. */
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

    FlushScenarios(File directory) {
        super(directory);
        add("flush", this::flushing);
        add("flushed-keys", this::flushedKeys);
        add("tallies", this::tallying);
        add("additions", this::adding);
        add("cleared-additions", this::clearedAdditions);
        add("cleared-tallies", this::clearedTallies);
    }

    /** Eight threads write while another thread flushes. */
    private void flushing() throws Exception {
        open(defaults());
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
                session.fired(1); // a thread that gets a stripe here has its own cells; other threads share cells
                for (int i = 0; i < FLUSHED_ROUNDS; i++) {
                    Long key = Long.valueOf(i % FLUSHED_KEYS);
                    for (int id = 0; id < 3; id++) {
                        Aggregation map = session.map(id);
                        if (id == 0) {
                            map.count(map.slot(key, 1));
                        } else {
                            map.add(map.slot(key, 1), (long) i);
                        }
                    }
                    Aggregation plainMap = session.map(3);
                    plainMap.update(plainMap.slot(key, 1), "+=", Long.valueOf(1));
                    Aggregation topMap = session.map(4);
                    topMap.collect(topMap.slot("all", 1), key, 1, 0);
                    Aggregation keylessMap = session.map(5);
                    keylessMap.add(keylessMap.slot(), (long) i);
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
        open(defaults());
        session.addMap(0, MapShape.COUNT, 1, 2, 8, new long[0]);
        Aggregation map = session.map(0);
        for (int round = 0; round < 4; round++) { // 28 keys in 4 rounds do not fill a map of 8 keys, because each flush forgets 7
            for (int key = 0; key < 7; key++) {
                map.count(map.slot(Long.valueOf(7 * round + key), 1));
            }
            session.mapContent(0, true, 12 << 20);
            fact("size-" + round, map.size() + " " + map.has(map.find(Long.valueOf(7 * round))));
            Thread.sleep(1010); // the map installs an empty table at most once a second
        }
        int oldSlot = map.slot(Long.valueOf(-1), 1);
        session.mapContent(0, true, 12 << 20);
        map.count(oldSlot); // this thread found its key before the flush, and counts after the flush
        finish(0);
    }

    /**
     * Two probes count into one map, and do nothing else. A thread flushes the map, and limits, disables and enables
     * the probes.
     */
    private void tallying() throws Exception {
        open(defaults());
        session.addMap(0, MapShape.COUNT, 0, 2, 1, new long[0]);
        final Flusher flusher = new LimitingFlusher(1);
        flusher.start();
        final int site = site(1);
        inParallel(new Work() {
            @Override
            public void run(int writer) throws Exception {
                for (int i = 0; i < FLUSHED_ROUNDS; i++) {
                    Session.tally(site, 1, 0);
                    Session enteredSession = Session.enter(site, 2);
                    if (enteredSession != null) {
                        enteredSession.tally(2, 0);
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

    /** Three probes add, each to its own map. A thread flushes the maps, and limits, disables and enables the probes. */
    private void adding() throws Exception {
        open(defaults());
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
                    keys[i] = "key" + i; // equal strings, but not the same objects
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
        open(defaults());
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
        open(defaults());
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
}
