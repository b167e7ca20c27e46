from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from btpy.classfile.reader import ClassFile
from btpy.engine.prewoven import prewoven_methods
from btpy.model.patterns import ClassPatternKind
from btpy.plan.plan import ClassPlan, FrameLocal, Handler, MethodPlan
from btpy.weave.weaver import weave, weave_methods
from btpy.wire.fingerprint import fingerprint
from btpy.wire.messages import (
    ClassBytes,
    Late,
    LateOutcome,
    Pattern,
    Ping,
    PrewovenMethods,
    Trouble,
    Verdict,
    Weave,
    Woven,
)
from tests.agent.client import PATIENCE, Serving
from tests.agent.conftest import Attach, Subject, agent_threads_end, answer
from tests.jdks import all_jdks
from tests.targets import Programs, Target, shared_programs


@pytest.fixture(scope="module")
def programs(subject: Subject) -> Iterator[Programs]:
    with shared_programs(subject) as programs:
        yield programs


@pytest.fixture
def left_alone(request: pytest.FixtureRequest, programs: Programs) -> Iterator[Target]:
    """The shared Subject on the Java version of the test, else on Java 17. After each test, its classes are the
    original ones, and no thread of the agent runs in it.
    """
    callspec = getattr(request.node, "callspec", None)
    program = programs(callspec.params.get("jdk", 17) if callspec is not None else 17)
    yield program
    agent_threads_end(program)
    assert answer(program, "base") == "Base says plain!"
    assert answer(program, "derived") == "Derived says plain!"


def mark(question: ClassBytes) -> bytes:
    """A class file of the same shape whose methods return another text, so that a test sees that it was woven."""
    return question.data.replace(b"plain!", b"woven!")


@all_jdks
def test_loaded_classes_are_woven_and_put_back(
    jdk: int, left_alone: Target, attach: Attach, subject_classes: Path
) -> None:
    client = attach(left_alone, jdk)
    client.weaver = mark
    result = client.weave(*client.ids("Subject$Base", "Subject$Derived"))
    assert result.failures == ()
    assert result.batches == 1
    assert 0 < result.longest_ns <= result.total_ns
    assert client.order(left_alone, "base") == "Base says woven!"
    assert client.order(left_alone, "derived") == "Derived says woven!"
    question = client.asked[-1]
    assert question.loader == "app"
    assert {class_.superclass for class_ in client.asked} == {"java.lang.Object", "Subject$Base"}
    receipt = client.restore()
    assert (receipt.woven, receipt.restored, receipt.unloaded, receipt.not_restored) == (2, 2, 0, ())
    assert client.order(left_alone, "base") == "Base says plain!"
    assert client.order(left_alone, "derived") == "Derived says plain!"
    farewell = client.detach()
    assert farewell.left_behind == ()
    assert farewell.handler_classes == 0
    assert farewell.agent_classes > 10
    agent_threads_end(left_alone)


@all_jdks
def test_the_same_bytes_and_an_unchanged_verdict_are_harmless(jdk: int, left_alone: Target, attach: Attach) -> None:
    client = attach(left_alone, jdk)
    client.weaver = lambda question: question.data
    base, derived, string = client.ids("Subject$Base", "Subject$Derived", "java.lang.String")
    assert client.weave(base, string).failures == ()
    client.weaver = lambda question: None
    assert client.weave(derived).failures == ()
    assert client.order(left_alone, "base") == "Base says plain!"
    receipt = client.restore()
    assert (receipt.woven, receipt.restored, receipt.not_restored) == (2, 2, ())


def test_weaving_again_starts_from_the_original(left_alone: Target, attach: Attach) -> None:
    client = attach(left_alone, 17)
    client.weaver = mark
    (base,) = client.ids("Subject$Base")
    client.weave(base)
    client.weaver = lambda question: question.data.replace(b"plain!", b"other!")
    client.weave(base)
    assert client.order(left_alone, "base") == "Base says other!"
    assert client.asked[0].data == client.asked[1].data
    client.weaver = lambda question: None
    client.weave(base)
    assert client.order(left_alone, "base") == "Base says plain!"
    assert client.restore().woven == 0


