"""PREWEAVE: the agent has the answer before a thread loads the class."""

from __future__ import annotations

from pathlib import Path

from btpy.model.patterns import ClassPatternKind
from btpy.model.points import Point
from btpy.wire import codec
from btpy.wire.fingerprint import fingerprint
from btpy.wire.messages import (
    Done,
    Late,
    LateOutcome,
    Locate,
    Locations,
    MethodSites,
    Pattern,
    Preweave,
    PrewovenAnswer,
    PrewovenClass,
    Site,
)
from tests.agent.client import Client
from tests.agent.conftest import Attach, Subject, answer
from tests.jdks import all_jdks

LATER = "Subject$Later"


def later(classes: Path, client: Client, id_: int = 7, said: bytes = b"woven!") -> PrewovenAnswer:
    data = (classes / f"{LATER}.class").read_bytes()
    sites = (
        MethodSites("toString", "()Ljava/lang/String;", (Site(client.slot << 24 | 1, 0, Point.ENTRY, 3, "", ""),)),
    )
    part = codec.encode_part(PrewovenClass(data.replace(b"plain!", said), sites))
    return PrewovenAnswer(id_, fingerprint(data), part)


def preweave(client: Client, *classes: PrewovenAnswer, anew: bool = False) -> str:
    return client.call(Done, lambda request: Preweave(request, anew, classes)).error


def watch(client: Client) -> None:
    client.watch(Pattern(ClassPatternKind.EXACT, LATER))


@all_jdks
def test_a_class_is_loaded_with_its_prewoven_answer(
    jdk: int, subject: Subject, attach: Attach, subject_classes: Path
) -> None:
    with subject(jdk) as program:
        client = attach(program, jdk)
        assert preweave(client, later(subject_classes, client)) == ""
        watch(client)
        assert answer(program, f"make {LATER}") == "Later says woven!"
        late = client.expect(Late)
        assert (late.class_name, late.loader, late.outcome, late.prewoven) == (LATER, "app", LateOutcome.WOVEN, 7)
        assert client.asked == []
        receipt = client.restore()
        assert (receipt.woven, receipt.restored, receipt.not_restored) == (1, 1, ())
        assert answer(program, f"make {LATER}") == "Later says plain!"
        assert client.detach().left_behind == ()


def test_an_interrupt_of_the_thread_that_loads_is_kept(subject: Subject, attach: Attach, subject_classes: Path) -> None:
    with subject(17) as program:
        client = attach(program, 17)
        preweave(client, later(subject_classes, client))
        watch(client)
        assert answer(program, f"make-interrupted {LATER}") == "Later says woven! true"


def test_the_agent_reports_a_prewoven_class_that_stays_unchanged(
    subject: Subject, attach: Attach, subject_classes: Path
) -> None:
    with subject(17) as program:
        client = attach(program, 17)
        data = (subject_classes / f"{LATER}.class").read_bytes()
        preweave(client, PrewovenAnswer(9, fingerprint(data), b""))
        watch(client)
        assert answer(program, f"make {LATER}") == "Later says plain!"
        late = client.expect(Late)
        assert (late.outcome, late.prewoven) == (LateOutcome.UNCHANGED, 9)
        assert client.asked == []


def test_withdrawn_answers_and_other_bytes_lead_to_a_question(
    subject: Subject, attach: Attach, subject_classes: Path
) -> None:
    with subject(17) as program:
        client = attach(program, 17)
        prewoven = later(subject_classes, client)
        preweave(client, prewoven)
        assert preweave(client, anew=True) == ""
        preweave(client, PrewovenAnswer(8, fingerprint(b"something else"), prewoven.woven))
        watch(client)
        assert client.order(program, f"make {LATER}") == "Later says plain!"
        assert [class_.name for class_ in client.asked] == [LATER]


def test_a_loader_that_does_not_see_the_runtime_gets_no_answer(
    subject: Subject, attach: Attach, subject_classes: Path
) -> None:
    with subject(17) as program:
        client = attach(program, 17)
        preweave(client, later(subject_classes, client))
        watch(client)
        assert answer(program, f"make-on-island {LATER}") == "Later says plain!"
        assert client.expect(Late).outcome is LateOutcome.REFUSED
        assert answer(program, f"make {LATER}") == "Later says woven!"


def test_classes_that_no_pattern_names_get_no_answer(subject: Subject, attach: Attach, subject_classes: Path) -> None:
    with subject(17) as program:
        client = attach(program, 17)
        preweave(client, later(subject_classes, client))
        client.watch(Pattern(ClassPatternKind.EXACT, "Subject$Marked"))
        assert answer(program, f"make {LATER}") == "Later says plain!"
        assert client.restore().woven == 0


def test_without_a_place_for_files_the_agent_reports_it_and_asks(
    subject: Subject, attach: Attach, subject_classes: Path, tmp_path: Path
) -> None:
    with subject(17, f"-Djava.io.tmpdir={tmp_path}/nowhere") as program:
        client = attach(program, 17)
        assert "nowhere" in preweave(client, later(subject_classes, client))
        watch(client)
        assert client.order(program, f"make {LATER}") == "Later says plain!"
        assert [class_.name for class_ in client.asked] == [LATER]


def test_it_tells_where_its_classes_are(subject: Subject, attach: Attach, subject_classes: Path) -> None:
    with subject(17) as program:
        assert attach(program, 17).call(Locations, Locate).paths == (str(subject_classes),)
