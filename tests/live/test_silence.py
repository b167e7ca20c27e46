"""btpy reports a probe that can never fire, with the reason. Other tools are silent."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest

from btpy.classfile import opcodes as op
from btpy.classfile.assembler import ClassBuilder, Tracking
from btpy.classfile.jvms import ACC_PUBLIC
from btpy.engine.session import Session
from btpy.errors import NothingMatched, ScriptError
from btpy.events.aggregates import Count
from btpy.model.diagnostics import Diagnostic, Severity
from btpy.plan import diagnose
from tests.jdks import compiled
from tests.live.scripts import JAVA, program, waited
from tests.live.test_companions import asked, counted, stage, without_agent
from tests.targets import PATIENCE, Target, target


@pytest.fixture(scope="module")
def jvm() -> Iterator[Target]:
    with target(17, "Silent", classpath=[compiled([JAVA / "Silent.java"])]) as jvm:
        yield jvm


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """Stage, for the tests that give it guests. At the end, no thread of the agent runs in it."""
    with stage(17, tmp_path_factory.mktemp("stage")) as jvm:
        yield jvm
        waited(partial(without_agent, jvm), "threads of the agent stay")


@pytest.fixture
def empty(host: Target) -> Target:
    """The shared program Stage, with no guest of an earlier test."""
    if "invite" in "".join(host.stdout):
        assert asked(host, "drop") == "gone"
    return host


def complaint(jvm: Target, script: str) -> Diagnostic:
    """Returns the only message about a probe without a place. The probe changes no class."""
    with Session.attach(jvm.pid) as session:
        with pytest.raises((NothingMatched, ScriptError)) as caught:
            session.deployer.load(program(script))
        assert session.departure.detach().woven == 0
    assert isinstance(caught.value, NothingMatched | ScriptError)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def said(diagnostic: Diagnostic) -> str:
    return "\n".join([diagnostic.message, diagnostic.primary.text, *diagnostic.help, *diagnostic.notes])


NEVER = {
    "a header that does not fit": (
        'method="step") probe p(String n) { print(n); }',
        "BT305",
        "the overloads are:  step(int)",
    ),
    "a boxed type": (
        'method="step", location=RETURN) probe p(Integer n) { print(n, duration); }',
        "BT305",
        "`Integer` is not `int`",
    ),
    "an argument too many": ('method="step") { print(arg5); }', "BT112", "it has 1 parameter"),
    "a return with when": ('method="step", location=RETURN(when=AFTER)) { print(1); }', "BT107", "no argument `when`"),
    "a duration at entry": ('method="step", location=ENTRY) { print(duration); }', "BT105", "location=EXIT"),
    "an object before its constructor": (
        'method="<init>", location=CALL(class="java.util.ArrayList", method="<init>")) { print(target); }',
        "BT342",
        "use when=AFTER, or NEW",
    ),
    "self before super": (
        'method="<init>", location=CALL(class="java.lang.String", method="valueOf")) { print(self); }',
        "BT342",
        "before super(…) or this(…) has returned",
    ),
    "a native method": ('method="unavailable") { print(1); }', "BT304", 'CALL(class="Silent", method="unavailable")'),
    "a line of another method": ('method="step", location=LINE(25)) { print(1); }', "BT306", "all its code comes from"),
    "the monitor of the method, before": (
        'method="locked", location=SYNC_ENTER(when=BEFORE)) { print(1); }',
        "BT344",
        "use when=AFTER, or CALL at its call sites",
    ),
    "the wait for the monitor of the method": (
        'method="locked", location=SYNC_ENTER(when=AFTER)) { print(duration); }',
        "BT341",
        "the time of its call sites includes the wait",
    ),
    "a monitor where there is none": ('method="step", location=SYNC_ENTER) { print(lock); }', "BT307", "SYNC_ENTER"),
    "a signature that nothing has": ('method="step", type="void (long)") { print(1); }', "BT305", "step(int)"),
    "an annotation that no method has": ('method="@Traced") { print(1); }', "BT303", '"@Traced"'),
}


@pytest.mark.parametrize("case", NEVER)
def test_a_probe_that_can_never_fire_says_why(case: str, jvm: Target) -> None:
    rest, code, text = NEVER[case]
    result = complaint(jvm, f'@OnMethod(class="Silent", {rest}')
    assert result.code == code
    assert text in said(result)


def test_where_a_constructor_throws_there_is_no_object_to_be_seen(jvm: Target) -> None:
    """The constructor also has a place where it returns; at this place there is an object, and btpy traces it."""
    script = (
        '@OnMethod(class="Silent", method="<init>", location=CALL(class="java.util.ArrayList", method="<init>", '
        "when=AFTER)) { print(target); }"
    )
    with Session.attach(jvm.pid) as session:
        deployment = session.deployer.load(program(script))
        assert deployment.methods == 1
        (refusal,) = deployment.refusals
        assert str(refusal).startswith("a place in Silent.<init>(String) is not traced [BT342]: there is no object")
        session.departure.detach()


def test_an_annotation_that_no_class_has(jvm: Target) -> None:
    result = complaint(jvm, '@OnMethod(class="@com.acme.Traced", method="*") { print(1); }')
    assert result.code == "BT301"
    assert 'for annotations of methods write:  class="*", method="@com.acme.Traced"' in said(result)


def test_the_monitor_of_a_synchronized_method_is_seen(jvm: Target) -> None:
    script = (
        '@OnMethod(class="Silent", method="locked", location=SYNC_ENTER(when=AFTER)) { @n[typeof(lock)] = count(); }'
    )
    with Session.attach(jvm.pid) as session:
        session.deployer.load(program(script))
        for _ in range(7):
            jvm.send("again")
            jvm.wait_for("sum 30")
        (content,) = session.delivery.snapshot()
        assert dict(content.entries) == {("Silent",): Count(7)}
        session.departure.detach()


PAGE = b"SMAP\nguest_jsp.java\nJSP\n*S JSP\n*F\n+ 1 guest.jsp\npages/guest.jsp\n*L\n7#1:101\n101:102\n*E\n"


def page() -> bytes:
    """A class like those that a compiler makes from JSP pages."""
    guest = runnable()
    run = guest.method(ACC_PUBLIC, "run", "()V")
    for line in (101, 102):
        run.line(line)
        run.op(op.NOP)
    run.op(op.RETURN)
    guest.attribute("SourceFile", guest.pool.utf8("guest_jsp.java").to_bytes(2))
    guest.attribute("SourceDebugExtension", PAGE)
    return guest.to_bytes()


def test_lines_of_a_page_map_to_the_lines_of_its_code(empty: Target, tmp_path: Path) -> None:
    (tmp_path / "Guest.class").write_bytes(page())
    asked(empty, f"invite {tmp_path} Guest")
    result = complaint(empty, '@OnMethod(class="Guest", method="run", location=LINE(7)) { @n = count(); }')
    assert result.code == "BT306"
    assert result.help[0] == "code from line 7 of guest.jsp is at  LINE(101)"
    with Session.attach(empty.pid) as session:
        script = '@OnMethod(class="Guest", method="run", location=LINE(101)) { @n = count(); }'
        (warning,) = session.deployer.load(program(script)).warnings
        assert (warning.code, warning.severity) == ("BT309", Severity.WARNING)
        assert warning.primary.text == "101 is line 7 of guest.jsp"
        assert warning.help == ("code from line 101 of guest.jsp is at  LINE(102)",)
        asked(empty, "run 13")
        assert counted(session) == 13
        assert session.departure.detach().clean


def test_lines_of_a_page_loaded_later_are_reported_too(tmp_path: Path) -> None:
    """btpy reports a late class once, even if it is loaded several times or was prewoven. It does not report classes
    loaded before.
    """
    jar = tmp_path / "pages.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("Guest.class", page())
    script = '@OnMethod(class="Guest", method="run", location=LINE(101), pending=true) { @n = count(); }'
    lazy = compiled([JAVA / "Lazy.java"])
    with target(17, "Lazy", str(jar), classpath=[lazy, jar]) as jvm:
        for there in (False, True):
            if there:
                jvm.send("run Guest 1")
                jvm.wait_for("ran ")
            with Session.attach(jvm.pid) as session:
                deployment = session.deployer.load(program(script))
                assert session.deployer.problems == ()
                if not there:
                    session.finish_preweaving(PATIENCE)
                for _ in range(2):
                    jvm.send("apart Guest 13")
                    jvm.wait_for("ran ")
                assert counted(session) == 26
                assert (session.deployer.problems == ()) == there
                (warning,) = (*session.deployer.problems, *deployment.warnings)
                assert (warning.code, warning.severity) == ("BT309", Severity.WARNING)
                assert warning.primary.text == "101 is line 7 of guest.jsp"
                assert session.departure.detach().clean


@pytest.mark.parametrize("there", [False, True], ids=["later", "there"])
@pytest.mark.parametrize(
    ("probe", "code", "text"),
    [
        ('method="run", location=LINE(7)', "BT306", "code from line 7 of guest.jsp is at  LINE(101)"),
        ('method="rnu"', "BT303", "did you mean `run`?"),
    ],
)
def test_a_late_class_that_lacks_the_place_is_reported(
    probe: str, code: str, text: str, there: bool, empty: Target, tmp_path: Path
) -> None:
    (tmp_path / "Guest.class").write_bytes(page())
    script = f'@OnMethod(class="Guest", {probe}, pending=true) {{ @n = count(); }}'
    with Session.attach(empty.pid) as session:
        if there:
            asked(empty, f"invite {tmp_path} Guest")
        warnings = session.deployer.load(program(script)).warnings
        assert len(warnings) == there
        asked(empty, f"invite {tmp_path} Guest")
        asked(empty, "run 3")
        (warning,) = (*warnings, *session.deployer.problems)
        assert warning.code == code
        assert text in warning.help
        assert session.departure.detach().woven == 0


def runnable() -> ClassBuilder:
    """A class that implements Runnable without the method run()."""
    guest = ClassBuilder("Guest", major=52, super_name="java/lang/Object", interfaces=("java/lang/Runnable",))
    plain = guest.method(ACC_PUBLIC, "<init>", "()V")
    plain.local(op.ALOAD, 0)
    plain.invoke(op.INVOKESPECIAL, "java/lang/Object", "<init>", "()V")
    plain.op(op.RETURN)
    return guest


def large(guest: ClassBuilder) -> None:
    run = guest.method(ACC_PUBLIC, "run", "()V", tracking=Tracking.OFF)
    run.limits(0, 1)
    for _ in range(65_531):
        run.op(op.NOP)
    run.op(op.RETURN)


def crowded(guest: ClassBuilder) -> None:
    guest.method(ACC_PUBLIC, "run", "()V").op(op.RETURN)
    guest.to_bytes()  # adds every entry that the class itself needs to the pool
    while guest.pool.count < 65_534:
        guest.pool.integer(1_000_000 + guest.pool.count)


def endless(guest: ClassBuilder) -> None:
    guest.method(ACC_PUBLIC, "run", "()V").op(op.RETURN)
    unusual = guest.method(ACC_PUBLIC, "<init>", "(I)V")
    unusual.op(op.ACONST_NULL)
    unusual.op(op.ATHROW)


@pytest.mark.parametrize(
    ("shape", "probe", "code", "text"),
    [
        (large, 'method="run") {', "BT332", "the code would grow to"),
        (crowded, 'method="run") {', "BT333", "the constant pool is full"),
        (endless, 'method="<init>") probe p(int n) {', "BT335", "without super(…) or this(…)"),
    ],
)
def test_a_method_that_cannot_be_woven_is_named(
    shape: Callable[[ClassBuilder], None], probe: str, code: str, text: str, empty: Target, tmp_path: Path
) -> None:
    guest = runnable()
    shape(guest)
    (tmp_path / "Guest.class").write_bytes(guest.to_bytes())
    asked(empty, f"invite {tmp_path} Guest")
    result = complaint(empty, f'@OnMethod(class="Guest", {probe} @n = count(); }}')
    assert result.code == code
    assert text in said(result)
    asked(empty, "run 3")


def test_nobody_waits_for_names_that_are_like_those_of_waiting_probes(
    jvm: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Libraries have a hundred probes for frameworks that a JVM does not have."""
    patterns: list[str] = []
    nearest = diagnose.nearest_class_names

    def noted(pattern: str, names: Iterable[str]) -> list[str]:
        known = list(names)
        if known:
            patterns.append(pattern)
        return nearest(pattern, known)

    monkeypatch.setattr(diagnose, "nearest_class_names", noted)
    script = '@OnMethod(class="Silentt", method="step", pending=true) { @n = count(); }'
    with Session.attach(jvm.pid) as session:
        session.deployer.load(program(script))
        assert patterns == []
        missing = session.deployer.match(program(script)).missing
        assert patterns == ["Silentt"]
        assert "nearest:  Silent" in said(*missing.values())
