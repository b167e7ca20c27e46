"""Reads many records in a row whose values are of the same kinds. A payload has thousands of them.

The records of a template mostly have values with the same tags (docs/runtime.md, "Records"). For a sequence of tags,
this module makes Python functions. They read all numbers between two texts with one ``struct`` and have no loop over
values, so decoding takes 60 % of the time of the general decoder. Their source has only numbers; no byte of a payload
gets into it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from btpy.dataclass import new_tuple
from btpy.events.records import END_OF_VALUES, HEADER, Record, StackRef, Withheld

Tags = tuple[int, ...]
"""The tags of the values of a record, with ``TRUE`` for each boolean."""

RunReader = Callable[[bytes, int, int, int, Callable[[int, str], str], Callable[[Record], None]], int]
"""``read(payload, start, template, probes, thread_name, append)`` appends the records from offset ``start`` on. It
stops at the first record that has another template or other tags, that has a probe of ``probes`` or beyond, or that
does not follow the layout. It returns the offset of this record."""

TextTester = Callable[[bytes, int], int]
"""``test(payload, start)`` passes over the records from offset ``start`` on whose texts pass the test. It returns the
offset of the first record that has other tags, has a text that does not pass, or does not follow the layout."""

Test = Callable[[bytes], object]

SHORT: Final = 64
"""Bytes of a text."""

FALSE, TRUE = 1, 2
LATIN, WIDE = 7, 8

MOST_FUNCTIONS: Final = 256
"""How many functions of one type are made. A target chooses the tags, and compiling a function takes a millisecond."""

_MOST_VALUES: Final = 40
_FEW, _LEAP = 16, 256  # records

_NUMBERS: Final = {3: "i", 4: "q", 5: "d", 6: "H", 12: "I"}
_RESULTS: Final = {0: "None", 6: "chr({})", 12: "StackRef({})", 15: "REDACTED", 16: "UNREADABLE"}
"""The expression of a value, by its tag, from the number after the tag. The other numbers are values themselves."""

SIZES: Final = {0: 0, FALSE: 0, TRUE: 0, 15: 0, 16: 0} | {
    tag: struct.calcsize(f"<{code}") for tag, code in _NUMBERS.items()
}
"""The number of bytes after the tag, for each tag of a value without text."""


def tags_of(payload: bytes, at: int) -> Tags | None:
    """The tags of the values that begin at ``at``, in a record that the general decoder has decoded. None: a value has
    values inside, or there are too many."""
    tags: list[int] = []
    while (tag := payload[at]) != END_OF_VALUES:
        if tag in (LATIN, WIDE):
            at += 3 + int.from_bytes(payload[at + 1 : at + 3], "little") * (1 + (tag == WIDE))
        elif tag in SIZES and len(tags) < _MOST_VALUES:
            at += 1 + SIZES[tag]
        else:
            return None
        tags.append(TRUE if tag == FALSE else tag)
    return tuple(tags)


class _Part(NamedTuple):
    """The bytes of a record from its beginning or the end of a text to the next text or the end marker."""

    codes: str
    names: list[str]
    checks: list[str]
    text: int | None
    """The tag of the text that follows; its length is the last number of the part. None: the end marker follows."""

    @property
    def size(self) -> int:
        return struct.calcsize(f"<{self.codes}")


def run_reader(tags: Tags) -> RunReader | None:
    """The reader of records whose values have these tags; None: there are too many readers."""
    if tags not in _readers and len(_readers) < MOST_FUNCTIONS:
        _readers[tags] = _new_reader(tags)
    return _readers.get(tags)


_readers: dict[Tags, RunReader] = {}


def _new_reader(tags: Tags) -> RunReader:
    parts = list(_parts(tags, "iiiIqq", ["size", "kind", "site", "probe", "nanos", "tid"], _NUMBERS))
    namespace: dict[str, object] = {
        "Record": Record,
        "new": new_tuple,
        "StackRef": StackRef,
        "REDACTED": Withheld.REDACTED,
        "UNREADABLE": Withheld.UNREADABLE,
    }
    values = "".join(f"{value}, " for value in _values(tags, parts))
    source = [
        "def run(payload, start, template, probes, thread_name, append):",
        *_loop(parts, ["kind == template", "probe < probes"], namespace),
        f"  append(new(Record, (kind, site, probe, nanos, tid, thread_name(tid, ''), ({values}))))",
        "  start = end",
        " return start",
    ]
    reader: RunReader = _function(source, namespace)  # type: ignore[assignment]
    return reader


def text_tester(tags: Tags, is_short: Test, is_long: Test, is_wide: Test) -> TextTester:
    """The tester of records whose values have these tags. ``is_short`` and ``is_long``: the tests for texts with one
    byte for each character, up to ``SHORT`` of them or more. ``is_wide``: the test for texts with two bytes for each
    character.
    """
    parts = list(_parts(tags, f"i{HEADER.size - 4}x", ["size"], {}))
    namespace: dict[str, object] = {"is_short": is_short, "is_long": is_long, "is_wide": is_wide}
    tests = []
    for index, part in enumerate(parts[:-1]):
        test = f"(is_short if length{index} <= {SHORT} else is_long)" if part.text == LATIN else "is_wide"
        tests.append(f"{test}(payload[text{index}:begin{index}])")
    source = [
        "def run(payload, start):",
        " first = start",
        *_loop(parts, [], namespace),
        *([f"  if not ({' and '.join(tests)}): return start"] if tests else []),
        "  start = end",
        *([] if tests else _leap(tags, parts[0].size, namespace)),
        " return start",
    ]
    tester: TextTester = _function(source, namespace)  # type: ignore[assignment]
    return tester


def _function(source: list[str], namespace: dict[str, object]) -> object:
    exec("\n".join(source), namespace)
    return namespace["run"]


def _loop(parts: list[_Part], checks_of_head: list[str], namespace: dict[str, object]) -> list[str]:
    """The lines that read the parts of each record. They return the offset of a record that is not of the run."""
    least = sum(part.size for part in parts)
    lines = [" total = len(payload)", f" while total - start >= {least}:"]
    begin = "start"
    for index, part in enumerate(parts):
        namespace[f"part{index}"] = struct.Struct(f"<{part.codes}").unpack_from
        lines.append(f"  {', '.join(part.names)}, = part{index}(payload, {begin})")
        after = f"{begin} + {part.size}"
        checks = [*part.checks]
        if index == 0:
            lines.append("  end = start + size")
            checks += [*checks_of_head, "end <= total"]
        if part.text is None:
            checks.append(f"end == {after} + 7 & -8")  # records begin at multiples of 8
        else:
            length = f"length{index}" if part.text == LATIN else f"2 * length{index}"
            lines += [f"  text{index} = {after}", f"  begin{index} = text{index} + {length}"]
            begin = f"begin{index}"
            checks.append(f"{begin} + {parts[index + 1].size} <= end")
        lines.append(f"  if not ({' and '.join(checks)}): return start")
    return lines


def _leap(tags: Tags, least: int, namespace: dict[str, object]) -> list[str]:
    """The lines that pass over many records of numbers at once, after some of them have followed each other. Bytes at
    the same place of all records are compared."""
    size = least + 7 & -8
    expected = dict(enumerate(size.to_bytes(4, "little")))
    at = HEADER.size
    booleans: list[int] = []
    for tag in tags:
        expected[at] = tag
        if tag == TRUE:
            del expected[at]
            booleans.append(at)
        at += 1 + SIZES[tag]
    expected[at] = END_OF_VALUES
    namespace.update({f"column{at}": bytes([byte]) * _LEAP for at, byte in expected.items()})
    namespace["booleans"] = bytes([FALSE, TRUE])
    length = _LEAP * size
    column = f"payload[start + {{}} : start + {length} : {size}]"
    tests = [f"{column.format(at)} == column{at}" for at in expected]
    tests += [f"not {column.format(at)}.strip(booleans)" for at in booleans]
    return [
        f"  if start - first == {_FEW * size}:",
        f"   while start + {length} <= total and {' and '.join(tests)}:",
        f"    start += {length}",
    ]


def _parts(tags: Tags, codes: str, names: list[str], numbers: Mapping[int, str]) -> Iterator[_Part]:
    """``codes`` and ``names``: of the head. ``numbers``: the codes of the numbers that get a name; the bytes of all
    others are skipped."""
    checks: list[str] = []
    text = 0
    for index, tag in enumerate(tags):
        codes += "B"
        names.append(f"tag{index}")
        checks.append(f"0 < tag{index} <= {TRUE}" if tag == TRUE else f"tag{index} == {tag}")
        if tag in numbers:
            codes += numbers[tag]
            names.append(f"value{index}")
        elif tag in (LATIN, WIDE):
            names.append(f"length{text}")
            yield _Part(f"{codes}H", names, checks, tag)
            codes, names, checks = "", [], []
            text += 1
        else:
            codes += "x" * SIZES[tag]
    yield _Part(f"{codes}B", [*names, "marker"], [*checks, f"marker == {END_OF_VALUES}"], None)


def _values(tags: Tags, parts: list[_Part]) -> Iterator[str]:
    """The expression of each value."""
    texts = iter(range(len(parts)))
    for index, tag in enumerate(tags):
        if tag == TRUE:
            yield f"tag{index} == {TRUE}"
        elif tag in (LATIN, WIDE):
            number = next(texts)
            encoding = "'latin-1'" if tag == LATIN else "'utf-16-le', 'surrogatepass'"
            yield f"payload[text{number} : begin{number}].decode({encoding})"
        else:
            yield _RESULTS.get(tag, "{}").format(f"value{index}")
