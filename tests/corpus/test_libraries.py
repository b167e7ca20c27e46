"""Everything woven into every method of libraries leaves their classes as valid as they were."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.corpus import treated
from tests.corpus.catalogue import LIBRARIES, OLD, Library
from tests.corpus.libraries import Unpacked, judge, unpack
from tests.corpus.weaving import Plan, all_at_once, check_refusals, ends, weave_all
from tests.maven import artifact

AT_MOST = int(os.environ.get("BTPY_CORPUS_CLASSES", "1000000"))
"""Into how many classes of a library all points at once are woven: for a run that has not hours."""

BY_NAME = {library.name: library for library in LIBRARIES}


def check(name: str, jars: list[Path], needs: list[Path], scratch: Path, step: int = 1, ends_step: int = 1) -> Unpacked:
    """Weaves all points at once into every ``step``-th class, what stands at the ends into every ``ends_step``-th."""
    library = unpack(jars, scratch / "original")
    step = max(step, len(library.names) // AT_MOST)
    assert len(library.names) > 10 * len(library.broken), library.broken
    of_old = f"{len(library.old)} of old versions, {library.subroutines} methods with jsr"
    print(f"\n{name}: {len(library.names)} classes, {of_old}, {len(library.broken)} not readable")
    for broken in library.broken:
        print(f"  not readable: {broken}")
    for plan, every in ((ends, ends_step), (all_at_once, step)):
        _check_woven(library, plan, every, needs, scratch / plan.__name__)
    return library


def _check_woven(library: Unpacked, plan: Plan, step: int, needs: list[Path], scratch: Path) -> None:
    def files() -> Iterator[tuple[Path, bytes]]:
        for name in library.names[::step]:
            yield Path(f"{name}.class"), (library.root / f"{name}.class").read_bytes()

    corpus = weave_all(files(), scratch / "woven", plan)
    refused = check_refusals(corpus, dense=plan is all_at_once)
    verdict = judge(library, corpus, needs)
    assert not verdict.worse, "\n".join(verdict.worse)
    assert verdict.linked > 0
    print(f" {scratch.name}: {corpus.classes} classes, {corpus.methods} methods, {corpus.sites} sites")
    print(
        f"  {verdict.linked} linked, {verdict.unlinkable} lack a class, {verdict.verified} of them verified otherwise"
    )
    print(refused)
    for title, names in (("asks for a class now", verdict.asking), ("wrong unwoven", verdict.wrong)):
        for each in names:
            print(f"  {title}: {each}")


@pytest.mark.parametrize(
    ("name", "step"), [("beanshell", 7), ("mysql", 3), ("golo", 11), ("kotlin-coroutines", 29), ("log4j-1.1", 5)]
)
def test_a_sample_of_libraries_verifies(name: str, step: int, tmp_path: Path) -> None:
    library = BY_NAME[name]
    found = check(
        name, [artifact(jar) for jar in library.jars], [artifact(jar) for jar in library.needs], tmp_path, step
    )
    assert (found.subroutines > 0) == (library in OLD)


@pytest.mark.proof
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_libraries_verify(library: Library, tmp_path: Path) -> None:
    jars = [artifact(jar) for jar in library.jars]
    check(library.name, jars, [artifact(jar) for jar in library.needs], tmp_path, library.step)


@pytest.mark.proof
@pytest.mark.parametrize(
    "make",
    [treated.obfuscated, treated.with_aspects, treated.instrumented, treated.generated],
    ids=lambda f: f.__name__,
)
def test_a_library_that_other_tools_have_changed_verifies(make: Callable[[], Path], tmp_path: Path) -> None:
    needs = [artifact(treated.ASPECTJ_RUNTIME), artifact(treated.AGENT_OF_COVERAGE), artifact(treated.LIBRARY)]
    check(make.__name__, [make()], needs, tmp_path)
