"""Families as messages of Prometheus' protobuf format, which has native histograms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Any

from google.protobuf import proto
from prometheus_client import samples

from btpy.output.prometheus.client_model import COUNTER, GAUGE, HISTOGRAM, SUMMARY, MetricFamily
from btpy.output.prometheus.families import Families, FamilySample, Series
from btpy.output.prometheus.native import NativeHistogram, native_histogram, runs

CONTENT_TYPE = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"

_TYPES = {"counter": COUNTER, "gauge": GAUGE, "info": GAUGE, "summary": SUMMARY, "histogram": HISTOGRAM}
_SUFFIXES = {"counter": "_total", "info": "_info"}
_OWN_LABELS = {"summary": "quantile", "histogram": "le"}
_MOST = (1 << 63) - 1
_Labels = tuple[tuple[str, str], ...]


def encoded(families: Families) -> bytes:
    """Each family, after its length."""
    output = BytesIO()
    for metric in families.collect():
        family = MetricFamily(
            name=metric.name + _SUFFIXES.get(metric.type, ""), help=metric.documentation, type=_TYPES[metric.type]
        )
        for series in families.series[metric.name]:
            _add(family, metric.type, series)
        if family.metric:
            proto.serialize_length_prefixed(family, output)
    return output.getvalue()


def _add(family: Any, type_: str, series: Series) -> None:
    own_label = _OWN_LABELS.get(type_)
    if own_label is None:
        for sample in series.samples:
            metric = _metric(family, sample.labels.items())
            (metric.counter if type_ == "counter" else metric.gauge).value = sample.value
        return
    for labels, members in _by_labels(series.samples, own_label):
        metric = _metric(family, labels)
        if type_ == "summary":
            _fill_summary(metric.summary, members)
            continue
        _fill_histogram(metric.histogram, members)
        native = None if series.distribution is None else native_histogram(*series.distribution)
        if native is not None:
            _fill_native(metric.histogram, native, members)


def _metric(family: Any, labels: Iterable[tuple[str, str]]) -> Any:
    metric = family.metric.add()
    for name, value in labels:
        metric.label.add(name=name, value=value)
    return metric


def _by_labels(of: Sequence[FamilySample], own_label: str) -> Iterable[tuple[_Labels, list[FamilySample]]]:
    """The samples by their labels without ``own_label``, in their order."""
    groups: dict[_Labels, list[FamilySample]] = {}
    for sample in of:
        labels = tuple((name, value) for name, value in sample.labels.items() if name != own_label)
        groups.setdefault(labels, []).append(sample)
    return groups.items()


def _fill_totals(message: Any, own: Sequence[FamilySample]) -> Iterable[FamilySample]:
    """Fills in the number and the sum of a summary or histogram, and yields the other samples."""
    for sample in own:
        if sample.suffix == "_count":
            message.sample_count = _count(sample.value)
        elif sample.suffix == "_sum":
            message.sample_sum = sample.value
        else:
            yield sample


def _fill_summary(summary: Any, own: Sequence[FamilySample]) -> None:
    for sample in _fill_totals(summary, own):
        summary.quantile.add(quantile=float(sample.labels["quantile"]), value=sample.value)


def _fill_histogram(histogram: Any, own: Sequence[FamilySample]) -> None:
    for sample in _fill_totals(histogram, own):
        bucket = histogram.bucket.add(cumulative_count=_count(sample.value), upper_bound=float(sample.labels["le"]))
        if sample.exemplar is not None:
            _fill_exemplar(bucket.exemplar, sample.exemplar)


def _fill_native(histogram: Any, native: NativeHistogram, own: Sequence[FamilySample]) -> None:
    histogram.sample_count = _count(native.samples)
    histogram.sample_sum = native.total
    histogram.schema = native.schema
    histogram.zero_threshold = 0
    histogram.zero_count = _count(native.zero_count)
    for side, counts in (("positive", native.positive), ("negative", native.negative)):
        spans, deltas = runs({index: _count(count) for index, count in counts.items()})
        for offset, length in spans:
            getattr(histogram, f"{side}_span").add(offset=offset, length=length)
        getattr(histogram, f"{side}_delta").extend(deltas)
    if not native.positive and not native.negative:
        histogram.positive_span.add(offset=0, length=0)  # without a span it would be a classic histogram
    for sample in own:
        if sample.exemplar is not None:
            _fill_exemplar(histogram.exemplars.add(), sample.exemplar)


def _fill_exemplar(message: Any, exemplar: samples.Exemplar) -> None:
    for name, value in exemplar.labels.items():
        message.label.add(name=name, value=value)
    message.value = exemplar.value
    if isinstance(exemplar.timestamp, samples.Timestamp):
        message.timestamp.seconds, message.timestamp.nanos = exemplar.timestamp.sec, exemplar.timestamp.nsec


def _count(number: float) -> int:
    return min(int(number), _MOST)
