"""Source maps of Kotlin and JSP, and made-up ones."""

from __future__ import annotations

import zipfile

import pytest

from btpy.classfile.reader import ClassFile
from btpy.classfile.sourcemap import Origin, SourceMap, parse, source_map
from tests.maven import artifact

KOTLIN = """SMAP
Orders.kt
Kotlin
*S Kotlin
*F
+ 1 Orders.kt
shop/OrdersKt
+ 2 Timing.kt
util/TimingKt
*L
1#1,20:1
7#2:21
8#2,2:22
3#1:24
*S KotlinDebug
*F
+ 1 Orders.kt
shop/OrdersKt
*L
12#1:21,3
*E
"""

JSP = """SMAP
index_jsp.java
JSP
*S JSP
*F
+ 0 index.jsp
shop/index.jsp
1 header.jsp
*L
1,3:101
5:110,4
6#1,2:120,2
9:130
*E
"""


def read(text: str, source: str) -> SourceMap:
    result = parse(text, source)
    assert result is not None
    return result


def test_inlined_code_comes_from_another_file() -> None:
    lines = read(KOTLIN, "Orders.kt")
    assert [lines.origin(number) for number in (1, 20)] == [None, None]  # what they say
    assert [lines.origin(number) for number in (21, 22, 23)] == [Origin("Timing.kt", line) for line in (7, 8, 9)]
    assert lines.origin(24) == Origin("Orders.kt", 3)
    assert lines.origin(25) is None
    assert lines.numbers(range(1, 10), range(1, 30)) == [24]  # a line of Orders.kt, not of Timing.kt


def test_generated_code_without_a_source_line_comes_from_pages() -> None:
    lines = read(JSP, "index_jsp.java")
    page_lines = {101: 1, 103: 3, 110: 5, 113: 5}
    assert {number: lines.origin(number) for number in page_lines} == {
        n: Origin("index.jsp", k) for n, k in page_lines.items()
    }
    assert [lines.origin(number) for number in (104, 114)] == [None, None]
    header = [lines.origin(number) for number in (120, 121, 122, 123, 130)]
    assert header == [Origin("header.jsp", line) for line in (6, 6, 7, 7, 9)]  # a row may omit the previous file
    assert lines.numbers(range(5, 7), range(100, 140)) == [110, 111, 112, 113, 120, 121]


def test_other_line_ends_are_read() -> None:
    assert read(KOTLIN.replace("\n", "\r\n"), "Orders.kt").origin(21) == Origin("Timing.kt", 7)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SMAP\nA.kt\nKotlin",
        KOTLIN.replace("SMAP", "PAMS"),
        KOTLIN.replace("\nKotlin\n", "\nOther\n"),
        KOTLIN.replace("#", "!").replace(":", ";"),
    ],
)
def test_malformed_maps_give_none(text: str) -> None:
    assert parse(text, "Orders.kt") is None


def test_a_row_may_claim_any_number_of_lines() -> None:
    lines = read(KOTLIN.replace("8#2,2:22", "8#2,999999999:22,999999999"), "Orders.kt")
    assert lines.origin(65_535) == Origin("Timing.kt", 8)
    assert parse(KOTLIN.replace("7#2:21", "7#2:" + "2" * 10_000), "Orders.kt") is not None


def test_every_line_number_of_a_kotlin_library_is_known() -> None:
    """Each line is a line of the file itself or has an origin, and the number is found again from each origin."""
    mapped = 0
    with zipfile.ZipFile(artifact("org.jetbrains.kotlinx:kotlinx-coroutines-core-jvm:1.9.0")) as jar:
        for name in jar.namelist():
            if not name.endswith(".class") or name.startswith("META-INF"):
                continue
            file = ClassFile.parse(jar.read(name))
            sources = source_map(file)
            if sources is None:
                continue
            assert sources.source == file.source_file
            for number in {line for method in file.methods if method.code for _, line in method.code.lines}:
                origin = sources.origin(number)
                if origin is not None:
                    mapped += 1
                    assert origin.file in sources.files
                    lines = sources.numbers(range(origin.line, origin.line + 1), [number])
                    assert lines == ([number] if origin.file == sources.source else [])
    assert mapped > 1000
