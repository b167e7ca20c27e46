"""``check --expand`` replaces short forms by long ones, and the program stays the same."""

from __future__ import annotations

import pytest

from btpy.lang.edit.formatter import same_tree
from btpy.lang.link.expansion import expand_source
from btpy.lang.syntax import nodes, parser
from btpy.model.source import Source
from tests.lang.programs import ALL_SCRIPTS


def expanded(text: str) -> str:
    return expand_source(Source("a.bt", text))


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("a.B::c { print(1) }", '@OnMethod(class="a.B", method="c")\n{ print(1) }\n'),
        (
            "a.B::c @exit as slow when duration > 1ms { print(1) }",
            '@OnMethod(class="a.B", method="c", location=EXIT)\nprobe slow\nwhen duration > 1ms { print(1) }\n',
        ),
        (
            "/a\\..*/::d* @call(x.Y::z, when=AFTER) { print(1) }",
            '@OnMethod(class="/a\\..*/", method="d*", '
            'location=CALL(class="x.Y", method="z", when=AFTER))\n{ print(1) }\n',
        ),
        ("a.B::c @line(3..5) { }", '@OnMethod(class="a.B", method="c", location=LINE(3..5))\n{ }\n'),
        ("+a.B::c @throw(a.E) { }", '@OnMethod(class="+a.B", method="c", location=THROW(type="a.E"))\n{ }\n'),
        (
            '@OnMethod(class="A") @Outermost probe m(int x, ..) when x > 1 || x < 0 { }',
            '@OnMethod(class="A")\nprobe m(int x, ..)\nwhen depth == 0 && (x > 1 || x < 0) { }\n',
        ),
        (
            '@OnMethod(class="A", location=EXIT) @Span("a", n=arg0) @Outermost { print(1) }',
            '@OnMethod(class="A", location=EXIT)\nwhen depth == 0 { span("a", n=arg0); print(1) }\n',
        ),
        (
            "a.B::c(long, ..) @call(x.Y::z(int), when=AFTER) { }",
            '@OnMethod(class="a.B", method="c", type="* (long, ..)", '
            'location=CALL(class="x.Y", method="z", when=AFTER, type="* (int)"))\n{ }\n',
        ),
        ('/"a/::b { }', '@OnMethod(class="/\\"a/", method="b")\n{ }\n'),
        ("@OnEnd { print(1) }", "@OnEnd { print(1) }\n"),
    ],
)
def test_short_and_long(short: str, long: str) -> None:
    assert expanded(short) == long


@pytest.mark.parametrize("name", ALL_SCRIPTS)
def test_the_compiler_sees_the_expansion(name: str) -> None:
    items = parser.parse(Source("a", ALL_SCRIPTS[name])).items
    expanded_items = [nodes.expand(item) if isinstance(item, nodes.PointProbe) else item for item in items]
    written = parser.parse(Source("b", expanded(ALL_SCRIPTS[name]))).items
    assert not any(isinstance(node, nodes.PointProbe) for node in written)
    if "@Outermost" not in ALL_SCRIPTS[name]:
        assert same_tree(tuple(expanded_items), written)


def test_comments_stay() -> None:
    assert expanded("// why\na.B::c { print(1) } // there\n") == (
        '// why\n@OnMethod(class="a.B", method="c")\n{ print(1) }  // there\n'
    )
