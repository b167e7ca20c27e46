package btpy.runtime;

import java.io.File;

/** Scenarios of maps that summarize: linear histograms, most frequent and distinct values, examples, series over time. */
final class SketchScenarios extends Scenarios {
    SketchScenarios(File directory) {
        super(directory);
        add("sketches", this::sketches);
        add("examples", this::examples);
        add("series", this::series);
    }

    private void sketches() throws Exception {
        open(defaults());
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
                    // the value v comes about 8 · (1009 / 2^v) times: skewed, with a long tail
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
        open(defaults());
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
        open(defaults());
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
}
