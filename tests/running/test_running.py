"""Real programs with probes at all points in all their classes and libraries: they behave as without probes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.corpus.weaving import Plan
from tests.jdks import java, javac
from tests.running import programs, weaving
from tests.running.programs import Program


def check(java: Path, program: Program, plan: Plan, directory: Path) -> None:
    plain, class_names = weaving.run(java, program, directory / "plain")
    assert plain.status == 0, plain.stdout + plain.stderr
    assert bool(plain.stdout) != bool(program.results)
    results = weaving.woven(program, class_names, java, plan, directory / "classes")
    traced, _ = weaving.run(java, results.program, directory / "woven")
    assert traced == plain
    calls, values = weaving.tallied(directory / "woven")
    print(
        json.dumps(
            {
                "program": program.main,
                "java": str(java),
                "classes": results.classes,
                "methods": results.methods,
                "sites": results.sites,
                "refused": results.refused,
                "calls": calls,
                "values": values,
                "lines": plain.stdout.count("\n"),
                "files": len(plain.files),
            }
        )
    )
    assert calls > results.classes
    assert values > results.classes


def test_an_application_server(tmp_path: Path) -> None:
    check(java(25), programs.tomcat(), weaving.ends, tmp_path)


@pytest.mark.proof
@pytest.mark.parametrize("jdk", [17, 25], ids=["jdk17", "jdk25"])
@pytest.mark.parametrize(
    "program",
    [
        programs.h2,
        programs.tomcat,
        programs.netty,
        programs.lucene,
        programs.groovy,
        programs.clojure,
        programs.jruby,
        programs.kotlin,
    ],
)
def test_programs_and_their_libraries(jdk: int, program: Callable[[], Program], tmp_path: Path) -> None:
    check(java(jdk), program(), weaving.everything, tmp_path)


@pytest.mark.proof
def test_the_java_compiler(tmp_path: Path) -> None:
    check(javac().with_name("java"), programs.javac_of_a_library(), weaving.everything, tmp_path)


@pytest.mark.proof
def test_the_kotlin_compiler(tmp_path: Path) -> None:
    check(java(17), programs.kotlinc(), weaving.ends, tmp_path)
