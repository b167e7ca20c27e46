"""Small inputs that could take much memory. The memory of each reader is bounded by the size of its input or by a
constant.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import json
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btpy.api import java_sources
from btpy.api.offline import OfflineWeaver, class_path
from btpy.classfile import jimage
from btpy.classfile.archive import MAX_ENTRY_BYTES, Archive
from btpy.classfile.reader import ClassFile
from btpy.cli.main import main
from btpy.engine.class_sources import _in_archive_of, _inner_archives, _named_in_manifest
from btpy.engine.instrumentation import Instrumentation
from btpy.engine.matching import MatchedClass, Matching, listed, why_missing_there
from btpy.engine.weave_state import WeaveState
from btpy.errors import BtpyError, ClassFileError, ProtocolError
from btpy.events.aggregates import CONTENT, COUNTS, SKIPS, Histogram, decode_content
from btpy.events.exemplars import LAYOUT
from btpy.jvm import perfdata
from btpy.lang.check.checker import check_source
from btpy.model.diagnostics import Diagnostic
from btpy.model.maps import Linear, Map, MapKind
from btpy.model.source import Source, read_text
from btpy.model.types import ANY
from btpy.output.listing import listing_json
from btpy.plan.plan import RefusalReason
from btpy.recording.lines import Lines
from btpy.recording.player import Recording
from btpy.wire import codec
from btpy.wire.messages import (
    FROM_AGENT,
    FROM_CLIENT,
    HANDSHAKE,
    ClassBytes,
    LoadedClass,
    LoadedRefusal,
    Verdict,
    Weave,
)
from tests.generated import examples
from tests.jdks import compiled
from tests.security.frames import Frames

MIB = 1 << 20
SMALL = 4 * MIB
"""Bytes that a reader may take in addition to its input."""

RATIO = 64
"""Bytes of objects that a reader may create for each byte of input."""


def peak(read: Callable[[], object]) -> int:
    """The maximum number of bytes that were allocated at a time."""
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def held(read: Callable[[], object], size: int, extra: int = SMALL) -> None:
    """Checks that ``read`` takes no more than the bound for an input of this size."""

    def quietly() -> None:
        with contextlib.suppress(BtpyError, OSError, zipfile.BadZipFile, zlib.error):
            read()

    most = extra + RATIO * size
    if peak(quietly) > most:  # perhaps because it has created tables that are created once
        assert peak(quietly) <= most


def zeros(count: int) -> Iterator[bytes]:
    piece = bytes(MIB)
    for _ in range(count // MIB):
        yield piece


def bomb(path: Path, names: tuple[str, ...]) -> Path:
    """A jar whose entries are zeros. It has a thousandth of their length."""
    path.write_bytes(_bomb(names))
    return path


@functools.cache
def _bomb(names: tuple[str, ...]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as jar:
        for name in names:
            with jar.open(name, "w") as entry:
                for piece in zeros(128 * MIB):
                    entry.write(piece)
    return file.getvalue()


def lying(path: Path, claimed: int) -> Path:
    """Changes the jar so that every entry claims to be short."""
    data = bytearray(path.read_bytes())
    for signature, at in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        start = 0
        while (start := data.find(signature, start)) >= 0:
            struct.pack_into("<I", data, start + at, claimed)
            start += 4
    path.write_bytes(data)
    return path


PROGRAM = check_source(Source("bomb.bt", "**::* { @n = count() }"))


@pytest.mark.parametrize("lies", [False, True])
@pytest.mark.parametrize("entry", ["a/B.class", "META-INF/MANIFEST.MF", "data.bin"])
def test_weaving_a_jar_that_inflates(entry: str, lies: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    jar = bomb(tmp_path / "bomb.jar", (entry, "META-INF/X.SF"))
    if lies:
        lying(jar, 1000)
    command = ["weave", "-e", "**::* { @n = count() }", "--cp", str(jar), "-o", str(tmp_path / "out.jar")]
    held(lambda: main(command), jar.stat().st_size, 2 * MAX_ENTRY_BYTES)
    capfd.readouterr()


def test_companions_of_any_length_are_copied_a_piece_at_a_time(tmp_path: Path) -> None:
    from btpy.api.woven_jar import SourceJar

    jar = bomb(tmp_path / "bomb.jar", ("data.bin", "META-INF/X.SF"))
    source = SourceJar.read(jar)
    copied = 0

    def copy() -> None:
        nonlocal copied
        copied = sum(len(piece) for _, content in source.companions(()) for piece in content)

    assert peak(copy) < SMALL
    assert copied == 128 * MIB


@pytest.mark.parametrize("lies", [False, True])
def test_jars_of_the_class_path_of_a_target(lies: bool, tmp_path: Path) -> None:
    names = ("a/B.class", "META-INF/MANIFEST.MF", "BOOT-INF/lib/inner.jar")
    jar = bomb(tmp_path / "bomb.jar", names)
    if lies:
        lying(jar, 1000)
    content = jar.read_bytes()

    def read() -> None:
        with zipfile.ZipFile(jar) as archive:
            for part in (
                lambda: list(_named_in_manifest(archive, str(jar))),
                lambda: list(_inner_archives(archive)),
                lambda: list(_in_archive_of(content, 17, lambda name: True)),
            ):
                with contextlib.suppress(zipfile.BadZipFile):
                    part()
        reader = Archive(str(jar))
        try:
            assert reader.read("a/B.class") is None
        finally:
            reader.close()

    held(read, len(content))


@pytest.mark.parametrize("lies", [False, True])
def test_source_archives(lies: bool, tmp_path: Path) -> None:
    jar = bomb(tmp_path / "x-sources.jar", ("a/B.java",))
    if lies:
        lying(jar, 1000)
    held(lambda: java_sources._in_archive(jar, "a/B.java"), jar.stat().st_size)
    assert java_sources._in_archive(jar, "a/B.java") is None


def test_a_class_file_of_any_length_in_a_directory(tmp_path: Path) -> None:
    with (tmp_path / "B.class").open("wb") as file:
        file.truncate(1 << 40)  # takes no room on the disk
    weaver = OfflineWeaver(PROGRAM, allow=frozenset(("core",)))
    held(lambda: list(weaver.weave(class_path([tmp_path]), lambda result: result.name)), 0, 3 * MAX_ENTRY_BYTES)


def image(content: bytes, uncompressed: int, *, compressed: bool = True, strings: bytes = b"") -> bytes:
    """A modules file with one class. The strings begin with "zip", "class", "B", "a", "m"."""
    names = b"\0zip\0class\0B\0a\0m\0" + strings
    extension, base, parent, module = 5, 11, 13, 15

    def attribute(kind: int, value: int) -> bytes:
        return bytes([kind << 3 | 7]) + value.to_bytes(8, "big")

    location = b"".join(
        attribute(kind, value)
        for kind, value in (
            (1, module),
            (2, parent),
            (3, base),
            (4, extension),
            (5, 0),
            (6, len(content) if compressed else 0),
            (7, uncompressed),
        )
    )
    location += b"\0"
    head = struct.pack("<7I", 0xCAFEDADA, 1, 0, 1, 1, len(location), len(names))
    return head + struct.pack("<ii", 0, 0) + location + names + content


def packed(content: bytes, claimed: int) -> bytes:
    return _packed(zlib.compress(content, 9), claimed)


def _packed(deflated: bytes, claimed: int) -> bytes:
    return struct.pack("<IQQIIB", 0xCAFEFAFA, len(deflated), claimed, 1, 0, 1) + deflated


def read_image(path: Path) -> list[bytes]:
    return [read() for _, _, read in jimage.classes(path)]


def test_a_modules_file_that_inflates(tmp_path: Path) -> None:
    path = tmp_path / "modules"
    good = b"\xca\xfe\xba\xbe" + bytes(100)
    path.write_bytes(image(packed(good, len(good)), len(good)))
    assert read_image(path) == [good]
    deflated = zlib.compress(b"\xca\xfe\xba\xbe" + bytes(128 * MIB), 9)
    for claimed in (104, 128 * MIB, (1 << 63) - 1):
        path.write_bytes(image(_packed(deflated, claimed), claimed))
        held(lambda: read_image(path), path.stat().st_size, 2 * MAX_ENTRY_BYTES)
        with pytest.raises(ClassFileError):
            read_image(path)


def test_a_class_of_any_length_in_a_modules_file(tmp_path: Path) -> None:
    path = tmp_path / "modules"
    head = image(b"", 128 * MIB, compressed=False)
    path.write_bytes(head)
    with path.open("r+b") as file:
        file.truncate(len(head) + 128 * MIB)  # takes no room on the disk
    held(lambda: read_image(path), len(head), 2 * MAX_ENTRY_BYTES)
    with pytest.raises(ClassFileError, match="a class of 134217728 bytes"):
        read_image(path)


def test_a_modules_file_that_is_compressed_again_and_again(tmp_path: Path) -> None:
    content = b"\xca\xfe\xba\xbe" + bytes(100)
    for _ in range(10):
        content = packed(content, 104)
    path = tmp_path / "modules"
    path.write_bytes(image(content, 104))
    with pytest.raises(ClassFileError, match="compressed more than"):
        read_image(path)


def test_a_line_of_histograms_takes_no_more_than_its_buckets(tmp_path: Path) -> None:
    """Each of 60 keys has one bucket with large numbers. Such a line of 4.8 kB once took 1.5 GB."""
    low = (1 << 62) + (12345 << 46)
    data = {f"k{at}": [{"min": low, "max": low + (1 << 46) - 1, "count": 1}] for at in range(60)}
    line = {"v": 1, "type": "hist", "ts": "2026-11-22T00:00:00Z", "data": {"@h": data}}
    path = tmp_path / "bomb.ndjson"
    path.write_text(json.dumps(line) + "\n")
    held(lambda: list(Lines(path).read()), path.stat().st_size)
    for name in ("text", "ndjson", "csv"):
        command = ["replay", str(path), "-f", name, "-o", str(tmp_path / f"out.{name}")]
        held(lambda command=command: main(command), path.stat().st_size, 4 * SMALL)  # type: ignore[misc]


@pytest.mark.parametrize("kind", [MapKind.PCTL, MapKind.LHIST, MapKind.DISTINCT])
def test_map_contents_take_no_more_than_their_cells(kind: MapKind) -> None:
    from btpy.events import aggregates

    parameters = Linear(0.0, 1000.0, 1.0) if kind is MapKind.LHIST else None
    declared = Map(0, "m", kind, 0, ANY, 16 if kind is MapKind.PCTL else 0, parameters=parameters)
    most = {MapKind.PCTL: 3_000_000, MapKind.LHIST: 1000, MapKind.DISTINCT: 255}[kind]
    width = aggregates._SEGMENT_CELLS
    segment = struct.pack(f">{1 + width}q", most // width, 1, *[0] * (width - 1))
    size = {MapKind.PCTL: aggregates._HIST_HEAD.size, MapKind.LHIST: aggregates._LHIST_HEAD.size, MapKind.DISTINCT: 8}
    cells = bytes(size[kind]) + segment
    entry = bytes(4) + struct.pack(">I", len(cells) // 8) + cells + struct.pack(">I", 0)
    count = 500
    data = (
        aggregates.CONTENT.pack(0, 0, 0)
        + aggregates.SKIPS.pack(0, 1, 0, 0)
        + aggregates.COUNTS.pack(0, count)
        + entry * count
        + struct.pack(">I", 0)
    )
    assert len(decode_content(data, {0: declared}).entries) == count
    held(lambda: decode_content(data, {0: declared}), len(data), MIB // 4)


def test_exemplars_take_no_more_than_one_for_each_size() -> None:
    count = 20_000
    cells = struct.pack(">qdqq", 1, 0.0, 1, 1)
    row = bytes(4) + struct.pack(">I", len(cells) // 8) + cells + bytes(4)
    exemplars = b"".join(LAYOUT.pack(0, 0, bytes(8), number, bytes(16), bytes(8)) for number in range(count))
    data = (
        CONTENT.pack(0, 0, 0) + SKIPS.pack(0, 1, 0, 0) + COUNTS.pack(0, 1) + row + struct.pack(">I", count) + exemplars
    )
    maps = {0: Map(0, "m", MapKind.HIST, 0, ANY, 2)}
    ((_, value),) = decode_content(data, maps).entries
    assert isinstance(value, Histogram)
    assert [exemplar.nanos for exemplar in value.exemplars] == [count - 1]
    held(lambda: decode_content(data, maps), len(data), MIB // 4)


@pytest.mark.parametrize("claimed", [15 * MIB, 1000])
def test_a_recording_whose_chunks_inflate(claimed: int, tmp_path: Path) -> None:
    from btpy.recording import file

    content = bytes(15 * MIB if claimed > MIB else 128 * MIB)
    stored = zlib.compress(content, 9)
    head = file._CHUNK.pack(len(stored), claimed, 1, 0)
    checksum = zlib.crc32(stored, zlib.crc32(head))
    path = tmp_path / "bomb.btz"
    chunk = head + stored + file._SUM.pack(checksum)
    path.write_bytes(file._HEAD.pack(file.MAGIC, file.VERSION, 0) + chunk * 20)
    held(lambda: list(Recording.open(path).items()), path.stat().st_size, 4 * file.MAX_CHUNK)


def test_frames_of_both_directions() -> None:
    frames = Frames(7, [*FROM_AGENT, *FROM_CLIENT, *HANDSHAKE])
    for number, (kind, payload) in enumerate(frames.payloads()):
        if number == 3000:
            break
        held(lambda kind=kind, payload=payload: codec.decode(kind, payload), len(payload), 16 * 1024)  # type: ignore[misc]


@pytest.mark.parametrize("kind", [*FROM_AGENT, *FROM_CLIENT, *HANDSHAKE], ids=lambda kind: kind.__name__)
def test_frames_that_claim_long_lists(kind: type) -> None:
    """Every count has its maximum and all other bytes are 0, which gives the shortest elements."""
    for payload in (bytes(64 * 1024), b"\xff" * 4 + bytes(64 * 1024), bytes(4) + b"\xff\xff" + bytes(64 * 1024)):
        for shift in range(0, 24, 4):
            data = payload[:shift] + b"\0\0\xff\xff" + payload[shift:]
            held(lambda data=data: codec.decode(kind.code, data), len(data), 64 * 1024)  # type: ignore[misc,attr-defined]


_GENERATED = settings(max_examples=examples(100))
_LONG = settings(max_examples=20_000)


def class_bytes(data: bytes) -> None:
    try:
        file = ClassFile.parse(data)
        for method in file.methods:
            _ = method.code
    except ClassFileError:
        pass


def readers(data: bytes) -> list[tuple[str, Callable[[], object]]]:
    return [
        ("class file", lambda: class_bytes(b"\xca\xfe\xba\xbe" + data)),
        ("performance counters", lambda: perfdata.parse(perfdata.MAGIC + b"\1\2\0\1" + data)),
        ("script", lambda: read_text(io.BytesIO(data))),
    ]


def check_readers(data: bytes) -> None:
    for _, read in readers(data):
        try:
            held(read, len(data), 256 * 1024)
        except ValueError:
            continue


@given(st.binary(max_size=4096))
@_GENERATED
def test_bytes_that_make_no_sense(data: bytes) -> None:
    check_readers(data)


@pytest.mark.proof
@given(st.binary(max_size=65536))
@_LONG
def test_many_bytes_that_make_no_sense(data: bytes) -> None:
    check_readers(data)


_WORDS = (
    """( ) { } [ ] A::b @n = count() print( "x" 1 + - ! , ; f"{ }" when if else /* // import fn f( ~ * ** hist(1) \\"""
)
_SCRIPTS = st.lists(st.sampled_from([*_WORDS.split(), "\n"]), max_size=2000)


def check_script(words: list[str]) -> None:
    text = " ".join(words)

    def read() -> None:
        check_source(Source("bomb.bt", text))

    held(read, len(text), 32 * MIB)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('print("{}");'.format("\\n" * 100_000), id="escapes"),
        pytest.param('print("{}");'.format("\\d" * 100_000), id="unknown escapes"),
        pytest.param('print(f"{}");'.format("\\n" * 100_000), id="escapes of an f-string"),
        pytest.param('print(f"{}");'.format("\\d" * 100_000), id="unknown escapes of an f-string"),
        pytest.param("/*{}*/".format("*\n" * 100_000), id="comment"),
    ],
)
def test_a_long_string_takes_no_state_for_each_of_its_characters(text: str) -> None:
    script = f"**::* {{ {text} }}"
    held(lambda: check_source(Source("long.bt", script)), len(script))


