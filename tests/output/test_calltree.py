"""Call trees as text, exactly."""

from __future__ import annotations

from btpy.events.calltree import Call
from btpy.output.calltree import tree_json, tree_lines
from btpy.output.style import Style

TREE = Call(
    "com.acme.OrderService",
    "place",
    0,
    end=40_000_000,
    took=30_000_000,
    failed="com.acme.Refused",
    children=(
        Call("com.acme.Basket", "lines", 31, 10_100_000, 50_000),
        Call(
            "com.acme.Prices",
            "quote",
            32,
            35_000_000,
            24_000_000,
            children=(
                Call("com.acme.Catalog$Part", "find", 18, 20_000_000, 9_000_000),
                Call("com.acme.Catalog$Part", "find", 18, 34_000_000, 12_000_000),
            ),
        ),
        Call("com.acme.Basket", "size\x1b[2J", 33, 36_000_000, 40_000),
        Call("com.acme.Pay", "charge", 36, 39_000_000, 3_000_000, failed="com.acme.Refused"),
    ),
)


def test_a_tree() -> None:
    assert tree_lines(TREE, "http-3", Style()) == [
        "OrderService.place  30ms  http-3  threw com.acme.Refused",
        "├─     24ms  80%  Prices.quote:32",
        "│  ├─     21ms  70%  Part.find:18  ×2",
        "│  └─      3ms  10%  own code",
        "├─      3ms  10%  Pay.charge:36  threw com.acme.Refused",
        "├─     90us   0%  … 2 more calls",
        "└─   2.91ms  10%  own code",
    ]


def test_everything_in_ascii() -> None:
    lines = tree_lines(TREE, "http-3", Style(unicode=False), least=0)
    assert lines[1] == "|-     50us   0%  Basket.lines:31"
    assert lines[3:5] == ["|  |-     21ms  70%  Part.find:18  x2", "|  `-      3ms  10%  own code"]
    assert lines[5] == "|-     40us   0%  Basket.size\\e[2J:33"
    assert all(line.isascii() for line in lines)


def test_only_the_longest_of_many_are_shown() -> None:
    many = tuple(Call("D", f"m{at}", at, 1000 + at, 100 + at) for at in range(20))
    lines = tree_lines(Call("C", "root", 0, 10_000, 5_000, children=many), "main", Style())
    assert len(lines) == 1 + 12 + 2
    assert lines[1].endswith("D.m8:8")
    assert "8 more calls" in lines[-2]


def test_json_holds_the_whole_tree() -> None:
    tree = tree_json(TREE)
    assert (tree["class"], tree["took"], tree["own"], tree["line"]) == (
        "com.acme.OrderService",
        30_000_000,
        2_910_000,
        None,
    )
    assert [call["method"] for call in tree["calls"][1]["calls"]] == ["find", "find"]
