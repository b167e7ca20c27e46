"""Events on disk: made by a run, read by ``btpy replay``."""

from __future__ import annotations

from btpy.recording.entries import ProbesAttached, Started
from btpy.recording.file import ChunkWriter
from btpy.recording.lines import Lines, nanos
from btpy.recording.player import Ending, Recorded, Recording, ShownMaps, Totals
from btpy.recording.recorder import Recorder

__all__ = [
    "ChunkWriter",
    "Ending",
    "Lines",
    "ProbesAttached",
    "Recorded",
    "Recorder",
    "Recording",
    "ShownMaps",
    "Started",
    "Totals",
    "nanos",
]
