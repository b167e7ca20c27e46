"""The messages of Prometheus' protobuf format: the part of ``io.prometheus.client`` that an exposition needs.

Source: io/prometheus/client/metrics.proto of github.com/prometheus/client_model 0.6. No maintained package has the
generated code with native histograms, so protobuf makes the classes from this description. They have a pool of their
own, because another library of the process may have the same messages.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

_PACKAGE = "io.prometheus.client"
_FIELD = descriptor_pb2.FieldDescriptorProto
_TIMESTAMP = ".google.protobuf.Timestamp"
_SCALARS = {
    "string": _FIELD.TYPE_STRING,
    "double": _FIELD.TYPE_DOUBLE,
    "uint64": _FIELD.TYPE_UINT64,
    "uint32": _FIELD.TYPE_UINT32,
    "sint32": _FIELD.TYPE_SINT32,
    "sint64": _FIELD.TYPE_SINT64,
    "MetricType": _FIELD.TYPE_ENUM,
}

COUNTER, GAUGE, SUMMARY, HISTOGRAM = 0, 1, 2, 4
_METRIC_TYPES = {"COUNTER": COUNTER, "GAUGE": GAUGE, "SUMMARY": SUMMARY, "UNTYPED": 3, "HISTOGRAM": HISTOGRAM}

_MESSAGES = {
    "LabelPair": ("string name = 1", "string value = 2"),
    "Gauge": ("double value = 1",),
    "Counter": ("double value = 1", "Exemplar exemplar = 2"),
    "Quantile": ("double quantile = 1", "double value = 2"),
    "Summary": ("uint64 sample_count = 1", "double sample_sum = 2", "repeated Quantile quantile = 3"),
    "Histogram": (
        "uint64 sample_count = 1",
        "double sample_sum = 2",
        "repeated Bucket bucket = 3",
        "sint32 schema = 5",
        "double zero_threshold = 6",
        "uint64 zero_count = 7",
        "repeated BucketSpan negative_span = 9",
        "repeated sint64 negative_delta = 10",
        "repeated BucketSpan positive_span = 12",
        "repeated sint64 positive_delta = 13",
        "repeated Exemplar exemplars = 16",
    ),
    "Bucket": ("uint64 cumulative_count = 1", "double upper_bound = 2", "Exemplar exemplar = 3"),
    "BucketSpan": ("sint32 offset = 1", "uint32 length = 2"),
    "Exemplar": ("repeated LabelPair label = 1", "double value = 2", f"{_TIMESTAMP} timestamp = 3"),
    "Metric": (
        "repeated LabelPair label = 1",
        "Gauge gauge = 2",
        "Counter counter = 3",
        "Summary summary = 4",
        "Histogram histogram = 7",
    ),
    "MetricFamily": (
        "string name = 1",
        "string help = 2",
        "MetricType type = 3",
        "repeated Metric metric = 4",
    ),
}


def _description() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(
        name="io/prometheus/client/metrics.proto",
        package=_PACKAGE,
        syntax="proto2",
        dependency=[timestamp_pb2.DESCRIPTOR.name],
    )
    enum = file.enum_type.add(name="MetricType")
    for name, number in _METRIC_TYPES.items():
        enum.value.add(name=name, number=number)
    for message, declarations in _MESSAGES.items():
        fields = file.message_type.add(name=message).field
        for declaration in declarations:
            *repeated, type_, name, _, number_text = declaration.split()
            field = fields.add(name=name, number=int(number_text))
            field.label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
            field.type = _SCALARS.get(type_, _FIELD.TYPE_MESSAGE)
            if field.type in (_FIELD.TYPE_MESSAGE, _FIELD.TYPE_ENUM):
                field.type_name = type_ if type_.startswith(".") else f".{_PACKAGE}.{type_}"
    return file


def _class(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


_POOL = descriptor_pool.DescriptorPool()
_POOL.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
_POOL.AddSerializedFile(_description().SerializeToString())

MetricFamily = _class("MetricFamily")
