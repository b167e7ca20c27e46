"""Runs the Java driver (agent-java/src/test) on one JVM and reads its results."""

from __future__ import annotations

import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from btpy.events.aggregates import MapContent, decode_content
from btpy.events.record_decoder import RecordDecoder
from btpy.events.records import Record
from btpy.events.stacks import Frame
from btpy.model.maps import Linear, Map, MapKind, Most, Series
from btpy.model.types import ANY
from btpy.wire import codec, messages
from tests.jdks import OF_THE_AGENT, compiled, java

ROOT = Path(__file__).parent.parent.parent / "agent-java" / "src"
RUNTIME_SOURCES = tuple(sorted(ROOT.glob("main/java/btpy/runtime/*.java")))
FACTS = "facts"
"""The file with what the driver prints."""
EXPORT = ("--add-exports", "java.base/jdk.internal.misc=ALL-UNNAMED")


def compiled_runtime() -> Path:
    sources = [*RUNTIME_SOURCES, *ROOT.glob("test/java/**/*.java")]
    return compiled(sources, release=None, flags=["-g:source,lines", *OF_THE_AGENT])


@dataclass(frozen=True)
class Outcome:
    """The files of one run of the driver in ``directory``, and its printed facts."""

    directory: Path
    facts: dict[tuple[str, str], str]

    @staticmethod
    def of(directory: Path) -> Outcome:
        lines = (line.split(" ", 2) for line in (directory / FACTS).read_text(encoding="utf-8").splitlines())
        return Outcome(directory, {(scenario, key): value for scenario, key, value in lines})

    def fact(self, scenario: str, key: str) -> str:
        return self.facts[scenario, key]

    def _bytes(self, name: str) -> bytes:
        path = self.directory / name
        return path.read_bytes() if path.exists() else b""

    def records(self, scenario: str) -> list[Record]:
        return RecordDecoder().decode(self._bytes(f"{scenario}.events"))

    def counters(self, scenario: str) -> dict[int, messages.ProbeCounters]:
        message = codec.decode(messages.Counters.code, self._bytes(f"{scenario}.counters"))
        assert isinstance(message, messages.Counters)
        return {row.probe: row for row in message.probes}

    def errors(self, scenario: str) -> dict[tuple[int, int, int], messages.ProbeFailure]:
        message = codec.decode(messages.Errors.code, self._bytes(f"{scenario}.errors"))
        assert isinstance(message, messages.Errors)
        return {(row.probe, row.position, int(row.kind)): row for row in message.failures}

    def stacks(self, scenario: str) -> dict[int, tuple[Frame, ...]]:
        """The stacks of all STACKS payloads of the scenario; each id is defined once."""
        data = self._bytes(f"{scenario}.stacks")
        results: dict[int, tuple[Frame, ...]] = {}
        at = 0
        while at < len(data):
            (count,) = struct.unpack_from(">I", data, at)
            at += 4
            for _ in range(count):
                id_, frames = struct.unpack_from(">II", data, at)
                at += 8
                output = []
                for _ in range(frames):
                    class_name, at = _string(data, at)
                    method, at = _string(data, at)
                    (line,) = struct.unpack_from(">I", data, at)
                    at += 4
                    output.append(Frame(class_name, method, line))
                assert id_ not in results
                results[id_] = tuple(output)
        return results

    def map(
        self,
        scenario: str,
        id_: int,
        kind: MapKind,
        keys: int = 0,
        precision: int = 2,
        parameters: Linear | Series | Most | None = None,
        flush: int | None = None,
    ) -> MapContent:
        """``flush``: the number of the flush that took the content; None for the content at the end."""
        declared = Map(id_, f"m{id_}", kind, keys, ANY, precision, parameters=parameters)
        suffix = "" if flush is None else f".{flush}"
        return decode_content(self._bytes(f"{scenario}.map{id_}{suffix}"), {id_: declared})


def _string(data: bytes, at: int) -> tuple[str, int]:
    (size,) = struct.unpack_from(">I", data, at)
    return data[at + 4 : at + 4 + size].decode("utf-8", "surrogatepass"), at + 4 + size


def drive(classes: Path, major: int, directory: Path, *scenarios: str, light: bool = False) -> None:
    """Runs the scenarios of these names; without names, all of them. Their files are in ``directory`` afterwards.

    ``light``: without the optimizing compiler, which needs half of the time.
    """
    command = [
        str(java(major)),
        "-Xmx256m",
        f"-Xbootclasspath/a:{classes}",
        *EXPORT,
        "-Xverify:all",
        "-XX:-UsePerfData",
    ]
    if light:
        command.append("-XX:TieredStopAtLevel=1")
    result = subprocess.run(
        [*command, "btpy.runtime.RuntimeDriver", str(directory), *scenarios],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    assert "done all" in result.stdout, result.stderr
    (directory / FACTS).write_text(result.stdout, encoding="utf-8")
