"""A JVM with the real run-time classes in its boot loader, in which handlers are fired one by one."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from btpy.classfile.descriptors import parse
from btpy.codegen.handler_class import HandlerClass
from btpy.events.record_decoder import RecordDecoder
from btpy.events.records import Record
from tests.jdks import OF_THE_AGENT, compiled, java

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "agent-java" / "src" / "main" / "java" / "btpy" / "runtime"
DRIVERS = sorted((Path(__file__).parent / "java").glob("*.java"))


@dataclass(frozen=True)
class Box:
    """The kind of a reference input or result. ``kind`` is long, double, boolean, char, string, or a (an object)."""

    kind: str
    value: int | float | bool | str


Result = None | bool | int | float | str | Box


@dataclass(frozen=True)
class ProbeErrorCount:
    probe: int
    position: int
    kind: int
    count: int
    message: str


@dataclass(frozen=True)
class Asked:
    """A request to the event thread: kind 0 prints maps, 1 exits. ``maps``: the id of each map with its flag; −1 fills
    up the list."""

    kind: int
    template: int
    probe: int
    site: int
    argument: int
    maps: tuple[int, ...] = ()


class Target:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._decoder = RecordDecoder()
        self.asked: list[Asked] = []
        self.stacks = b""

    def command(self, *words: object) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().rstrip("\n")
        assert self._process.poll() is None, "the JVM ended"
        assert not answer.startswith("!"), answer
        return answer

    def open(self) -> None:
        """Begins a new session, with probes 0 … 3 enabled and no map."""
        self.command("open")
        self._decoder = RecordDecoder()
        self.asked = []

    def fire(self, handler: HandlerClass, *inputs: Result, agent: bool = False) -> Result:
        """What ``fire`` returns: ``"void"``, int (of every integral primitive), float, a Box, or None."""
        descriptors = parse(handler.descriptor)[0][1:]
        words = [_input(descriptor, value) for descriptor, value in zip(descriptors, inputs, strict=True)]
        answer = self.command("agent" if agent else "fire", handler.class_name, handler.data.hex(), *words)
        return _result(answer, parse(handler.descriptor)[1])

    def prepare(self, handler: HandlerClass, *inputs: Result) -> None:
        """Makes ``again`` fire this handler from now on."""
        descriptors = parse(handler.descriptor)[0][1:]
        words = [_input(descriptor, value) for descriptor, value in zip(descriptors, inputs, strict=True)]
        self.command("prepare", handler.class_name, handler.data.hex(), *words)

    def events(self) -> list[Record]:
        """Records since the last call; requests are added to ``asked``."""
        records, stacks, *requests = self.command("events").removeprefix("=").split(" ")
        self.stacks = b"" if stacks == "-" else bytes.fromhex(stacks)
        for request in requests:
            kind, template, probe, site, argument, *maps = map(int, request.split(","))
            self.asked.append(Asked(kind, template, probe, site, argument, tuple(maps)))
        return self._decoder.decode(bytes.fromhex(records.replace("-", "")))

    def errors(self) -> list[ProbeErrorCount]:
        """Errors since the last call (payload of ERRORS)."""
        answer = self.command("errors")
        if answer == "-":
            return []
        data = bytes.fromhex(answer)
        (rows,) = struct.unpack_from(">I", data)
        at, result = 4, []
        for _ in range(rows):
            probe, position, kind, count, length = struct.unpack_from(">iIBQI", data, at)
            at += 21
            result.append(ProbeErrorCount(probe, position, kind, count, data[at : at + length].decode()))
            at += length
        return result

    def counters(self) -> dict[int, tuple[int, ...]]:
        """The row of COUNTERS of each probe: produced, dropped (five causes), map full, fired, skipped, limited, cost,
        rested, state, untrue."""
        data = bytes.fromhex(self.command("counters"))
        rows = struct.iter_unpack(">I10QI6QB", data[4:])
        return {row[0]: (*row[1:11], *row[12:], row[11]) for row in rows}

    def content(self, map_: int, *, flush: bool = False) -> bytes:
        return bytes.fromhex(self.command("content", map_, *["flush"] * flush))


def _input(descriptor: str, value: Result) -> str:
    if descriptor == "F":
        assert isinstance(value, float)
        return str(struct.unpack(">i", struct.pack(">f", value))[0])
    if descriptor == "D":
        assert isinstance(value, float)
        return str(_long_bits(value))
    if descriptor in "ZBCSIJ":
        assert isinstance(value, int)
        return str(int(value))
    if value is None:
        return "null"
    if isinstance(value, Box):
        return f"{value.kind}:{value.value}"
    if isinstance(value, bool):
        return f"boolean:{str(value).lower()}"
    if isinstance(value, int):
        return f"long:{value}"
    if isinstance(value, float):
        return f"double:{_long_bits(value)}"
    return f"string:{value.encode('utf-16-be', 'surrogatepass').hex()}"


def _long_bits(value: float) -> int:
    bits: int = struct.unpack(">q", struct.pack(">d", value))[0]
    return bits


def _result(answer: str, returns: str) -> Result:
    kind, _, text = answer.partition(":")
    if answer in ("void", "null"):
        return None if answer == "null" else "void"
    if kind == "string":
        value: Result = bytes.fromhex(text).decode("utf-16-be", "surrogatepass")
    elif kind == "double":
        value = struct.unpack(">d", struct.pack(">q", int(text)))[0]
    elif kind == "boolean":
        value = text == "true"
    elif kind == "a":
        return Box("a", text)
    else:
        assert kind in ("int", "long", "char"), answer
        value = int(text)
    if returns in "IJD":
        return value
    assert value is not None
    return Box(kind, value)  # type: ignore[arg-type]


def runtime_classes() -> Path:
    """The directory with the compiled run-time classes and the driver, compiled once for each content."""
    sources = [*RUNTIME.glob("*.java"), *DRIVERS]
    return compiled(sources, release=None, flags=["-g:source,lines", *OF_THE_AGENT])


@contextmanager
def target(jdk: int, flags: Sequence[str] = (), classes: Path | None = None) -> Iterator[Target]:
    """``classes``: a directory that replaces the compiled classes."""
    classes = classes or runtime_classes()
    command = [
        java(jdk),
        "-Xmx256m",
        "-Xverify:all",
        f"-Xbootclasspath/a:{classes}",
        "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
        *flags,
        "FireHandlers",
    ]
    process = subprocess.Popen(
        [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="ascii"
    )
    with process:
        yield Target(process)