def test_a_class_that_the_jvm_refuses_is_reported_alone(left_alone: Target, attach: Attach) -> None:
    client = attach(left_alone, 17)

    def weave(question: ClassBytes) -> bytes:
        if question.name == "Subject$Base":
            return question.data.replace(b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf")
        return mark(question)

    client.weaver = weave
    base, derived = client.ids("Subject$Base", "Subject$Derived")
    result = client.weave(base, derived)
    assert [failure.class_id for failure in result.failures] == [base]
    assert "ClassFormatError" in result.failures[0].error
    assert client.order(left_alone, "base") == "Base says plain!"
    assert client.order(left_alone, "derived") == "Derived says woven!"
    assert client.restore().restored == 1


def counted_prewoven(data: bytes, class_id: int, slot: int) -> tuple[PrewovenMethods, bytes]:
    """A call at the entry of all methods, prewoven into the bytes that the JVM shows, and the expected class file."""
    file = ClassFile.parse(data)
    fire = Handler("java/lang/Math", "abs", "(I)I")  # any static method
    plan = ClassPlan(
        file.name,
        tuple(
            MethodPlan(method.name, method.descriptor, (), (FrameLocal(0, fire, ()),))
            for method in file.methods
            if method.code is not None
        ),
    )
    prewoven = prewoven_methods(class_id, file, weave_methods(file, plan, slot << 24 | 1), (), names_lost=True)
    class_bytes = weave(file, plan, slot << 24 | 1).data
    assert prewoven is not None
    assert class_bytes is not None
    return prewoven, class_bytes


@all_jdks
def test_prewoven_methods_take_their_places_without_a_question(jdk: int, left_alone: Target, attach: Attach) -> None:
    client, witness = attach(left_alone, jdk), attach(left_alone, jdk)
    (base,) = client.ids("Subject$Base")
    client.weave(base)  # the answer is the bytes that the JVM shows, unchanged
    prewoven, class_bytes = counted_prewoven(client.asked[0].data, base, client.slot)
    witness.weaver = lambda question: question.data
    witness.weave(*witness.ids("Subject$Base"))  # from now on the witness sees the code of the client
    with Serving(witness):
        result = client.weave(base, prewoven=(prewoven,))
    assert (result.failures, result.waited_ns, len(client.asked)) == ((), 0, 1)
    assert [class_.data == class_bytes for class_ in witness.asked] == [False, True]
    assert answer(left_alone, "base") == "Base says plain!"


@pytest.mark.parametrize(
    "change",
    [
        *("version", "constant", "longer", "endless", "flags", "code", "sum", "shorter", "name", "twice", "no code"),
    ],
)
def test_the_agent_asks_when_methods_were_prewoven_into_other_code(
    left_alone: Target, attach: Attach, change: str
) -> None:
    client = attach(left_alone, 17)
    (base,) = client.ids("Subject$Base")
    client.weave(base)
    prewoven, _ = counted_prewoven(client.asked[0].data, base, client.slot)
    first = prewoven.methods[0]
    beginning = client.asked[0].data[4 : ClassFile.parse(client.asked[0].data).pool_end]

    def method(**changes: Any) -> PrewovenMethods:
        return replace(prewoven, methods=(first._replace(**changes), *prewoven.methods[1:]))

    wrong = {
        "version": replace(prewoven, beginning=fingerprint(b"\1" + beginning[1:])),
        "constant": replace(prewoven, beginning=fingerprint(beginning[:-1] + bytes((beginning[-1] ^ 1,)))),
        "longer": replace(prewoven, beginning=prewoven.beginning[:8] + (1 << 16).to_bytes(4)),
        "endless": replace(prewoven, beginning=prewoven.beginning[:8] + (0x7FFFFFFF).to_bytes(4)),
        "flags": method(flags=first.flags ^ 1),
        "code": method(shown=bytes((first.shown[0] ^ 1,)) + first.shown[1:]),
        "sum": method(shown=first.shown[:4] + bytes((first.shown[4] ^ 1,)) + first.shown[5:]),
        "shorter": method(shown=first.shown[:8] + (int.from_bytes(first.shown[8:]) - 1).to_bytes(4)),
        "name": method(name=first.name + 1),
        "twice": replace(prewoven, methods=(*prewoven.methods, first)),
        "no code": replace(prewoven, code_name=prewoven.code_name + 1),
    }[change]
    client.weaver = mark
    assert client.weave(base, prewoven=(wrong,)).failures == ()
    assert len(client.asked) == 2
    assert client.order(left_alone, "base") == "Base says woven!"
    client.weave(base)  # the prewoven methods are for one retransformation
    assert len(client.asked) == 3
    client.detach()


def test_an_answer_for_other_bytes_is_refused(left_alone: Target, attach: Attach) -> None:
    client = attach(left_alone, 17)
    client.send(Weave(99, client.ids("Subject$Base")))
    question = client.expect(ClassBytes)
    other = fingerprint(question.data + b"\0")
    client.send(Woven(question.request, other, Verdict.WOVEN, (), (), mark(question)))
    assert "was not made from the bytes of Subject$Base" in client.last_words()
    agent_threads_end(left_alone)
    assert answer(left_alone, "base") == "Base says plain!"


def test_nothing_is_woven_after_restoring(left_alone: Target, attach: Attach) -> None:
    answer(left_alone, "renew")
    client = attach(left_alone, 17)
    client.weaver = mark
    (base,) = client.ids("Subject$Base")
    client.restore()
    assert len(client.weave(base).failures) == 1
    client.watch(Pattern(ClassPatternKind.EXACT, "Subject$Later"))
    assert client.order(left_alone, "make Subject$Later") == "Later says plain!"
    assert client.order(left_alone, "base") == "Base says plain!"


@all_jdks
def test_classes_are_woven_while_they_are_loaded(
    jdk: int, subject: Subject, attach: Attach, subject_classes: Path
) -> None:
    with subject(jdk) as program:
        client = attach(program, jdk)
        client.weaver = mark
        client.watch(
            Pattern(ClassPatternKind.EXACT, "Subject$Later"), Pattern(ClassPatternKind.ANNOTATED, "java.lang.Depr*")
        )
        assert client.order(program, "make Subject$Later") == "Later says woven!"
        assert client.order(program, "make Subject$Marked") == "Marked says woven!"
        later = next(class_ for class_ in client.asked if class_.name == "Subject$Later")
        assert later.class_id == 0
        assert later.data == (subject_classes / "Subject$Later.class").read_bytes()
        assert client.expect(Late).outcome is LateOutcome.WOVEN
        receipt = client.restore()
        assert (receipt.woven, receipt.restored, receipt.not_restored) == (2, 2, ())
        assert client.order(program, "make Subject$Later") == "Later says plain!"


def test_the_agent_asks_about_loading_classes_with_the_required_contents(left_alone: Target, attach: Attach) -> None:
    answer(left_alone, "renew")
    client = attach(left_alone, 17)
    client.weaver = mark
    says = b"\x01\x00\x11Later says plain!"
    client.watch(Pattern(ClassPatternKind.GLOB, "Subject**", (says,)))
    assert client.order(left_alone, "make Subject$Marked") == "Marked says plain!"
    assert client.order(left_alone, "make Subject$Later") == "Later says woven!"
    assert [class_.name for class_ in client.asked] == ["Subject$Later"]


@all_jdks
def test_a_subtype_is_found_in_any_order_of_loading(jdk: int, subject: Subject, attach: Attach) -> None:
    with subject(jdk) as program:
        client = attach(program, jdk)
        client.weaver = mark
        client.watch(Pattern(ClassPatternKind.SUBTYPE, "Subject$Greeting"))
        client.order(program, "make Subject$Late")
        names = {client.expect(Late).class_name, client.expect(Late).class_name}
        assert names == {"Subject$Late", "Subject$LateBase"}
        assert client.order(program, "make Subject$Late") == "Late says woven!"
        assert {class_.name for class_ in client.asked} == names
        receipt = client.restore()
        assert (receipt.woven, receipt.restored) == (2, 2)


def test_a_class_that_misses_the_deadline_is_loaded_as_it_is_and_woven_afterwards(
    left_alone: Target, attach: Attach
) -> None:
    answer(left_alone, "renew")
    client = attach(left_alone, 17, deadline_ms=200)
    client.weaver = mark
    client.watch(Pattern(ClassPatternKind.EXACT, "Subject$Later"))
    assert answer(left_alone, "make Subject$Later") == "Later says plain!"
    late = client.expect(Late)
    assert (late.class_name, late.outcome) == ("Subject$Later", LateOutcome.MISSED_DEADLINE)
    assert [class_.class_id == 0 for class_ in client.asked] == [True, False]
    assert client.order(left_alone, "make Subject$Later") == "Later says woven!"
    assert client.restore().restored == 1


def test_after_a_missed_deadline_no_thread_waits_until_the_client_answers_again(
    subject: Subject, attach: Attach
) -> None:
    """The client does not answer, as if it were stopped. Without this limit the application would wait again for each
    of its classes.
    """
    with subject(17) as program:
        client = attach(program, 17, deadline_ms=200)
        client.weaver = mark
        client.watch(Pattern(ClassPatternKind.GLOB, "Subject$*"))
        for name in ("Later", "Marked"):
            assert answer(program, f"make Subject${name}") == f"{name} says plain!"
        late = {client.expect(Late).class_name, client.expect(Late).class_name}
        assert late == {"Subject$Later", "Subject$Marked"}
        questions = [(class_.name, class_.class_id == 0) for class_ in client.asked]
        assert questions[0] == ("Subject$Later", True)
        assert ("Subject$Marked", True) not in questions
        assert client.order(program, "make Subject$Late") == "Late says woven!"
        assert client.restore().not_restored == ()


def test_missed_classes_are_chosen_by_their_content(subject: Subject, attach: Attach) -> None:
    """No question is asked about the second class, so the agent searches for it and reads its class file."""
    with subject(17) as program:
        client = attach(program, 17, deadline_ms=200)
        client.weaver = mark
        texts = [f"{name} says plain!".encode() for name in ("Later", "Marked")]
        constants = [b"\x01" + len(text).to_bytes(2) + text for text in texts]
        client.watch(*(Pattern(ClassPatternKind.GLOB, "Subject$*", (constant,)) for constant in constants))
        for name in ("Later", "Marked", "Late"):
            assert answer(program, f"make Subject${name}") == f"{name} says plain!"
        late = {client.expect(Late).class_name, client.expect(Late).class_name}
        assert late == {"Subject$Later", "Subject$Marked"}
        until = time.monotonic() + 2
        client.serve_until(lambda: time.monotonic() > until)
        assert {class_.name for class_ in client.asked} == late
        assert client.order(program, "make Subject$Marked") == "Marked says woven!"
        assert client.restore().not_restored == ()


def test_a_class_that_misses_the_deadline_and_is_not_wanted_is_left_alone(left_alone: Target, attach: Attach) -> None:
    answer(left_alone, "renew")
    client = attach(left_alone, 17, deadline_ms=200)
    client.watch(Pattern(ClassPatternKind.EXACT, "Subject$Later"))
    assert answer(left_alone, "make Subject$Later") == "Later says plain!"
    until = time.monotonic() + 2
    client.serve_until(lambda: time.monotonic() > until)
    assert [class_.class_id for class_ in client.asked] == [0]
    assert client.restore().woven == 0


@all_jdks
def test_the_interrupt_of_a_loading_thread_is_kept(jdk: int, left_alone: Target, attach: Attach) -> None:
    answer(left_alone, "renew")
    client = attach(left_alone, jdk)
    client.weaver = mark
    client.watch(Pattern(ClassPatternKind.EXACT, "Subject$Later"))
    assert client.order(left_alone, "make-interrupted Subject$Later") == "Later says woven! true"
    assert client.order(left_alone, "base") == "Base says plain!"
    client.send(Ping(7))
    client.restore()


def test_a_loader_that_does_not_see_the_run_time_is_refused(left_alone: Target, attach: Attach) -> None:
    client = attach(left_alone, 17)
    client.weaver = mark
    client.watch(Pattern(ClassPatternKind.EXACT, "Subject$Later"))
    assert client.order(left_alone, "make-on-island Subject$Later") == "Later says plain!"
    late = client.expect(Late)
    assert late.outcome is LateOutcome.REFUSED
    assert late.loader.startswith("Subject$Island@")
    assert client.asked == []


def test_large_sets_are_woven_in_batches(left_alone: Target, attach: Attach) -> None:
    client = attach(left_alone, 17)
    client.weaver = lambda question: question.data
    classes = client.search(ClassPatternKind.GLOB, "java.util.*", 100)
    ids = [class_.id for class_ in classes.classes if class_.modifiable]
    assert len(ids) > 50
    result = client.weave(*ids)
    assert result.failures == ()
    assert 1 < result.batches < len(ids)
    receipt = client.restore()
    assert (receipt.woven, receipt.restored, receipt.not_restored) == (len(ids), len(ids), ())


@all_jdks
def test_classes_that_the_agent_needs_can_be_woven_and_watched(jdk: int, subject: Subject, attach: Attach) -> None:
    with subject(jdk) as program:
        client = attach(program, jdk, deadline_ms=int(PATIENCE * 1000))
        client.weaver = lambda question: question.data
        names = [
            "java.lang.String",
            "java.lang.Thread",
            "java.lang.Class",
            "java.lang.ClassLoader",
            "java.util.HashMap",
            "java.util.concurrent.ConcurrentHashMap",
            "java.nio.ByteBuffer",
        ]
        assert client.weave(*client.ids(*names)).failures == ()
        client.watch(Pattern(ClassPatternKind.GLOB, "**"))
        assert client.order(program, "make Subject$Late") == "Late says plain!"
        assert client.order(program, "make java.util.concurrent.Phaser").startswith("java.util.concurrent.Phaser@")
        assert {"Subject$Late", "java.util.concurrent.Phaser"} <= {class_.name for class_ in client.asked}
        receipt = client.restore()
        assert receipt.not_restored == ()
        assert receipt.restored == receipt.woven
        assert not [message for message in client.unasked if isinstance(message, Trouble)]
