"""The first part of many classes is woven while the others are planned."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from btpy.engine import matcher, planning, retransformation
from btpy.engine.deployer import Deployment
from btpy.engine.matcher import Matcher
from btpy.engine.matching import Matching
from btpy.engine.planning import Plans
from btpy.engine.session import Session
from btpy.errors import BtpyError, UsageError
from btpy.events.aggregates import Count
from btpy.plan.plan import RefusalReason
from btpy.wire.messages import WeaveResult
from tests.live.scripts import counted, program

CALLS = 1009
CLASSES = r'class="/Counted|java\.util\..*/", method="*"'
SCRIPT = f"@OnMethod({CLASSES}, max=100000) {{ @entered[method] = count(); }}"

PLANNED, WOVEN = "all are planned", "all are woven"


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The order in which a program is planned and woven. A program of few classes is planned in parts, too."""
    monkeypatch.setattr(planning, "LARGE", 8)
    monkeypatch.setattr(planning, "READ_AT_ONCE", 7)
    monkeypatch.setattr(matcher, "FEW_READS", 2)  # the target reads classes of the JDK
    order: list[str] = []
    judge, change = Matcher.judge, retransformation.change

    def judged(self: Matcher, plans: Plans, *, suggestions: bool = True) -> Matching:
        order.append(PLANNED)
        return judge(self, plans, suggestions=suggestions)

    def changed(*arguments: object, **options: object) -> WeaveResult:
        result = change(*arguments, **options)  # type: ignore[arg-type]
        order.append(WOVEN)
        return result

    monkeypatch.setattr(Matcher, "judge", judged)
    monkeypatch.setattr(retransformation, "change", changed)
    return order


def places(deployment: Deployment, classes: Iterable[str]) -> set[tuple[str, str, str]]:
    return {(site.class_name, site.method, site.descriptor) for site in deployment.sites if site.class_name in classes}


def class_names(matching: Matching) -> set[str]:
    return {class_.loaded.name for class_ in matching.classes}


def test_planning_in_parts_weaves_the_same_methods(steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(17, "-Xverify:all") as jvm:
        with Session.attach(jvm.pid) as session:
            in_parts = session.deployer.load(program(SCRIPT))
            assert steps == [WOVEN, PLANNED]
            jvm.send(f"call {CALLS}")
            jvm.wait_for("called")
            (content,) = session.delivery.snapshot()
            assert dict(content.entries)["step",] == Count(CALLS)
            receipt = session.departure.detach()
            assert receipt.clean
            assert receipt.restored >= in_parts.classes
        monkeypatch.setattr(planning, "LARGE", 100_000)
        with Session.attach(jvm.pid) as session:
            at_once = session.deployer.load(program(SCRIPT))
            assert steps == [WOVEN, PLANNED, PLANNED, WOVEN]
    classes = class_names(in_parts.matching) & class_names(at_once.matching)
    assert len(classes) > planning.PARTS * 7
    assert places(in_parts, classes) == places(at_once, classes)
    refusals = [
        [refusal for refusal in deployment.refusals if refusal.class_name in classes]
        for deployment in (in_parts, at_once)
    ]
    assert set(refusals[0]) == set(refusals[1])


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(
            f"@OnMethod({CLASSES}, max=100000) {{ print(arg0); }}", id="an argument, which not every method has"
        ),
        pytest.param(f"@OnMethod({CLASSES}, location=LINE(26), max=100000) {{ @n = count(); }}", id="places inside"),
        pytest.param(
            '@OnMethod(class="+java.util.concurrent.Executor", method="*") { @n = count(); }', id="supertypes"
        ),
        pytest.param(f"@OnMethod({CLASSES}) {{ @n = count(); }}", id="the limit is near"),
        pytest.param(
            SCRIPT + '@OnMethod(class="java.util.HashMap", method="get") { @n = count(); }',
            id="a probe of one class",
        ),
    ],
)
def test_all_is_planned_first_if_a_class_could_make_the_program_wrong(steps: list[str], script: str) -> None:
    with counted(17) as jvm, Session.attach(jvm.pid) as session:
        try:
            session.deployer.load(program(script))
        except BtpyError:
            assert WOVEN not in steps
        assert steps[0] == PLANNED


def test_all_is_planned_first_if_the_target_must_read_class_files(
    steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matcher, "FEW_READS", 1)
    with counted(17) as jvm, Session.attach(jvm.pid) as session:
        session.deployer.load(program(SCRIPT))
        assert steps == [PLANNED, WOVEN]


def test_methods_beyond_the_limit_get_no_probe(steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    limit = 211
    script = program(f"@OnMethod({CLASSES}, max={limit}) {{ @entered = count(); }}")
    with counted(17) as jvm, Session.attach(jvm.pid) as session:
        with pytest.raises(UsageError, match=f"the limit is {limit}"):
            session.deployer.load(script)
        assert steps == [PLANNED]
        monkeypatch.setattr(planning, "MARGIN", 0)  # the first part promises too much
        deployment = session.deployer.load(script)
        assert steps == [PLANNED, WOVEN, PLANNED]
        planned = {class_.loaded.name for class_ in deployment.matching.classes if class_.planned is not None}
        assert limit - 60 < len(places(deployment, planned)) <= limit
        passed = [refusal for refusal in deployment.refusals if refusal.reason is RefusalReason.TOO_MANY]
        assert "may be in 211 methods (max=)" in passed[0].detail
        assert {refusal.class_name for refusal in passed}.isdisjoint(site.class_name for site in deployment.sites)
        assert session.departure.detach().clean
