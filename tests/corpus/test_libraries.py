"""Everything woven into every method of libraries leaves their classes as valid as they were."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.corpus import treated
from tests.corpus.catalogue import LIBRARIES, OLD, Library
from tests.corpus.libraries import Unpacked, examine, judge, unpack
from tests.corpus.weaving import all_at_once, check_refusals, ends, weave_all
from tests.maven import artifact

AT_MOST = int(os.environ.get("BTPY_CORPUS_CLASSES", "1000000"))
"""How many classes of a library are woven: for a run that has not hours."""

BY_NAME = {library.name: library for library in LIBRARIES}


def check(name: str, jars: list[Path], needs: list[Path], scratch: Path, *, step: int = 1, dense: int = 1) -> Unpacked:
    """Weaves every ``step``-th class: what stands at the ends of methods, and into each ``dense``-th all at once."""
    library = unpack(jars, scratch / "original")
    assert len(library.names) > 10 * len(library.broken), library.broken
    of_old = f"{len(library.old)} of old versions, {library.subroutines} methods with jsr"
    print(f"\n{name}: {len(library.names)} classes, {of_old}, {len(library.broken)} not readable")
    for broken in library.broken:
        print(f"  not readable: {broken}")
    paths = [Path(f"{name}.class") for name in library.names[:: max(step, len(library.names) // AT_MOST)]]
    before = examine(library, paths, library.root, needs, scratch)
    for plan, every in ((ends, 1), (all_at_once, dense)):
        files = ((path, (library.root / path).read_bytes()) for path in paths[::every])
        corpus = weave_all(files, scratch / plan.__name__, plan)
        refusals = check_refusals(corpus, dense=plan is all_at_once)
        verdict = judge(library, before, examine(library, corpus.changed, corpus.root, needs, scratch))
        assert not verdict.worse, "\n".join(verdict.worse)
        assert verdict.linked > 0
        print(f" {plan.__name__}: {corpus.classes} classes, {corpus.methods} methods, {corpus.sites} sites")
        otherwise = f"{verdict.unlinkable} lack a class, {verdict.verified} of them verified otherwise"
        print(f"  {len(corpus.changed)} changed, {verdict.linked} linked, {otherwise}")
        print(refusals)
        for title, names in (("asks for a class now", verdict.asking), ("wrong unwoven", verdict.wrong)):
            for class_name in names:
                print(f"  {title}: {class_name}")
    return library


@pytest.mark.parametrize(
    ("name", "step"), [("beanshell", 7), ("mysql", 3), ("golo", 11), ("kotlin-coroutines", 29), ("log4j-1.1", 5)]
)
def test_a_sample_of_libraries_verifies(name: str, step: int, tmp_path: Path) -> None:
    library = BY_NAME[name]
    jars, needs = ([artifact(jar) for jar in names] for names in (library.jars, library.needs))
    result = check(name, jars, needs, tmp_path, step=step)
    assert (result.subroutines > 0) == (library in OLD)


@pytest.mark.proof
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_libraries_verify(library: Library, tmp_path: Path) -> None:
    jars = [artifact(jar) for jar in library.jars]
    check(library.name, jars, [artifact(jar) for jar in library.needs], tmp_path, dense=library.step)


@pytest.mark.proof
@pytest.mark.parametrize(
    "make",
    [treated.obfuscated, treated.with_aspects, treated.instrumented, treated.generated],
    ids=lambda f: f.__name__,
)
def test_a_library_that_other_tools_have_changed_verifies(make: Callable[[], Path], tmp_path: Path) -> None:
    needs = [artifact(treated.ASPECTJ_RUNTIME), artifact(treated.AGENT_OF_COVERAGE), artifact(treated.LIBRARY)]
    check(make.__name__, [make()], needs, tmp_path)