@given(_SCRIPTS)
@settings(max_examples=examples(30))
def test_scripts_that_make_no_sense(words: list[str]) -> None:
    check_script(words)


@pytest.mark.proof
@given(_SCRIPTS)
@settings(max_examples=3000)
def test_many_scripts_that_make_no_sense(words: list[str]) -> None:
    check_script(words)


_MEMBERS = ["min", "max", "count", "values", "interval", "end", "@h", "x"]
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["min", "max", "count", "values", "interval", "end", "@h", "x"]), inner, max_size=4
        )
    ),
    max_leaves=20,
)


def check_line(tmp: Path, kind: str, data: object) -> None:
    line = json.dumps({"v": 1, "type": kind, "ts": "2026-11-22T00:00:00Z", "data": {"@h": data}})
    path = tmp / "line.ndjson"
    path.write_text(line + "\n")
    held(lambda: list(Lines(path).read()), len(line), MIB)


@pytest.fixture(scope="module")
def lines_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines")


@given(kind=st.sampled_from(["hist", "tseries", "topk", "stats", "map", "sample_of"]), data=_JSON)
@_GENERATED
def test_lines_that_make_no_sense(lines_directory: Path, kind: str, data: object) -> None:
    check_line(lines_directory, kind, data)


@pytest.mark.proof
@given(kind=st.sampled_from(["hist", "tseries", "topk", "stats", "map", "sample_of"]), data=_JSON)
@_LONG
def test_many_lines_that_make_no_sense(lines_directory: Path, kind: str, data: object) -> None:
    check_line(lines_directory, kind, data)


