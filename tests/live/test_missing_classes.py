"""Classes that refer to missing classes, because libraries have parts for optional dependencies."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from btpy.engine.session import Session
from btpy.plan.plan import RefusalReason
from tests.jdks import MAJORS, compiled
from tests.live.scripts import program
from tests.live.test_companions import JAVA
from tests.live.test_storms import PATIENT
from tests.targets import target


@pytest.mark.parametrize("jdk", MAJORS)
def test_the_refusal_names_the_class_that_is_missing(jdk: int, tmp_path: Path) -> None:
    classes = tmp_path / "classes"
    shutil.copytree(compiled([JAVA / "Incomplete.java"]), classes)
    (classes / "Optional$Shape.class").unlink()
    with target(jdk, "Optional", classpath=[classes]) as jvm, Session.attach(jvm.pid, PATIENT) as session:
        deployment = session.deployer.load(program("Incomplete::work { @n = count(); }"), missing="ignore")
        assert session.departure.detach().clean
    (refusal,) = deployment.refusals
    assert refusal.reason is RefusalReason.REJECTED
    assert refusal.class_name == "Incomplete"
    assert refusal.detail.endswith(
        "; the JVM also refuses it unchanged, because it mentions the class Optional$Shape, which does not exist here"
    )
