from __future__ import annotations

from pathlib import Path

import pytest

from btpy.model.patterns import ClassPattern, ClassPatternKind
from btpy.wire.messages import Classes, ClassFiles, LoadedRefusal, Read
from tests.agent.conftest import Attach, Subject
from tests.jdks import all_jdks
from tests.targets import Target


def names(answer: Classes) -> set[str]:
    return {class_.name for class_ in answer.classes}


@all_jdks
def test_every_kind_of_pattern(jdk: int, subject: Subject, attach: Attach) -> None:
    with subject(jdk) as program:
        client = attach(program, jdk)
        assert client.order(program, "make Subject$Marked") == "Marked says plain!"
        assert names(client.search(ClassPatternKind.EXACT, "Subject$Base")) == {"Subject$Base"}
        assert names(client.search(ClassPatternKind.SIMPLE_NAME, "Derived")) == {"Subject$Derived"}
        assert names(client.search(ClassPatternKind.GLOB, "Subject$*er?ved")) == {"Subject$Derived"}
        assert names(client.search(ClassPatternKind.REGEX, r"Subject(\$[BD]\w+)?")) == {
            "Subject",
            "Subject$Base",
            "Subject$Derived",
        }
        family = {"Subject$Greeting", "Subject$Base", "Subject$Derived"}
        assert names(client.search(ClassPatternKind.SUBTYPE, "Subject$Greeting")) == family
        assert names(client.search(ClassPatternKind.SUBTYPE_SIMPLE_NAME, "Greeting")) == family
        assert "Subject$Marked" in names(client.search(ClassPatternKind.ANNOTATED, "java.lang.Deprecated"))
        assert "Subject$Base" not in names(client.search(ClassPatternKind.ANNOTATED, "java.lang.Deprecated"))
        assert "Subject$Marked" in names(client.search(ClassPatternKind.ANNOTATED, "**.Depre*"))
        assert client.asked == [], "searching must not retransform"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ClassPatternKind.GLOB, "java.util.*"),
        (ClassPatternKind.GLOB, "java.**.*Map"),
        (ClassPatternKind.GLOB, "**.*e*$*"),
        (ClassPatternKind.GLOB, "**$?"),
        (ClassPatternKind.GLOB, "*.*.*"),
        (ClassPatternKind.GLOB, "**a**e**"),
        (ClassPatternKind.GLOB, "java.*****.***Map"),
        (ClassPatternKind.GLOB, "java.*.*t*e*"),
        (ClassPatternKind.GLOB, "jav?.util.**"),
        (ClassPatternKind.GLOB, "*"),
        (ClassPatternKind.SIMPLE_NAME, "Node"),
        (ClassPatternKind.SIMPLE_NAME, "Entry"),
        (ClassPatternKind.SIMPLE_NAME, "Arrays"),
        (ClassPatternKind.REGEX, r"java\.util\.[A-M]\w*"),
    ],
)
def test_names_match_in_the_agent_as_they_do_in_the_client(
    shared_subject: Target, attach: Attach, kind: ClassPatternKind, text: str
) -> None:
    client = attach(shared_subject, 17)
    everything = client.search(ClassPatternKind.GLOB, "**", 100_000)
    assert everything.matched > 400
    expected = {class_.name for class_ in everything.classes if ClassPattern(kind, text).matches(class_.name)}
    assert expected
    classes = client.search(ClassPatternKind(kind), text, 100_000)
    assert names(classes) & names(everything) == expected


SAYS = b"\x01\x00\x13Derived says plain!"  # a Utf8 constant: its tag, its length


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ClassPatternKind.GLOB, "**"),
        (ClassPatternKind.REGEX, "Subject.*"),
        (ClassPatternKind.SUBTYPE, "Subject$Greeting"),
        (ClassPatternKind.EXACT, "Subject$Derived"),
    ],
)
def test_search_by_contents_of_the_class_file(
    shared_subject: Target, attach: Attach, kind: ClassPatternKind, text: str
) -> None:
    client = attach(shared_subject, 17)

    def holding(*constants: bytes) -> set[str]:
        """Leaves out the classes without a class file, such as lambdas: only the JVM has their bytes."""
        answer = client.search(kind, text, 100_000, constants=constants)
        return {class_.name for class_ in answer.classes if class_.modifiable and "Lambda" not in class_.name}

    assert holding(SAYS) == {"Subject$Derived"}
    assert holding(SAYS, b"\x01\x00\x06<init>") == {"Subject$Derived"}
    assert holding(SAYS, b"\x01\x00\x06<clone>") == set()
    assert holding(SAYS[:2] + b"\x12" + SAYS[3:]) == set()
    assert client.asked == [], "searching must not retransform"