def test_protocol_errors_are_btpys() -> None:
    with pytest.raises(ProtocolError):
        codec.decode(0xFE, b"")


def forged_calls(tmp_path: Path, calls: int) -> bytes:
    """A class whose method calls another method, with a name of 60,000 characters."""
    source = tmp_path / "Caller.java"
    source.write_text(f"class Caller {{ static void marker() {{}} static void run() {{ {'marker();' * calls} }} }}")
    return with_long_name((compiled([source]) / "Caller.class").read_bytes())


def with_long_name(data: bytes) -> bytes:
    """The class file with a name of 60,000 characters instead of ``marker``."""
    short, long = b"\x01\0\x06marker", b"\x01" + struct.pack(">H", 60_000) + b"a" * 60_000
    assert data.count(short) == 1
    return data.replace(short, long)


def test_many_places_with_a_long_name(tmp_path: Path) -> None:
    """The agent gets the names of each place. A class is refused if these take too much memory."""
    data = forged_calls(tmp_path, 1500)
    loaded = LoadedClass(1, "Caller", "app", "java.lang.Object", (), 0, True, "", LoadedRefusal.NONE)
    place = 'class="Caller", method="run", location=CALL(class="/.*/", method="/.*/")'
    program = check_source(Source("x.bt", f"@OnMethod({place}) {{ @n = count(); }}"))

    def version() -> Instrumentation:
        return Instrumentation(program, WeaveState(1, "17.0.1"))

    def prewoven() -> bytes:
        there, file = version(), ClassFile.parse(data)
        handlers = there.prepare([MatchedClass(loaded, file, there.plan(loaded, file))], frozenset())
        there.weave_state.add_installed(handler.class_name for handler in handlers)
        return codec.encode(Weave(1, (1,), there.preweave_methods([loaded])))

    def answered() -> None:
        there = version()
        answer = there.answer(ClassBytes(1, 1, "Caller", "app", "java.lang.Object", (), data))
        assert answer is not None
        codec.encode(answer)
        assert answer.verdict is Verdict.UNCHANGED
        assert [refusal.reason for refusal in there.weave_state.refusals] == [RefusalReason.TOO_LARGE]

    assert len(prewoven()) < 100
    for read in (prewoven, answered, lambda: version().preweave("Caller", data, 100)):
        held(read, len(data), 16 * MIB)


