"""What was woven into a class file, taken over into another writing of it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from btpy.classfile.reader import Attribute, ClassFile, Member
from btpy.classfile.writer import code_of
from btpy.plan.plan import ClassPlan
from btpy.session.ahead import WovenAhead
from btpy.weave.weaver import weave
from tests.live.scripts import counted_classes
from tests.weave import advice

_METHOD_HEAD = 8  # flags, name, descriptor, number of attributes (JVMS §4.6)
_ATTRIBUTE_HEAD = 6  # name, length (§4.7)


def rewritten(file: ClassFile, chance: random.Random) -> bytes:
    """The class with its methods, and the attributes of their code, in another order."""
    empty = next(at for at, method in enumerate(file.methods) if method.attributes)
    begin = at = file.methods[empty].attributes[0].start - _ATTRIBUTE_HEAD - _METHOD_HEAD * (empty + 1)
    methods = []
    for method in file.methods:
        head = file.data[at : at + _METHOD_HEAD]
        methods.append(head + b"".join(_attribute(each, method, chance) for each in method.attributes))
        at = method.attributes[-1].end if method.attributes else at + _METHOD_HEAD
    chance.shuffle(methods)
    return file.data[:begin] + b"".join(methods) + file.data[at:]


def codes(file: ClassFile) -> dict[str, bytes]:
    return {each.name + each.descriptor: code_of(each).content for each in file.methods if each.code is not None}


def _attribute(attribute: Attribute, method: Member, chance: random.Random) -> bytes:
    if attribute.name != "Code":
        return attribute.whole
    assert method.code is not None
    inner = [each.whole for each in method.code.attributes]
    fixed = attribute.whole[: len(attribute.whole) - sum(map(len, inner))]
    chance.shuffle(inner)
    return fixed + b"".join(inner)


@pytest.fixture(scope="module")
def file() -> ClassFile:
    return ClassFile.parse((Path(counted_classes()) / "Counted.class").read_bytes())


@pytest.fixture(scope="module")
def ahead(file: ClassFile) -> WovenAhead:
    ahead = WovenAhead.of(file, weave(file, advice.everything(file), 1))
    assert ahead is not None
    return ahead


@pytest.mark.parametrize("seed", range(7))
def test_another_order_gets_the_same_code(file: ClassFile, ahead: WovenAhead, seed: int) -> None:
    asked = ClassFile.parse(rewritten(file, random.Random(seed)))
    assert {method.name for method in asked.methods} == {method.name for method in file.methods}
    taken_over = ahead.taken_over(asked)
    assert taken_over is not None
    found = ClassFile.parse(taken_over)
    assert [method.name for method in found.methods] == [method.name for method in asked.methods]
    assert codes(found) == codes(ahead.woven)
    assert found.data[8 : found.pool_end] == ahead.woven.data[8 : ahead.woven.pool_end]


def test_other_code_or_another_pool_is_left_alone(file: ClassFile, ahead: WovenAhead) -> None:
    assert ahead.taken_over(file) is not None
    code = code_of(next(method for method in file.methods if method.name == "main"))
    at = code.start + 2  # max_locals
    other = file.data[:at] + (int.from_bytes(file.data[at : at + 2]) + 1).to_bytes(2) + file.data[at + 2 :]
    assert ahead.taken_over(ClassFile.parse(other)) is None
    renamed = file.data.replace(b"\x01\x00\x05ready", b"\x01\x00\x05Ready")
    assert renamed != file.data
    assert ahead.taken_over(ClassFile.parse(renamed)) is None


def test_nothing_is_taken_over_when_nothing_was_woven(file: ClassFile) -> None:
    assert WovenAhead.of(file, weave(file, ClassPlan(file.name, ()), 1)) is None
