"""Everything woven into every method of real JDKs verifies."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from btpy.classfile import relocation
from btpy.plan.plan import Point, RefusalReason
from tests.corpus import jdk as corpora
from tests.jdks import all_jdks
from tests.weave import advice

_PROTECTED = RefusalReason.PROTECTED  # the empty finalize()
_EXPLAINED = (RefusalReason.TOO_LARGE, RefusalReason.NO_SUPER_CALL)


def check(jdk: int, corpus: corpora.Corpus, *, dense: bool = False) -> None:
    """``dense``: advice at many instructions, with which a long method passes 64 kB without anything being wrong."""
    reasons = Counter(refusal.reason for refusal in corpus.refusals)
    intended = {RefusalReason.PROTECTED, *([RefusalReason.TOO_LARGE] if dense else [])}
    unintended = [refusal for refusal in corpus.refusals if refusal.reason not in intended]
    assert all(refusal.method == "finalize()V" for refusal in corpus.refusals if refusal.reason is _PROTECTED)
    assert all(refusal.reason in _EXPLAINED for refusal in unintended), unintended
    assert len(unintended) * 10_000 < max(corpus.methods, 10_001), unintended
    said = corpora.link(jdk, corpus)
    assert "REFUSED" not in said, said
    found = re.search(r"linked (\d+) missing (\d+)", said)
    assert found is not None, said
    linked, missing = map(int, found.groups())
    assert linked + missing == len(corpus.names)
    # Classes that name optional or platform-specific ones cannot be linked in any case; they are few.
    assert missing <= len(corpus.names) // 50, said
    if jdk == 25:
        said = corpora.verify(corpus)
        assert "REFUSED" not in said, said
        assert f"verified {len(corpus.names)}" in said
    each = (
        f"{corpus.seconds / corpus.classes * 1e6:.0f} µs a class, {corpus.seconds / corpus.methods * 1e6:.0f} a method"
    )
    print(f"\nJDK {jdk}: {corpus.classes} classes, {corpus.methods} methods, {corpus.sites} sites, {each};")
    refused = ", ".join(f"{count} {reason.name}" for reason, count in reasons.items()) or "none"
    print(f"  {linked} linked, {missing} not linkable, methods refused: {refused}")
    for refusal in corpus.refusals:
        print(f"  {refusal.reason.value} {refusal.class_name}.{refusal.method}: {refusal.detail}")


@pytest.mark.parametrize("jdk", [17, 25])
def test_a_sample_of_java_base_verifies(jdk: int, tmp_path: Path) -> None:
    check(jdk, corpora.weave_jdk(jdk, tmp_path, "java.base", 23))


def test_a_sample_verifies_with_every_jump_widened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relocation, "REACH", -1)
    check(25, corpora.weave_jdk(25, tmp_path, "java.base", 37))


@pytest.mark.parametrize("jdk", [11, 17, 21, 25])
def test_a_sample_of_java_base_verifies_with_all_points_at_once(jdk: int, tmp_path: Path) -> None:
    check(jdk, corpora.weave_jdk(jdk, tmp_path, "java.base", 41, corpora.all_at_once), dense=True)


@pytest.mark.parametrize("point", advice.INSIDE_POINTS, ids=str)
def test_a_sample_of_java_base_verifies_with_each_point_alone(point: Point, tmp_path: Path) -> None:
    check(25, corpora.weave_jdk(25, tmp_path, "java.base", 97, corpora.inside(point)), dense=True)


@pytest.mark.proof
@all_jdks
def test_whole_jdks_verify_with_all_points_at_once(jdk: int, tmp_path: Path) -> None:
    check(jdk, corpora.weave_jdk(jdk, tmp_path, "all", 1, corpora.all_at_once), dense=True)


@pytest.mark.proof
@pytest.mark.parametrize("point", advice.INSIDE_POINTS, ids=str)
@pytest.mark.parametrize("jdk", [17, 25])
def test_java_base_verifies_with_each_point_alone(jdk: int, point: Point, tmp_path: Path) -> None:
    check(jdk, corpora.weave_jdk(jdk, tmp_path, "java.base", 1, corpora.inside(point)), dense=True)


@pytest.mark.proof
@all_jdks
def test_whole_jdks_verify(jdk: int, tmp_path: Path) -> None:
    check(jdk, corpora.weave_jdk(jdk, tmp_path, "all", 1))
