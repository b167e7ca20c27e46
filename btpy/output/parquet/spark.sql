-- Views and functions for Spark 4.3 or later over the Parquet files of btpy (-o parquet://DIRECTORY).
--
--     btpy help spark > btpy.sql
--     spark-sql --conf spark.btpy.directory=DIRECTORY -i btpy.sql
--
-- docs/how-to/parquet.md shows their use, also from Python; docs/parquet.md has the columns.

-- The data sets. The columns are given, so that Spark does not guess the types of host, service, script and hour, and
-- reads files of earlier versions that lack columns.
CREATE OR REPLACE TEMPORARY VIEW btpy_event_files (
    ts TIMESTAMP, nanos BIGINT, run STRING, pid BIGINT, kind STRING, probe STRING, name STRING, tid BIGINT,
    thread STRING, text STRING, data STRING, cut STRING, context STRING, host STRING, service STRING,
    script STRING, hour STRING
) USING parquet OPTIONS (path '${spark.btpy.directory}/events');

CREATE OR REPLACE TEMPORARY VIEW btpy_map_files (
    ts TIMESTAMP, nanos BIGINT, run STRING, pid BIGINT, map STRING, kind STRING, unit STRING, reading BIGINT,
    part BOOLEAN, final BOOLEAN, key STRING, keys ARRAY<STRING>, key_names ARRAY<STRING>, count BIGINT,
    sum BIGINT, sum_double DOUBLE, min BIGINT, min_double DOUBLE, max BIGINT, max_double DOUBLE, value STRING,
    value_nanos BIGINT, scale INT, zero_count BIGINT, positive_offset INT, positive_counts ARRAY<BIGINT>,
    negative_offset INT, negative_counts ARRAY<BIGINT>, bounds ARRAY<DOUBLE>, bucket_counts ARRAY<BIGINT>,
    exemplars ARRAY<STRUCT<ts: TIMESTAMP, value: BIGINT, value_double: DOUBLE, trace_id: STRING, span_id: STRING>>,
    registers BINARY, estimate BIGINT, top ARRAY<STRUCT<value: STRING, count: BIGINT, error: BIGINT>>,
    unseen BIGINT, series ARRAY<STRUCT<start: TIMESTAMP, count: BIGINT, value: BIGINT, value_double: DOUBLE>>,
    interval_nanos BIGINT, examples ARRAY<STRING>, skipped BIGINT, low DOUBLE, high DOUBLE, map_full BIGINT,
    omitted BIGINT, host STRING, service STRING, script STRING, hour STRING
) USING parquet OPTIONS (path '${spark.btpy.directory}/maps');

CREATE OR REPLACE TEMPORARY VIEW btpy_loss_files (
    ts TIMESTAMP, nanos BIGINT, run STRING, pid BIGINT, probe STRING, reason STRING, fired BIGINT,
    skipped BIGINT, limited BIGINT, errors BIGINT, produced BIGINT, delivered BIGINT, written BIGINT,
    withheld BIGINT, discarded BIGINT, dropped_ring BIGINT, dropped_large BIGINT, dropped_stalled BIGINT,
    dropped_unattended BIGINT, dropped_budget BIGINT, map_full BIGINT, restraints BIGINT, host STRING,
    service STRING, script STRING, hour STRING
) USING parquet OPTIONS (path '${spark.btpy.directory}/losses');

-- Spark takes each percent escape in the name of a directory for a character of its own; these are bytes of UTF-8.
CREATE OR REPLACE TEMPORARY VIEW btpy_events AS
SELECT * EXCEPT (host, service, script, hour), decode(encode(host, 'ISO-8859-1'), 'UTF-8') AS host,
    decode(encode(service, 'ISO-8859-1'), 'UTF-8') AS service, decode(encode(script, 'ISO-8859-1'), 'UTF-8') AS script,
    hour
FROM btpy_event_files;

CREATE OR REPLACE TEMPORARY VIEW btpy_maps AS
SELECT * EXCEPT (host, service, script, hour), decode(encode(host, 'ISO-8859-1'), 'UTF-8') AS host,
    decode(encode(service, 'ISO-8859-1'), 'UTF-8') AS service, decode(encode(script, 'ISO-8859-1'), 'UTF-8') AS script,
    hour
FROM btpy_map_files;

CREATE OR REPLACE TEMPORARY VIEW btpy_losses AS
SELECT * EXCEPT (host, service, script, hour), decode(encode(host, 'ISO-8859-1'), 'UTF-8') AS host,
    decode(encode(service, 'ISO-8859-1'), 'UTF-8') AS service, decode(encode(script, 'ISO-8859-1'), 'UTF-8') AS script,
    hour
FROM btpy_loss_files;

-- The rows of maps that add up to all samples: all parts of a map that the script flushes, else the last reading of
-- each run. The column histogram is for btpy_merge, the column listed for btpy_top.
CREATE OR REPLACE TEMPORARY VIEW btpy_totals AS
SELECT * EXCEPT (last_reading),
    IF(scale IS NULL, NULL, struct(scale, count, zero_count, positive_offset, positive_counts, negative_offset,
        negative_counts, min, max)) AS histogram,
    IF(top IS NULL, NULL, struct(top, unseen)) AS listed
FROM (SELECT *, max(reading) OVER (PARTITION BY run, map) AS last_reading FROM btpy_maps)
WHERE part OR reading = last_reading;

-- Functions --------------------------------------------------------------------------------------------------------

-- Spark refuses an expression with both a lambda and a function that is written in SQL. So each function is a query of
-- several steps, the first of which is the innermost.

-- The exact merge of all histograms of a group, with the lowest of their scales: btpy_merge(collect_list(histogram)).
-- coarser: how far the scale of a histogram is above that one; 2**coarser of its buckets become one.
CREATE OR REPLACE TEMPORARY FUNCTION btpy_merge(
    histograms ARRAY<STRUCT<scale: INT, count: BIGINT, zero_count: BIGINT, positive_offset: INT,
        positive_counts: ARRAY<BIGINT>, negative_offset: INT, negative_counts: ARRAY<BIGINT>, min: BIGINT,
        max: BIGINT>>)
RETURNS STRUCT<scale: INT, count: BIGINT, zero_count: BIGINT, positive: STRUCT<start: INT, counts: ARRAY<BIGINT>>,
    negative: STRUCT<start: INT, counts: ARRAY<BIGINT>>, min: BIGINT, max: BIGINT>
RETURN (SELECT IF(scale IS NULL, NULL, named_struct(
        'scale', scale,
        'count', aggregate(histograms, 0L, (n, h) -> n + h.count),
        'zero_count', aggregate(histograms, 0L, (n, h) -> n + h.zero_count),
        'positive', get(sums, 0),
        'negative', get(sums, 1),
        'min', array_min(transform(histograms, h -> h.min)),
        'max', array_max(transform(histograms, h -> h.max))))
    FROM (SELECT scale, transform(sides, side -> named_struct('start', coalesce(side.first, 0), 'counts',
        IF(side.first IS NULL, CAST(array() AS ARRAY<BIGINT>), aggregate(
            side.parts, array_repeat(0L, side.last - side.first + 1), (sums, p) -> transform(sums, (n, i) -> n +
                CASE WHEN p.coarser = 0 THEN coalesce(get(p.counts, side.first + i - p.start), 0L)
                     WHEN shiftleft(side.first + i + 1, p.coarser) <= p.start THEN 0L
                     WHEN shiftleft(side.first + i, p.coarser) >= p.start + size(p.counts) THEN 0L
                     ELSE aggregate(
                         slice(p.counts, greatest(shiftleft(side.first + i, p.coarser) - p.start, 0) + 1,
                               least(shiftleft(side.first + i + 1, p.coarser) - p.start, size(p.counts))
                                   - greatest(shiftleft(side.first + i, p.coarser) - p.start, 0)),
                         0L, (a, b) -> a + b)
                END))))) AS sums
    FROM (SELECT scale, transform(sides, parts -> named_struct('parts', parts,
        'first', array_min(transform(parts, p -> shiftright(p.start, p.coarser))),
        'last', array_max(transform(parts, p -> shiftright(p.start + size(p.counts) - 1, p.coarser))))) AS sides
    FROM (SELECT scale, array(
        transform(filter(histograms, h -> size(h.positive_counts) > 0), h -> named_struct(
            'start', h.positive_offset, 'coarser', h.scale - scale, 'counts', h.positive_counts)),
        transform(filter(histograms, h -> size(h.negative_counts) > 0), h -> named_struct(
            'start', h.negative_offset, 'coarser', h.scale - scale, 'counts', h.negative_counts))) AS sides
    FROM (SELECT array_min(transform(histograms, h -> h.scale)) AS scale)))));

-- All buckets of a merged histogram that have samples, in the order of their numbers: low and high (whole numbers, both
-- inclusive) and count. uppers: the greatest whole number in each bucket, and in the bucket before the first. The list
-- has the bounds between 1 and 2 at scale 6, as multiples of 2**-52, rounded down.
CREATE OR REPLACE TEMPORARY FUNCTION btpy_buckets(
    h STRUCT<scale: INT, count: BIGINT, zero_count: BIGINT, positive: STRUCT<start: INT, counts: ARRAY<BIGINT>>,
        negative: STRUCT<start: INT, counts: ARRAY<BIGINT>>, min: BIGINT, max: BIGINT>)
RETURNS ARRAY<STRUCT<low: BIGINT, high: BIGINT, count: BIGINT>>
RETURN (SELECT filter(concat(
        transform(reverse(get(sides, 0)), b -> named_struct(
            'low', IF(b.high = 9223372036854775807L, -b.high - 1, -b.high), 'high', -b.low, 'count', b.count)),
        array(named_struct('low', 0L, 'high', 0L, 'count', h.zero_count)),
        get(sides, 1)), b -> b.count > 0)
    FROM (SELECT transform(sides, s -> transform(s.counts, (n, i) -> named_struct(
        'low', get(s.uppers, i) + 1, 'high', get(s.uppers, i + 1), 'count', n))) AS sides
    FROM (SELECT transform(array(h.negative, h.positive), s -> named_struct('counts', s.counts,
        'uppers', transform(sequence(s.start, s.start + size(s.counts)), next ->
            IF(shiftright(next, h.scale) >= 63, 9223372036854775807L,
                shiftleft(shiftright(get(roots, shiftleft(next & (shiftleft(1, h.scale) - 1), 6 - h.scale)),
                                     greatest(52 - shiftright(next, h.scale), 0)),
                          greatest(shiftright(next, h.scale) - 52, 0)))))) AS sides
    FROM (SELECT array(4503599627370496L,
        4552640611975264L, 4602215617889652L, 4652330460224456L, 4702991017412879L, 4754203231900066L,
        4805973110840144L, 4858306726800863L, 4911210218475898L, 4964689791404917L, 5018751718701482L,
        5073402341788886L, 5128648071143992L, 5184495387049181L, 5240950840352481L, 5298021053235979L,
        5355712719992597L, 5414032607811327L, 5472987557571018L, 5532584484642806L, 5592830379701282L,
        5653732309544489L, 5715297417922861L, 5777532926377168L, 5840446135085607L, 5904044423720102L,
        5968335252311937L, 6033326162126810L, 6099024776549417L, 6165438801977672L, 6232576028726660L,
        6300444331942436L, 6369051672525772L, 6438406098065966L, 6508515743784819L, 6579388833490888L,
        6651033680544134L, 6723458688831074L, 6796672353750546L, 6870683263210220L, 6945500098633947L,
        7021131635980086L, 7097586746770916L, 7174874399133263L, 7253003658850448L, 7331983690425700L,
        7411823758157148L, 7492533227224511L, 7574121564787629L, 7656598341096954L, 7739973230616134L,
        7824256013156818L, 7909456575025820L, 7995584910184779L, 8082651121422441L, 8170665421539707L,
        8259638134547591L, 8349579696878213L, 8440500658608990L, 8532411684700150L, 8625323556245721L,
        8719247171738151L, 8814193548346688L, 8910173823209688L) AS roots))));

-- The bounds of a percentile of a merged histogram: the smallest sample that at least so many percent of the samples
-- do not exceed lies in low … high. The estimate is the middle. NULL without samples.
CREATE OR REPLACE TEMPORARY FUNCTION btpy_bounds(
    h STRUCT<scale: INT, count: BIGINT, zero_count: BIGINT, positive: STRUCT<start: INT, counts: ARRAY<BIGINT>>,
        negative: STRUCT<start: INT, counts: ARRAY<BIGINT>>, min: BIGINT, max: BIGINT>,
    percent DECIMAL(9, 4))
RETURNS STRUCT<estimate: BIGINT, low: BIGINT, high: BIGINT>
RETURN (SELECT IF(low IS NULL, NULL, named_struct(
        'estimate', low + shiftright(high - low, 1), 'low', low, 'high', high))
    FROM (SELECT IF(bucket.low IS NULL, NULL, greatest(bucket.low, h.min)) AS low, least(bucket.high, h.max) AS high
    FROM (SELECT aggregate(buckets,
        named_struct('low', CAST(NULL AS BIGINT), 'high', CAST(NULL AS BIGINT), 'through', 0L),
        (found, b) -> IF(found.through >= rank, found,
            named_struct('low', b.low, 'high', b.high, 'through', found.through + b.count))) AS bucket
    FROM (SELECT btpy_buckets(h) AS buckets,
        greatest(1L, CAST(ceil(percent * CAST(h.count AS DECIMAL(20)) / 100) AS BIGINT)) AS rank))));
CREATE OR REPLACE TEMPORARY FUNCTION btpy_percentile(
    h STRUCT<scale: INT, count: BIGINT, zero_count: BIGINT, positive: STRUCT<start: INT, counts: ARRAY<BIGINT>>,
        negative: STRUCT<start: INT, counts: ARRAY<BIGINT>>, min: BIGINT, max: BIGINT>,
    percent DECIMAL(9, 4))
RETURNS BIGINT
RETURN (SELECT bounds.estimate FROM (SELECT btpy_bounds(h, percent) AS bounds));

-- Adds lists of the same length, such as bucket_counts with the same bounds: btpy_add(collect_list(bucket_counts)).
CREATE OR REPLACE TEMPORARY FUNCTION btpy_add(lists ARRAY<ARRAY<BIGINT>>) RETURNS ARRAY<BIGINT>
RETURN (SELECT aggregate(lists, CAST(NULL AS ARRAY<BIGINT>),
    (sums, counts) -> IF(sums IS NULL, counts, zip_with(sums, counts, (a, b) -> a + b))));

-- How many different values all rows of a group have together: btpy_distinct(collect_list(registers)). This is the
-- estimate of Otmar Ertl (2017), as btpy has it.
CREATE OR REPLACE TEMPORARY FUNCTION btpy_distinct(lists ARRAY<BINARY>) RETURNS BIGINT
RETURN (SELECT CASE WHEN empty = 1 THEN 0L WHEN below = 0 THEN 9223372036854775807L ELSE CAST(least(
        9223372036854774784D,
        floor(n * n / (2 * ln(2D) * (n * tau * pow(0.5, 53) + middle + n * sigma)) + 0.5)) AS BIGINT) END
    FROM (SELECT n, empty, below, middle,
        empty + aggregate(sequence(1, 60), 0D, (s, k) -> s + pow(empty, pow(2, k)) * pow(2, k - 1)) AS sigma,
        IF(below IN (0, 1), 0D, (1 - below - aggregate(sequence(1, 60), 0D,
            (s, k) -> s + pow(1 - pow(below, pow(0.5, k)), 2) * pow(0.5, k))) / 3) AS tau
    FROM (SELECT CAST(size(ranks) AS DOUBLE) AS n,
        size(filter(ranks, r -> r = 0)) / CAST(size(ranks) AS DOUBLE) AS empty,
        size(filter(ranks, r -> r < 54)) / CAST(size(ranks) AS DOUBLE) AS below,
        aggregate(filter(ranks, r -> r > 0 AND r < 54), 0D, (s, r) -> s + pow(0.5, r)) AS middle
    FROM (SELECT aggregate(lists, array_repeat(0, length(get(lists, 0))), (ranks, registers) ->
        transform(ranks, (rank, i) ->
            greatest(rank, ascii(CAST(substring(registers, i + 1, 1) AS STRING))))) AS ranks))));

-- The merged list of topk, the most frequent first; a value that a row does not list counts as unseen there:
-- btpy_top(collect_list(listed)).
CREATE OR REPLACE TEMPORARY FUNCTION btpy_top(
    lists ARRAY<STRUCT<top: ARRAY<STRUCT<value: STRING, count: BIGINT, error: BIGINT>>, unseen: BIGINT>>)
RETURNS ARRAY<STRUCT<count: BIGINT, error: BIGINT, value: STRING>>
RETURN (SELECT reverse(array_sort(transform(array_distinct(transform(entries, t -> t.value)), v -> named_struct(
        'count', aggregate(filter(entries, t -> t.value = v), unseen, (n, t) -> n + t.count),
        'error', aggregate(filter(entries, t -> t.value = v), unseen, (n, t) -> n + t.error),
        'value', v))))
    FROM (SELECT aggregate(lists, 0L, (n, l) -> n + l.unseen) AS unseen,
        flatten(transform(lists, l -> transform(l.top, t -> named_struct(
            'value', t.value, 'count', t.count - l.unseen, 'error', t.error - l.unseen)))) AS entries));