def test_classes_that_a_search_has_seen_are_left_out_of_the_next(subject: Subject, attach: Attach) -> None:
    with subject(17) as program:
        client = attach(program, 17)
        first = client.search(ClassPatternKind.GLOB, "Subject**")
        client.order(program, "make Subject$Later")
        second = client.search(ClassPatternKind.GLOB, "**", since=first.request)
        assert "Subject$Later" in names(second)
        assert not names(second) & names(first)
        assert names(client.search(ClassPatternKind.GLOB, "Subject**", since=first.request)) == {
            "Subject$Later"
        } | names(first), "the search before was another one"


def test_description_of_a_class(shared_subject: Target, attach: Attach) -> None:
    client = attach(shared_subject, 17)
    (derived,) = client.search(ClassPatternKind.EXACT, "Subject$Derived").classes
    assert derived.superclass == "Subject$Base"
    assert derived.loader == "app"
    assert derived.code_source.startswith("file:")
    assert derived.modifiable
    assert derived.refusal is LoadedRefusal.NONE
    (base,) = client.search(ClassPatternKind.EXACT, "Subject$Base").classes
    assert base.interfaces == ("Subject$Greeting",)
    (string,) = client.search(ClassPatternKind.EXACT, "java.lang.String").classes
    assert string.loader == "boot"
    assert string.access_flags & 0x11 == 0x11  # public final
    assert client.ids("Subject$Derived") == (derived.id,), "ids are stable"


def test_a_class_whose_loader_does_not_see_the_run_time_is_refused(subject: Subject, attach: Attach) -> None:
    with subject(17) as program:
        client = attach(program, 17)
        client.order(program, "make-on-island Subject$Later")
        (later,) = client.search(ClassPatternKind.EXACT, "Subject$Later").classes
        assert later.loader.startswith("Subject$Island@")
        assert later.refusal is LoadedRefusal.LOADER


def test_hidden_classes_are_unmodifiable(subject: Subject, attach: Attach) -> None:
    with subject(17) as program:
        client = attach(program, 17)
        hidden = client.search(ClassPatternKind.REGEX, r"Subject\$\$Lambda.*").classes
        assert hidden
        assert all(class_.refusal is LoadedRefusal.UNMODIFIABLE and not class_.modifiable for class_ in hidden)
        failures = client.weave(hidden[0].id).failures
        assert [failure.class_id for failure in failures] == [hidden[0].id]


def test_results_are_limited_and_counted(shared_subject: Target, attach: Attach) -> None:
    client = attach(shared_subject, 17)
    answer = client.search(ClassPatternKind.GLOB, "Subject**", 2)
    assert len(answer.classes) == 2
    assert answer.matched >= 4
    assert answer.loaded > answer.matched


def test_a_regular_expression_that_explodes_does_not_hold_anything_up(subject: Subject, attach: Attach) -> None:
    with subject(17) as program:
        client = attach(program, 17)
        assert client.search(ClassPatternKind.REGEX, "(([a-zA-Z.$]+)+)+!").matched == 0
        assert client.search(ClassPatternKind.EXACT, "Subject").matched == 1


@all_jdks
def test_class_files_are_read_from_resources(jdk: int, subject: Subject, attach: Attach, subject_classes: Path) -> None:
    with subject(jdk) as program:
        client = attach(program, jdk)
        ids = client.ids("Subject$Base", "java.lang.String")
        files = client.call(ClassFiles, lambda request: Read(request, ids)).files
        assert [file.class_id for file in files] == list(ids)
        assert files[0].data == (subject_classes / "Subject$Base.class").read_bytes()
        assert files[1].data.startswith(b"\xca\xfe\xba\xbe")
        assert client.asked == []
