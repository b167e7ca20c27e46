"""Random scripts go through all stages: none breaks a stage, and the handlers of accepted scripts verify and run."""

from __future__ import annotations

import os
import random
import sys
from collections import Counter

import pytest

from btpy.codegen.handler import compile_entry, compile_fire
from btpy.codegen.handler_class import HandlerClass
from btpy.engine.declarations import map_declarations
from btpy.errors import CompileError, ScriptError
from btpy.lang.check.binding import bind
from btpy.lang.check.checker import check_source
from btpy.lang.edit.formatter import format_source
from btpy.lang.inputs import Input
from btpy.lang.program import Program
from btpy.lang.typed_tree import BoundProbe, Shape
from btpy.model.attachments import MethodAttachment
from btpy.model.diagnostics import render_all
from btpy.model.source import Source
from tests.codegen.target import Box, Result, Target
from tests.lang.programs import Grower, mutated, varied
from tests.lang.test_checker import SCRIPTS
from tests.lang.test_hostile import EXAMPLES, PIECES, SEEDS, SHAPES

INTERNAL = 0
PROBES = 4  # the driver enables these probes
VALUES: dict[str, list[Result]] = {
    **{descriptor: [0, 1] if descriptor == "Z" else [0, 1, 7, 100] for descriptor in "ZBCSIJ"},
    **{descriptor: [0.0, -1.5, 1e30] for descriptor in "FD"},
    "L": [None, "A-1", "", 2**40, 0.5, True, Box("a", "order")],
}


def hostile(seed: int, jvm: Target) -> str:
    """Takes one script through all stages; gives the stage that ended it."""
    match seed % 4:
        case 0:
            text = mutated(seed, SEEDS, PIECES)
        case 1:
            text = varied(seed, [*EXAMPLES, *SCRIPTS.values()])
        case _:
            text = Grower(seed).script()
    source = Source("hostile.bt", text)
    try:
        checked_program = check_source(source)
    except ScriptError as error:
        _draw(error)
        return "refused"
    formatted_text = format_source(source)
    assert format_source(Source("hostile.bt", formatted_text)) == formatted_text
    if len(checked_program.probes) > PROBES:
        return "accepted"
    jvm.open()
    for declaration in map_declarations(checked_program.maps):
        jvm.command("map", declaration.id, declaration.kind.number, declaration.keys, *declaration.parameters)
    for bound_probe in _bound(checked_program):
        _fire(jvm, checked_program, bound_probe, random.Random(seed))
    internal = [error for error in jvm.errors() if error.kind == INTERNAL]
    assert internal == []
    jvm.events()
    return "ran"


def _bound(program: Program) -> list[BoundProbe]:
    out = []
    for probe in program.probes:
        shapes: list[Shape | None] = [None]
        if isinstance(probe.attachment, MethodAttachment):
            shapes = [candidate for candidate in SHAPES if candidate.point in probe.attachment.points]
        for shape in shapes:
            try:
                out.append(bind(program, probe, shape))
            except ScriptError as error:
                _draw(error)
    return out


def _draw(error: ScriptError) -> None:
    assert render_all(error.diagnostics)


def _fire(jvm: Target, program: Program, bound_probe: BoundProbe, chance: random.Random) -> None:
    def value(input_: Input) -> Result:
        return chance.choice(VALUES["L" if input_.descriptor[0] == "L" else input_.descriptor])

    def fire(handler: HandlerClass, inputs: tuple[Input, ...]) -> None:
        jvm.fire(handler, *map(value, inputs), agent=bound_probe.shape is None)

    try:
        for entry in bound_probe.entries:
            fire(compile_entry(program, bound_probe, entry), entry.inputs)
        fire(compile_fire(program, bound_probe), bound_probe.inputs)
    except CompileError:
        pass  # the user gets this message: the probe does not fit into a method


def run(count: int, first: int, jvm: Target) -> Counter[str]:
    ends: Counter[str] = Counter()
    for seed in range(first, first + count):
        try:
            ends[hostile(seed, jvm)] += 1
        except BaseException:
            print(f"seed {seed}", file=sys.stderr)
            raise
    return ends


def test_scripts_by_chance(jvm17: Target) -> None:
    ends = run(500, 0, jvm17)
    assert ends["ran"] > 100


@pytest.mark.proof
def test_many_scripts_by_chance(jvm17: Target) -> None:
    """``BTPY_HOSTILE=1000:1_000_000``: 1,000 scripts, from seed 1,000,000 on."""
    count, first = map(int, os.environ.get("BTPY_HOSTILE", "100000:1000000").split(":"))
    ends = run(count, first, jvm17)
    print(dict(ends))
    assert ends["ran"] > 20_000 * count // 100_000
