"""An export by OTLP, as a run sees it."""

from __future__ import annotations

from btpy.output.origin import Origin
from btpy.output.otlp.exporter import Exporter
from btpy.output.otlp.writer import OtlpWriter
from btpy.output.writer import Context


class OtlpExport(Exporter):
    """An exporter that gives each target its output."""

    def writer(self, context: Context, origin: Origin) -> OtlpWriter:
        return OtlpWriter(self, context, origin)
