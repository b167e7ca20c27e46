"""``+T`` and types that are loaded after the probes were installed."""

from __future__ import annotations

import pytest

from btpy.engine.session import Session
from btpy.events.aggregates import Count
from tests.jdks import compiled
from tests.live.scripts import program
from tests.live.test_companions import JAVA, asked
from tests.live.test_storms import PATIENT
from tests.targets import target

CALLS = """
@OnMethod(class="Callers*", method="*", location=CALL(class="+Callers$Figure", method="/area|bend/"))
{ @n = count(); @calls[method, target_class, target_method] = count(); }
"""


@pytest.mark.parametrize("jdk", [11, 25], ids=["jdk11", "jdk25"])
def test_calls_of_types_that_are_loaded_later_are_not_missed(jdk: int) -> None:
    """Counts the first call, and the calls of a class whose superclasses are loaded after the transformer saw it."""
    with target(jdk, "Callers", classpath=[compiled([JAVA / "Callers.java"])], flags=["-Xverify:all"]) as callers:
        with Session.attach(callers.pid, PATIENT) as session:
            assert session.deployer.load(program(CALLS)).methods == 2
            squares, circles = sum(n * n for n in range(13)), sum(3 * n * n + 1 for n in range(11))
            assert asked(callers, "field 7") == str(-sum(range(7)))
            assert asked(callers, "square 13") == str(squares)
            assert asked(callers, "circle 11") == str(circles)
            assert asked(callers, "square 13") == str(squares)
            assert asked(callers, "draw 5") == str(sum(5 * n for n in range(5)))
            maps = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
            receipt = session.departure.detach()
        assert maps["calls"] == {
            ("square", "Callers$Square", "area"): Count(26),
            ("circle", "Callers$Circle", "area"): Count(11),
            ("circle", "Callers$Circle", "bend"): Count(11),
            ("draw", "Callers$Hexagon", "area"): Count(5),
            ("area", "Callers$Regular", "area"): Count(5),  # super.area(n)
        }
        assert receipt.clean
        assert receipt.woven == 3


ENTRIES = """
@OnMethod(class="+Callers$Figure", method="*", location=ENTRY, pending=true)
{ @n = count(); @entered[cls, method] = count(); }
"""


@pytest.mark.parametrize("jdk", [11, 25], ids=["jdk11", "jdk25"])
def test_a_class_that_is_loaded_before_its_superclass_is_woven_as_it_is_loaded(jdk: int) -> None:
    with target(jdk, "Callers", classpath=[compiled([JAVA / "Callers.java"])]) as callers:
        with Session.attach(callers.pid, PATIENT) as session:
            session.deployer.load(program(ENTRIES))
            asked(callers, "draw 11")
            maps = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
            assert session.departure.detach().clean
        assert maps["entered"] == {
            ("Callers$Hexagon", "<init>"): Count(1),
            ("Callers$Regular", "<init>"): Count(1),
            ("Callers$Polygon", "<init>"): Count(1),
            ("Callers$Hexagon", "area"): Count(11),
            ("Callers$Polygon", "area"): Count(11),
        }
