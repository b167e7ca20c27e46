"""Large scripts, maps and texts: as exact as small ones, or refused with a reason."""

from __future__ import annotations

import pytest

from btpy.codegen.advice import HandlerFactory
from btpy.codegen.handler import compile_fire
from btpy.engine.declarations import map_declarations
from btpy.errors import CompileError, ScriptError
from btpy.events.aggregates import Total, decode_content
from btpy.events.records import CutString
from btpy.lang.check.binding import bind
from btpy.lang.check.checker import check_source
from btpy.lang.edit.formatter import format_source
from btpy.lang.program import Program
from btpy.model.diagnostics import render_all
from btpy.model.source import Source
from tests.codegen.target import Target
from tests.lang.trees import shape

LINES = 3_000
KEYS = 10_000
MEGABYTE = 1 << 20
SHAPE = shape(parameters="Ljava/lang/String; I", names="text n")


def declared(jvm: Target, program: Program) -> None:
    jvm.open()
    jvm.command("capacity", KEYS)
    for declaration in map_declarations(program.maps):
        jvm.command("map", declaration.id, declaration.kind.number, declaration.keys, *declaration.parameters)


def test_a_script_of_thousands_of_lines() -> None:
    statements = "".join(f"  @took{number}[cls, $text] = hist(duration + {number}ns);\n" for number in range(6))
    text = "\n".join(
        f"com.acme.S{number}::work @exit as probe{number}\n    when duration > {number}ns {{\n{statements}}}\n"
        for number in range(LINES // 10)
    )
    assert text.count("\n") == LINES - 1
    source = Source("large.bt", text)
    program = check_source(source)
    assert (len(program.probes), len(program.maps)) == (LINES // 10, 6)
    assert format_source(source) == text
    last = program.probes[-1]
    handler = HandlerFactory(program).fire(bind(program, last, SHAPE))
    assert handler.data[:4] == b"\xca\xfe\xba\xbe"


@pytest.mark.parametrize("line", ["A::b {{ print(x{}) }}", "A{}::b {{ print( }}"])
def test_thousands_of_errors(line: str) -> None:
    with pytest.raises(ScriptError) as caught:
        check_source(Source("large.bt", "".join(f"{line.format(number)}\n" for number in range(LINES))))
    assert len(caught.value.diagnostics) == LINES
    text = render_all(caught.value.diagnostics)
    assert len(text.splitlines()) <= 10 * 10 + 1  # ten errors, and the number of other errors
    assert max(map(len, text.splitlines())) < 200


@pytest.mark.parametrize("line", ["A::b { print(x) }", "A::b { print( }"])
def test_the_same_error_thousands_of_times(line: str) -> None:
    with pytest.raises(ScriptError) as caught:
        check_source(Source("large.bt", f"{line}\n" * LINES))
    assert len(caught.value.diagnostics) == LINES
    text = render_all(caught.value.diagnostics)
    assert text.count("error[") == 1
    assert text.endswith(f"the same at lines 2, 3, 4, 5, 6, 7, 8, 9 and {LINES - 9} more\n")


def test_a_map_of_ten_thousand_keys(jvm17: Target) -> None:
    program = check_source(
        Source(
            "large.bt",
            f"config {{ max_map_keys = {KEYS}; }} A::b @return {{ for i in 0..499 {{ @m[$n + i] = sum($n + i) }} }}",
        )
    )
    declared(jvm17, program)
    fire = compile_fire(program, bind(program, program.probes[0], SHAPE))
    for start in range(0, KEYS + 500, 500):
        assert jvm17.fire(fire, start) == "void"
    content = decode_content(jvm17.content(0), {0: program.maps[0]})
    sums = dict(content.entries)
    assert len(sums) == KEYS
    assert sums == {(key,): Total(1, key, 0.0) for key in range(KEYS)}
    assert content.full == 500


def test_texts_of_a_megabyte(jvm17: Target) -> None:
    program = check_source(
        Source("large.bt", "A::b @return { print($text); @m[$text] = count(); @u[upper($text) == $text] = count() }")
    )
    declared(jvm17, program)
    fire = compile_fire(program, bind(program, program.probes[0], SHAPE))
    for text in ("a" * MEGABYTE, "A" * MEGABYTE):
        assert jvm17.fire(fire, text) == "void"
    assert jvm17.errors() == []
    assert [record.values for record in jvm17.events()] == [(CutString(method * 200, MEGABYTE),) for method in "aA"]
    keys = {keys[0] for keys, _ in decode_content(jvm17.content(0), {0: program.maps[0]}).entries}
    assert keys == {CutString(method * 200, MEGABYTE) for method in "aA"}


def test_a_constant_of_a_megabyte_is_refused_by_its_place() -> None:
    program = check_source(Source("large.bt", f'A::b @return {{ let x = "{"a" * (MEGABYTE - 100)}"; print(x) }}'))
    with pytest.raises(CompileError, match=r"the probe at large.bt:1:1 .* the limit is 65535"):
        compile_fire(program, bind(program, program.probes[0], SHAPE))
