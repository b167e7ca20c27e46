from __future__ import annotations

import pytest

from btpy.errors import UsageError
from btpy.model.patterns import (
    ClassPattern,
    ClassPatternKind,
    MethodPattern,
    SignaturePattern,
    class_patterns,
    java_type,
    simple_name,
)
from btpy.plan.hierarchy import Hierarchy


def matches(text: str, name: str, **facts: list[str]) -> bool:
    return any(pattern.matches(name, **facts) for pattern in class_patterns(text))


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("com.acme.Foo", "com.acme.Foo", True),
        ("com.acme.Foo", "com.acme.Foo2", False),
        ("com.acme.Foo", "com.acme.foo.Foo", False),
        ("com.acme.Outer.Inner", "com.acme.Outer$Inner", True),
        ("com.acme.Outer$Inner", "com.acme.Outer$Inner", True),
        ("com.acme.Outer$Inner", "com.acme.Outer.Inner", False),
        ("a.B.C.D", "a.B$C$D", True),
        ("Foo", "com.acme.Foo", True),
        ("Foo", "Foo", True),
        ("Foo", "com.acme.Outer$Foo", True),
        ("Foo", "com.acme.FooBar", False),
        ("com.acme.*", "com.acme.Foo", True),
        ("com.acme.*", "com.acme.sub.Foo", False),
        ("com.acme.**", "com.acme.sub.deep.Foo", True),
        ("com.acme.**", "com.acmeX.Foo", False),
        ("com.acme.Fo?", "com.acme.Foo", True),
        ("com.acme.Fo?", "com.acme.Fo.", False),
        ("Order*", "com.acme.OrderService", True),
        ("Order*", "OrderService", True),
        ("Order*", "com.order.Service", False),
        ("**", "com.acme.Foo", True),
        ("/com\\.(acme|x)\\..*/", "com.x.Foo", True),
        ("/com\\.(acme|x)\\..*/", "com.y.Foo", False),
        ("com.acme.F$o*", "com.acme.F$oo", True),
    ],
)
def test_class_patterns_by_name(text: str, name: str, expected: bool) -> None:
    assert matches(text, name) is expected


def test_a_subtype_pattern_matches_the_type_itself_and_its_subtypes_only() -> None:
    assert matches("+java.sql.Statement", "java.sql.Statement")
    assert matches("+java.sql.Statement", "org.h2.JdbcStatement", ancestors=["java.lang.Object", "java.sql.Statement"])
    assert not matches("+java.sql.Statement", "org.h2.JdbcConnection", ancestors=["java.lang.Object"])
    assert matches("+Statement", "org.h2.JdbcStatement", ancestors=["java.sql.Statement"])
    assert matches("+java.util.Map.Entry", "a.E", ancestors=["java.util.Map$Entry"])


def test_an_annotation_pattern_takes_globs_and_simple_names() -> None:
    annotations = ["org.springframework.web.bind.annotation.RestController"]
    assert matches("@org.springframework.**", "a.C", annotations=annotations)
    assert matches("@RestController", "a.C", annotations=annotations)
    assert not matches("@Controller", "a.C", annotations=annotations)


def test_a_regular_expression_that_does_not_compile_is_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match="does not compile"):
        class_patterns("/com.(acme/")


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("*", "anything", True),
        ("*", "<init>", True),
        ("place", "place", True),
        ("place", "placed", False),
        ("get*", "getName", True),
        ("g?t", "get", True),
        ("/execute(Query|Update)?/", "execute", True),
        ("/execute(Query|Update)?/", "executeBatch", False),
        ("lambda$a*", "lambda$a$0", True),
    ],
)
def test_method_patterns(text: str, name: str, expected: bool) -> None:
    assert MethodPattern(text).matches(name) is expected


def test_a_method_annotation_pattern() -> None:
    pattern = MethodPattern("@org.springframework.web.bind.annotation.*Mapping")
    assert pattern.matches("list", ["org.springframework.web.bind.annotation.GetMapping"])
    assert not pattern.matches("list", ["java.lang.Deprecated"])


@pytest.mark.parametrize(
    ("text", "parameters", "returns", "expected"),
    [
        ("int (java.lang.String, *)", ("java.lang.String", "long"), "int", True),
        ("int (String, *)", ("java.lang.String", "long"), "int", True),
        ("int (String, *)", ("java.lang.String",), "int", False),
        ("void (String, *)", ("java.lang.String", "long"), "int", False),
        ("* (..)", ("int", "int"), "void", True),
        ("* ()", (), "void", True),
        ("!void (..)", ("int",), "int", True),
        ("!void (..)", (), "void", False),
        ("!String (*)", ("int",), "java.lang.String", False),
        ("* ()", ("int",), "void", False),
        ("* (byte[])", ("byte[]",), "int", True),
        ("* (byte[])", ("byte",), "int", False),
        ("* (Map.Entry, ..)", ("java.util.Map$Entry", "int"), "int", True),
        ("* (Entry)", ("java.util.Map$Entry",), "int", True),
        ("* (List<String>)", ("java.util.List",), "int", True),
    ],
)
def test_signature_patterns(text: str, parameters: tuple[str, ...], returns: str, expected: bool) -> None:
    assert SignaturePattern.parse(text).matches(parameters, returns) is expected


def test_a_signature_without_parentheses_is_refused() -> None:
    with pytest.raises(UsageError, match="not a method type"):
        SignaturePattern.parse("int")


def test_java_spelling_of_descriptors() -> None:
    assert java_type("[[Ljava/lang/String;") == "java.lang.String[][]"
    assert java_type("I") == "int"
    assert java_type("V") == "void"


def test_simple_names() -> None:
    assert simple_name("com.acme.Outer$Inner") == "Inner"
    assert simple_name("com.acme.Outer$1") == "Outer$1"
    assert simple_name("Foo") == "Foo"


def test_ancestors_are_transitive_and_survive_cycles() -> None:
    hierarchy = Hierarchy()
    hierarchy.add("C", "B", ["I"])
    hierarchy.add("B", "A", [])
    hierarchy.add("I", "java.lang.Object", ["J"])
    hierarchy.add("J", "", ["I"])
    assert hierarchy.ancestors("C") == {"B", "A", "I", "J", "java.lang.Object"}
    assert hierarchy.ancestors("unknown") == frozenset()


def test_the_kinds_have_the_numbers_of_the_protocol() -> None:
    assert [kind.value for kind in ClassPatternKind] == list(range(7))
    assert ClassPattern(ClassPatternKind.EXACT, "a.B").is_exact
