"""Events on disk: made by a run, read by ``btpy replay``."""

from __future__ import annotations

from btpy.recording.entries import ProbesAttached, Started
from btpy.recording.file import ChunkWriter, Entry
from btpy.recording.lines import Lines, nanos
from btpy.recording.multiplex import ALIVE_SECONDS, StreamWriter
from btpy.recording.player import Ending, Playback, Recorded, Recording, ShownMaps, Totals
from btpy.recording.recorder import Recorder
