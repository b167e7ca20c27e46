"""The report of a run on standard error: the code that is not traced, and the restored classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_command import btpy
from tests.jdks import compiled
from tests.targets import target

ABSTRACT_METHODS = 11


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    methods = "".join(f"abstract void step{i}();" for i in range(ABSTRACT_METHODS))
    source = tmp_path_factory.mktemp("java") / "Steps.java"
    source.write_text(
        f"""public abstract class Steps {{
            {methods}
            static native void stepNatively();
            static void step() {{}}
            public static void main(String[] arguments) throws Exception {{
                System.out.println("ready");
                while (System.in.read() >= 0) step();
            }}
        }}"""
    )
    return compiled([source], release=8)


def test_many_methods_without_bytecode_are_one_line_of_v(program: Path) -> None:
    with target(17, "Steps", classpath=[program]) as jvm:
        many = btpy(jvm.pid, "-v", "-e", "Steps::step* @entry { @n = count(); }", "--for", "10ms").stderr
        few = btpy(jvm.pid, "-v", "-e", "Steps::/step1?/ @entry { @n = count(); }", "--for", "10ms").stderr
    assert f"\n{ABSTRACT_METHODS + 1} abstract and native methods are not traced: they have no bytecode\n" in many
    assert "BT331" not in many
    assert "classes restored 1/1" in many
    assert "\nSteps.step1() is not traced [BT331]: step1 is abstract: it has no bytecode\n" in few
    assert "abstract and native methods" not in few


def test_a_script_that_changes_no_class_has_no_class_to_restore(program: Path) -> None:
    with target(17, "Steps", classpath=[program]) as jvm:
        report = btpy(jvm.pid, "-e", '@OnBegin { print("begun") }', "--for", "10ms").stderr
    assert "\nno class to restore · " in report
    assert "classes restored" not in report
