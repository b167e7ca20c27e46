-- Macros for DuckDB 1.3 or later over the Parquet files of btpy (-o parquet://DIRECTORY).
--
--     btpy help duckdb > btpy.sql
--     duckdb -init btpy.sql
--
-- docs/how-to/parquet.md shows their use, docs/parquet.md has the columns.

-- The rows of a data set: events, maps or losses.
CREATE OR REPLACE MACRO btpy_events(directory) AS TABLE
    FROM read_parquet(directory || '/events/**/*.parquet', hive_partitioning = true, hive_types_autocast = false,
                      union_by_name = true);
CREATE OR REPLACE MACRO btpy_maps(directory) AS TABLE
    FROM read_parquet(directory || '/maps/**/*.parquet', hive_partitioning = true, hive_types_autocast = false,
                      union_by_name = true);
CREATE OR REPLACE MACRO btpy_losses(directory) AS TABLE
    FROM read_parquet(directory || '/losses/**/*.parquet', hive_partitioning = true, hive_types_autocast = false,
                      union_by_name = true);

-- The rows of maps that add up to all samples: all parts of a map that the script flushes, else the last reading of
-- each run.
CREATE OR REPLACE MACRO btpy_totals(directory) AS TABLE
    FROM btpy_maps(directory)
    QUALIFY part OR reading = max(reading) OVER (PARTITION BY run, map);

-- Exponential histograms -----------------------------------------------------------------------------------------

-- One side of a histogram with a lower scale: 2**by buckets become one.
CREATE OR REPLACE MACRO btpy_coarser(start, counts, by_) AS
    CASE WHEN len(counts) = 0 OR by_ = 0 THEN counts::BIGINT[] ELSE
        list_transform(range(start >> by_, ((start + len(counts) - 1) >> by_) + 1), lambda i:
            list_sum(counts[greatest(i * (1 << by_) - start + 1, 1) : (i + 1) * (1 << by_) - start])::BIGINT)
    END;

-- Adds lists of counts that begin at different indexes; sides: a list of structs of start and counts.
CREATE OR REPLACE MACRO btpy_add_sides(sides) AS
    list_transform([list_filter(sides, lambda s: len(s.counts) > 0)], lambda full_:
        CASE WHEN len(full_) = 0 THEN {'start': 0::BIGINT, 'counts': []::BIGINT[]} ELSE
            list_transform([{'first': list_min(list_transform(full_, lambda s: s.start)),
                             'last': list_max(list_transform(full_, lambda s: s.start + len(s.counts)))}], lambda ends:
                {'start': ends.first::BIGINT,
                 'counts': list_reduce(
                     list_transform(full_, lambda s: list_concat(list_concat(
                         list_transform(range(s.start - ends.first), lambda i: 0::BIGINT), s.counts::BIGINT[]),
                         list_transform(range(ends.last - s.start - len(s.counts)), lambda i: 0::BIGINT))),
                     lambda a, b: list_transform(list_zip(a, b), lambda pair: pair[1] + pair[2]))})[1]
        END)[1];

CREATE OR REPLACE MACRO btpy_merge_list(histograms) AS
    list_transform([{'scale': list_min(list_transform(histograms, lambda h: h.scale))}], lambda least:
        {'scale': least.scale,
         'count': list_sum(list_transform(histograms, lambda h: h.count))::BIGINT,
         'zero_count': list_sum(list_transform(histograms, lambda h: h.zero_count))::BIGINT,
         'positive': btpy_add_sides(list_transform(histograms, lambda h:
             {'start': (h.positive_start >> (h.scale - least.scale))::BIGINT,
              'counts': btpy_coarser(h.positive_start, h.positive_counts, h.scale - least.scale)})),
         'negative': btpy_add_sides(list_transform(histograms, lambda h:
             {'start': (h.negative_start >> (h.scale - least.scale))::BIGINT,
              'counts': btpy_coarser(h.negative_start, h.negative_counts, h.scale - least.scale)})),
         'min': list_min(list_transform(histograms, lambda h: h.min)),
         'max': list_max(list_transform(histograms, lambda h: h.max))})[1];

-- Aggregate: the exact merge of all histograms of a group, with the lowest of their scales. A struct of scale, count,
-- zero_count, positive and negative (structs of start and counts), min and max.
CREATE OR REPLACE MACRO btpy_merge(scale, count, zero_count, positive_offset, positive_counts, negative_offset,
                                   negative_counts, min, max) AS
    btpy_merge_list(list({'scale': scale, 'count': count, 'zero_count': zero_count,
        'positive_start': positive_offset::BIGINT, 'positive_counts': positive_counts,
        'negative_start': negative_offset::BIGINT, 'negative_counts': negative_counts,
        'min': min, 'max': max}) FILTER (scale IS NOT NULL));

-- The bounds of buckets between 1 and 2 at scale 6, as multiples of 2**-52, rounded down.
CREATE OR REPLACE MACRO btpy_roots() AS [
    4552640611975264, 4602215617889652, 4652330460224456, 4702991017412879,
    4754203231900066, 4805973110840144, 4858306726800863, 4911210218475898,
    4964689791404917, 5018751718701482, 5073402341788886, 5128648071143992,
    5184495387049181, 5240950840352481, 5298021053235979, 5355712719992597,
    5414032607811327, 5472987557571018, 5532584484642806, 5592830379701282,
    5653732309544489, 5715297417922861, 5777532926377168, 5840446135085607,
    5904044423720102, 5968335252311937, 6033326162126810, 6099024776549417,
    6165438801977672, 6232576028726660, 6300444331942436, 6369051672525772,
    6438406098065966, 6508515743784819, 6579388833490888, 6651033680544134,
    6723458688831074, 6796672353750546, 6870683263210220, 6945500098633947,
    7021131635980086, 7097586746770916, 7174874399133263, 7253003658850448,
    7331983690425700, 7411823758157148, 7492533227224511, 7574121564787629,
    7656598341096954, 7739973230616134, 7824256013156818, 7909456575025820,
    7995584910184779, 8082651121422441, 8170665421539707, 8259638134547591,
    8349579696878213, 8440500658608990, 8532411684700150, 8625323556245721,
    8719247171738151, 8814193548346688, 8910173823209688]::HUGEINT[];

-- The greatest whole number in the bucket of this index.
CREATE OR REPLACE MACRO btpy_upper(i, scale) AS
    CASE WHEN i < 0 THEN 1::HUGEINT ELSE
        ((CASE WHEN ((i + 1) & ((1 << scale) - 1)) = 0 THEN 4503599627370496::HUGEINT
               ELSE btpy_roots()[((i + 1) & ((1 << scale) - 1)) << (6 - scale)] END)
         << ((i + 1) >> scale)::INTEGER) >> 52
    END;
CREATE OR REPLACE MACRO btpy_lower(i, scale) AS
    CASE WHEN i < 0 THEN 1::HUGEINT ELSE btpy_upper(i - 1, scale) + 1 END;

-- All buckets of a merged histogram that have samples, in the order of their numbers: a list of structs of low, high
-- (whole numbers, both inclusive) and count.
CREATE OR REPLACE MACRO btpy_buckets(h) AS
    list_filter(list_concat(list_concat(
        list_reverse(list_transform(range(len(h.negative.counts)), lambda i:
            {'low': -btpy_upper(h.negative.start + i, h.scale), 'high': -btpy_lower(h.negative.start + i, h.scale),
             'count': h.negative.counts[i + 1]})),
        [{'low': 0::HUGEINT, 'high': 0::HUGEINT, 'count': h.zero_count}]),
        list_transform(range(len(h.positive.counts)), lambda i:
            {'low': btpy_lower(h.positive.start + i, h.scale), 'high': btpy_upper(h.positive.start + i, h.scale),
             'count': h.positive.counts[i + 1]})),
        lambda bucket: bucket.count > 0);

-- The bounds of a percentile of a merged histogram: the smallest sample that at least so many percent of the samples
-- do not exceed lies in low … high. The estimate is the middle. null without samples.
CREATE OR REPLACE MACRO btpy_bounds(h, percent) AS
    list_transform([{'buckets': btpy_buckets(h),
                     'rank': greatest(1, ceil(percent::DECIMAL(9, 4) * h.count / 100))}], lambda state:
        list_transform(list_filter(
            list_transform(range(len(state.buckets)), lambda i:
                {'low': greatest(state.buckets[i + 1].low, h.min), 'high': least(state.buckets[i + 1].high, h.max),
                 'below': list_sum(list_transform(state.buckets[1 : i + 1], lambda bucket: bucket.count))}),
            lambda bucket: bucket.below >= state.rank)[1:1],
            lambda bucket: {'estimate': ((bucket.low + bucket.high) >> 1)::BIGINT,
                            'low': bucket.low::BIGINT, 'high': bucket.high::BIGINT})[1])[1];
CREATE OR REPLACE MACRO btpy_percentile(h, percent) AS btpy_bounds(h, percent).estimate;

-- Other buckets (lhist) --------------------------------------------------------------------------------------------

-- Aggregate: adds lists of the same length, such as bucket_counts with the same bounds.
CREATE OR REPLACE MACRO btpy_add(counts) AS
    list_reduce(list(counts) FILTER (counts IS NOT NULL),
                lambda a, b: list_transform(list_zip(a, b), lambda pair: pair[1] + pair[2]));

-- Distinct values --------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO btpy_ranks(registers) AS
    list_transform(string_split(decode(registers), ''), lambda c: ord(c));

-- The estimate of Otmar Ertl (2017), as btpy has it; ranks: one for each register.
CREATE OR REPLACE MACRO btpy_sigma(share) AS
    list_sum(list_transform(range(1, 61), lambda k: pow(share, pow(2, k)) * pow(2, k - 1))) + share;
CREATE OR REPLACE MACRO btpy_tau(share) AS
    CASE WHEN share IN (0, 1) THEN 0.0 ELSE
        (1 - share - list_sum(list_transform(range(1, 61), lambda k:
            pow(1 - pow(share, pow(0.5, k)), 2) * pow(0.5, k)))) / 3
    END;
CREATE OR REPLACE MACRO btpy_estimate(ranks) AS
    list_transform([{'n': len(ranks)::DOUBLE, 'empty': len(list_filter(ranks, lambda r: r = 0)),
                     'full': len(list_filter(ranks, lambda r: r >= 54)),
                     'middle': coalesce(list_sum(list_transform(
                         list_filter(ranks, lambda r: r > 0 AND r < 54), lambda r: pow(0.5, r))), 0)}], lambda c:
        CASE WHEN c.empty = c.n THEN 0 WHEN c.full = c.n THEN 9223372036854775807 ELSE
            least(9223372036854774784, floor(c.n * c.n / (2 * ln(2) * (c.n * btpy_tau(1 - c.full / c.n) * pow(0.5, 53) + c.middle
                  + c.n * btpy_sigma(c.empty / c.n))) + 0.5))::BIGINT
        END)[1];

-- Aggregate: how many different values all rows of a group have together.
CREATE OR REPLACE MACRO btpy_distinct(registers) AS
    btpy_estimate(list_reduce(
        list_transform(list(registers) FILTER (registers IS NOT NULL), lambda r: btpy_ranks(r)),
        lambda a, b: list_transform(list_zip(a, b), lambda pair: greatest(pair[1], pair[2]))));

-- Most frequent values ---------------------------------------------------------------------------------------------

-- Aggregate: the merged list of topk, the most frequent first; a value that a row does not list counts as unseen there.
CREATE OR REPLACE MACRO btpy_top(top, unseen) AS
    list_transform([{'unseen': sum(unseen)::BIGINT, 'rows': list({'top': top, 'unseen': unseen}) FILTER (top IS NOT NULL)}],
        lambda all_: list_transform([flatten(list_transform(all_.rows, lambda r: list_transform(r.top, lambda t:
            {'value': t.value, 'count': t.count - r.unseen, 'error': t.error - r.unseen})))], lambda listed:
        list_reverse_sort(list_transform(list_distinct(list_transform(listed, lambda t: t.value)), lambda v:
            {'count': all_.unseen + list_sum(list_transform(list_filter(listed, lambda t: t.value = v),
                                                            lambda t: t.count))::BIGINT,
             'error': all_.unseen + list_sum(list_transform(list_filter(listed, lambda t: t.value = v),
                                                            lambda t: t.error))::BIGINT,
             'value': v})))[1])[1];
