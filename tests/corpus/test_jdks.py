"""Everything woven into every method of real JDKs verifies."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from btpy.classfile import relocation
from btpy.classfile.reader import ClassFile
from btpy.plan.plan import ClassPlan, Point
from tests.corpus import jdk as corpora
from tests.corpus.weaving import Corpus, all_at_once, check_refusals, inside
from tests.jdks import all_jdks
from tests.weave import advice

SHARDS = 11


def check(jdk: int, corpus: Corpus, *, dense: bool = False) -> None:
    refusals = check_refusals(corpus, dense=dense)
    output = corpora.link(jdk, corpus)
    assert "REFUSED" not in output, output
    match = re.search(r"linked (\d+) missing (\d+)", output)
    assert match is not None, output
    linked, losses = map(int, match.groups())
    assert linked + losses == len(corpus.changed)
    # Classes that name optional or platform-specific ones cannot be linked in any case; they are few.
    assert losses <= len(corpus.changed) // 50, output
    if jdk == 25:
        output = corpora.verify(corpus)
        assert "REFUSED" not in output, output
        assert f"verified {len(corpus.changed)}" in output
    costs = (
        f"{corpus.seconds / corpus.classes * 1e6:.0f} µs a class, {corpus.seconds / corpus.methods * 1e6:.0f} a method"
    )
    print(f"\nJDK {jdk}: {corpus.classes} classes, {corpus.methods} methods, {corpus.sites} sites, {costs};")
    print(f"  {linked} linked, {losses} not linkable")
    print(refusals)


@pytest.mark.parametrize("jdk", [17, 25])
def test_a_sample_of_java_base_verifies(jdk: int, tmp_path: Path) -> None:
    check(jdk, corpora.weave_jdk(jdk, tmp_path, "java.base", 23))


def test_a_sample_verifies_with_every_jump_widened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relocation, "REACH", -1)
    check(25, corpora.weave_jdk(25, tmp_path, "java.base", 37))


@pytest.mark.parametrize("jdk", [11, 17, 21, 25])
def test_a_sample_of_java_base_verifies_with_all_points_at_once(jdk: int, tmp_path: Path) -> None:
    check(jdk, corpora.weave_jdk(jdk, tmp_path, "java.base", 41, all_at_once), dense=True)


def test_a_sample_of_java_base_verifies_with_each_point_alone(tmp_path: Path) -> None:
    """Each class has advice at one point. The points take turns, so that one JVM links the classes of all points."""
    points: dict[str, Point] = {}

    def plan(file: ClassFile) -> ClassPlan:
        points[file.name] = advice.INSIDE_POINTS[len(points) % len(advice.INSIDE_POINTS)]
        return inside(points[file.name])(file)

    corpus = corpora.weave_jdk(25, tmp_path, "java.base", 5, plan)
    print(points)
    assert {points["/".join(path.with_suffix("").parts[1:])] for path in corpus.changed} == set(advice.INSIDE_POINTS)
    check(25, corpus, dense=True)


@pytest.mark.proof
@pytest.mark.parametrize("shard", range(SHARDS))
@all_jdks
def test_whole_jdks_verify_with_all_points_at_once(jdk: int, shard: int, tmp_path: Path) -> None:
    """In shards, so that a run that was interrupted can go on."""
    check(jdk, corpora.weave_jdk(jdk, tmp_path, "all", SHARDS, all_at_once, shard), dense=True)


@pytest.mark.proof
@pytest.mark.parametrize("point", advice.INSIDE_POINTS, ids=str)
@pytest.mark.parametrize("jdk", [17, 25])
def test_java_base_verifies_with_each_point_alone(jdk: int, point: Point, tmp_path: Path) -> None:
    check(jdk, corpora.weave_jdk(jdk, tmp_path, "java.base", 1, inside(point)), dense=True)


@pytest.mark.proof
@all_jdks
def test_whole_jdks_verify(jdk: int, tmp_path: Path) -> None:
    check(jdk, corpora.weave_jdk(jdk, tmp_path, "all", 1))