@pytest.mark.parametrize("location", ["ENTRY", "LINE"])
def test_many_methods_with_a_long_name(location: str, tmp_path: Path) -> None:
    """A plan and its listing name each method, and a refusal does so, too."""
    methods = 800
    overloads = itertools.product(("int", "long", "float"), repeat=7)
    parameters = [", ".join(map(" ".join, zip(types, "abcdefg", strict=True))) for types in overloads][:methods]
    source = tmp_path / "Many.java"
    source.write_text(f"class Many {{ {' '.join(f'void marker({names}) {{}}' for names in parameters)} }}")
    data = with_long_name((compiled([source]) / "Many.class").read_bytes())
    file = ClassFile.parse(data)
    loaded = LoadedClass(1, "Many", "app", "java.lang.Object", (), 0, True, "", LoadedRefusal.NONE)
    place = f'class="Many", method="/.*/", location={location}'
    program = check_source(Source("x.bt", f"@OnMethod({place}) {{ @n = count(); }}"))

    def json_lines() -> list[str]:
        version = Instrumentation(program, WeaveState(1, "17.0.1"))
        matching = Matching(1, (MatchedClass(loaded, file, version.plan(loaded, file)),), (), (), {})
        probes = listed(program, version.planner, matching, lambda name: frozenset())
        return [json.dumps(object_) for probe in probes for object_ in listing_json(probe)]

    def reason() -> Diagnostic:
        version = Instrumentation(program, WeaveState(1, "17.0.1"))
        planned = version.plan(loaded, file)
        return why_missing_there(program.probes[0], version.planner, file, planned, lambda name: frozenset())

    assert "BT332" in "".join(json_lines())
    held(json_lines, len(data))
    assert reason().code == "BT332"
    held(reason, len(data))


def test_an_archive_that_claims_a_long_entry(tmp_path: Path) -> None:
    """btpy allocates no memory for a size that only the directory of the archive claims."""
    path = tmp_path / "x.jar"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as jar:
        jar.writestr("a/B.class", bytes(100))
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 20, 0xF0000000)
    path.write_bytes(data)

    def read() -> None:
        archive = Archive(str(path))
        try:
            assert archive.read("a/B.class") is None
        finally:
            archive.close()

    held(read, len(data), MIB)
