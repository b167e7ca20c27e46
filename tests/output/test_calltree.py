"""Call trees as text, exactly."""

from __future__ import annotations

from dataclasses import replace

from btpy.events.calltree import Call, MergedCalls, MergedTrees
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


def merged(*calls: Call) -> MergedCalls:
    trees = MergedTrees()
    for call in calls:
        trees.add(call)
    (root,) = trees.roots
    return root


def test_a_tree_of_two_calls() -> None:
    assert tree_lines(merged(TREE, TREE), Style()) == [
        "OrderService.place  2 calls  p50 30ms  p99 30ms  max 30ms  2 threw com.acme.Refused",
        "├─  80%  p50    24ms  p99    24ms  Prices.quote  called in line 32  ×2",
        "│  ├─  70%  p50     9ms  p99    12ms  Part.find  called in line 18  ×4",
        "│  └─  10%  own code",
        "├─  10%  p50     3ms  p99     3ms  Pay.charge  called in line 36  ×2  2 threw com.acme.Refused",
        "├─   0%  … 4 more calls",
        "└─  10%  own code",
    ]


def test_shares_are_of_the_calls_since_the_calls_below_were_timed() -> None:
    """The first of three calls came before the methods below `quote` had probes, so its time does not count as own
    time.
    """
    quote = TREE.children[1]
    before = replace(TREE, children=(replace(quote, children=()),))
    after = replace(TREE, children=(quote,))
    assert tree_lines(merged(before, after, after), Style())[1:4] == [
        "├─  80%  p50    24ms  p99    24ms  Prices.quote  called in line 32  ×3",
        "│  ├─  70%  p50     9ms  p99    12ms  Part.find  called in line 18  ×4",
        "│  └─  10%  own code",
    ]


def test_everything_in_ascii() -> None:
    lines = tree_lines(merged(TREE), Style(unicode=False), least=0)
    assert lines[1] == "|-   0%  p50    50us  p99    50us  Basket.lines  called in line 31  x1"
    assert lines[4] == "|  `-  10%  own code"
    assert lines[5] == "|-   0%  p50    40us  p99    40us  Basket.size\\e[2J  called in line 33  x1"
    assert all(line.isascii() for line in lines)


def test_only_the_longest_of_many_are_shown() -> None:
    many = tuple(Call("D", f"m{at}", at, 1000 + at, 100 + at) for at in range(20))
    lines = tree_lines(merged(Call("C", "root", 0, 10_000, 5_000, children=many)), Style())
    assert len(lines) == 1 + 12 + 2
    assert "D.m8  called in line 8" in lines[1]
    assert "8 more calls" in lines[-2]


def test_tasks_of_other_threads_stand_below_the_calls() -> None:
    def task(thread: str, took: int, critical: int) -> Call:
        call = Call("com.acme.Catalog", "find", 7, 30_000_000, took - 1_000_000)
        return Call("", thread, 34, 31_000_000, took, children=(call,), waited=2_000_000, critical=critical)

    tasks = (task("orders-1", 12_000_000, 12_000_000), task("orders-2", 9_000_000, 0), task("audit", 3_000_000, 40_000))
    lines = tree_lines(merged(replace(TREE, children=TREE.children[2:3], tasks=tasks)), Style())
    lines[-3], beside = lines[-3].rsplit("  ", 1)
    assert beside == "not critical"
    assert lines[2:] == [
        "├─ 100%  own code",
        "├─  70%  p50     9ms  p99    12ms  on orders  waited p50 2ms  p99 2ms  handed over in line 34  ×2",
        "│  ├─  63%  p50     8ms  p99    11ms  Catalog.find  called in line 7  ×2",
        "│  └─   7%  own code",
        "└─  10%  p50     3ms  p99     3ms  on audit  waited p50 2ms  p99 2ms  handed over in line 34  ×1",
        "   ├─   7%  p50     2ms  p99     2ms  Catalog.find  called in line 7  ×1",
        "   └─   3%  own code",
    ]


def test_json_holds_the_whole_tree() -> None:
    tree = tree_json(TREE)
    assert (tree["class"], tree["took"], tree["own"], tree["line"]) == (
        "com.acme.OrderService",
        30_000_000,
        2_910_000,
        None,
    )
    assert [call["method"] for call in tree["calls"][1]["calls"]] == ["find", "find"]
