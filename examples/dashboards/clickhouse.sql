-- The exact merge of a histogram over all JVMs, in ClickHouse. Maps of hist and pctl are ExponentialHistograms; the
-- Collector's ClickHouse exporter stores them in the table otel_metrics_exponential_histogram.
--
--     SELECT * FROM btpy_histogram WHERE MetricName = 'btpy.took' ORDER BY Low
--
-- A bucket has the samples in Low < sample <= High. Histograms of JVMs differ in their scales; at the next lower scale,
-- buckets 2n and 2n + 1 are bucket n. So all histograms of a key are merged at the lowest of their scales.
CREATE VIEW btpy_histogram AS
WITH
    -- Metrics are cumulative, unless you ask for deltas, so the last point of a JVM has all its samples.
    points AS (
        SELECT MetricName, mapSort(Attributes) AS Attributes, Scale,
            [(-1, NegativeOffset, NegativeBucketCounts), (0, 0, [ZeroCount]), (1, PositiveOffset, PositiveBucketCounts)]
                AS Sides
        FROM otel_metrics_exponential_histogram
        ORDER BY TimeUnix DESC
        LIMIT 1 BY MetricName, mapSort(Attributes), ResourceAttributes['service.instance.id']
    ),
    lowest AS (
        SELECT MetricName, Attributes, min(Scale) AS MergedScale FROM points GROUP BY MetricName, Attributes
    ),
    sides AS (
        SELECT MetricName, Attributes, MergedScale, Scale, arrayJoin(Sides) AS Side
        FROM points JOIN lowest USING (MetricName, Attributes)
    ),
    buckets AS (
        SELECT MetricName, Attributes, MergedScale, Side.1 AS Sign, Samples,
            toInt64(floor((Side.2 + Position - 1) / exp2(Scale - MergedScale))) AS Bucket
        FROM sides
        ARRAY JOIN Side.3 AS Samples, arrayEnumerate(Side.3) AS Position
        WHERE Samples > 0
    )
SELECT MetricName, Attributes, MergedScale, Sign, Bucket, sum(Samples) AS Count,
    multiIf(Sign > 0, exp2(Bucket / exp2(MergedScale)), Sign < 0, -exp2((Bucket + 1) / exp2(MergedScale)), 0) AS Low,
    multiIf(Sign > 0, exp2((Bucket + 1) / exp2(MergedScale)), Sign < 0, -exp2(Bucket / exp2(MergedScale)), 0) AS High
FROM buckets
GROUP BY MetricName, Attributes, MergedScale, Sign, Bucket;
