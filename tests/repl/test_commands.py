"""Commands of the prompt on a running program, without a terminal."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from btpy.errors import UsageError
from btpy.repl.actions import ACTIONS
from btpy.repl.commands import COMMANDS, parse
from btpy.repl.help import page
from tests.repl.till import Person, does, person, till
from tests.targets import Target

SELL = "acme.Till::sell @return { @sold[$item] = count(); }"
PRINT = 'acme.Till::sell @entry as seen { print(f"sold {$item} x{$count}"); }'


@pytest.fixture(scope="module")
def shop() -> Iterator[Target]:
    with till() as program:
        yield program


@pytest.fixture
def at(shop: Target) -> Iterator[Person]:
    with person(shop) as someone:
        yield someone


def test_every_command_is_done_and_explained() -> None:
    assert set(ACTIONS) == set(COMMANDS)
    overview = page("")
    for command in COMMANDS.values():
        assert command.usage in overview
        assert command.doc in page(command.name)
        assert not command.example or parse(command.example).command is command


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (":prbes", "did you mean `probes`?"),
        (":enable", "usage: :enable N…"),
        (":ls", "usage: :ls PATTERN"),
        (":sample 1", "example: :sample 2 1/10"),
        (":maps now", "usage: :maps"),
        (":get 1 2", "usage: :get N"),
    ],
)
def test_wrong_entries_are_answered_with_the_remedy(text: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert problem in caught.value.help


def test_help_for_unknown_words() -> None:
    assert "did you mean `hist`?" in page("hits")
    assert page("hist").startswith("hist(value, k=2)")
    assert page("@OnTimer").startswith("@OnTimer(period)")
    assert page("p").startswith(":probes")


def test_a_probe_and_its_map(at: Person, shop: Target) -> None:
    assert re.fullmatch(r"#1 sell · Till.sell RETURN · 1 method · enabled in \d+ ms", at.enter(SELL))
    does(shop, "sell 13")
    assert at.enter("@sold").split("\n") == ["@sold[apple]  5", "@sold[pear]   4", "@sold[plum]   4"]
    assert at.enter("@sold * 2").split("\n")[0] == "[apple]  10"
    assert at.enter('@sold["pear"] + 3') == "7"
    assert at.enter("size(@sold)") == "3"
    assert at.enter(":print @sold top=1").split("\n") == ["@sold[apple]  5", "  … 2 more"]
    assert at.enter(":maps").split("\n")[1].split() == ["@sold", "count", "3", "4", "096", "0"]
    assert "there is no map @sould" in at.enter(":print @sould")
    assert "did you mean `@sold`?" in at.enter("@sould")
    assert at.enter(":clear @sold") == "@sold is empty"
    does(shop, "sell 1")
    assert at.enter("@sold") == "@sold[apple]  1"
    at.enter(":flush @sold")
    at.wait_for(r"^@sold\[apple\]  1$", 2)
    assert at.enter("@sold") == "@sold  (empty)"
    at.enter(":watch @sold")
    assert at.views[-1] == ["@sold  (empty)"]


def test_events_by_number(at: Person, shop: Target) -> None:
    at.enter(PRINT)
    does(shop, "sell 7")
    assert at.wait_for("^#1 sold ", 7) == [f"#1 sold {('apple', 'pear', 'plum')[i % 3]} x{i}" for i in range(7)]
    assert re.fullmatch(r" +6 [\d:.]+ sold plum x5\n +7 [\d:.]+ sold apple x6", at.enter(":last 2"))
    assert at.enter(":grep pear").count("sold pear") == 2
    assert at.enter(":get 3").startswith("sold plum x2\nevent 3 · ")
    assert "acme.Till.sell" in at.enter(":get 3")
    assert "thread main" in at.enter(":get 3")
    assert "event 99 is not kept" in at.enter(":get 99")
    assert "is not a regular expression" in at.enter(":grep (")
    at.enter(":set show off")
    does(shop, "sell 3")
    at.until(lambda: at.repl.feed.recent.seen == 10, "ten events")
    assert len(at.wait_for("^#1 sold ")) == 7


def test_enable_disable_remove(at: Person, shop: Target) -> None:
    at.enter(SELL)
    at.enter(PRINT)
    assert at.enter(":disable 1") == "#1 sell · disabled"
    does(shop, "sell 3")
    at.wait_for("^#2 sold ", 3)
    assert at.enter("@sold") == "@sold  (empty)"
    assert at.enter(":enable *") == "#1 sell · enabled\n#2 seen · enabled"
    does(shop, "sell 2")
    assert at.enter("@sold") == "@sold[apple]  1\n@sold[pear]   1"
    at.wait_for("^#2 sold ", 5)
    assert at.enter(":rm seen") == "#2 seen · taken out · 0 classes put back"
    assert at.enter(":rm 1") == "#1 sell · taken out · 1 class put back"
    assert "no probes are live" in at.enter(":probes")
    assert "there is no probe 1" in at.enter(":enable 1")
    assert at.enter(SELL).startswith("#3 ")


def test_the_table_of_probes(at: Person, shop: Target) -> None:
    at.enter(SELL)
    does(shop, "sell 11")

    def hits() -> str:
        return at.enter(":probes").split("\n")[-1]

    assert re.match(r"1  sell  Till.sell RETURN  on +11 ", hits())
    at.enter(":disable 1")
    assert "  off  " in hits()
    assert at.enter(":show 1").split("\n") == [
        "#1 sell  <repl:1>",
        f"  {SELL}",
        "  in acme.Till.sell",
    ]


def test_edit_swaps_and_a_failing_version_keeps_the_old(at: Person, shop: Target) -> None:
    at.enter(SELL)
    at.edits = lambda text: text.replace("count()", "cuont()")
    answer = at.enter(":edit 1")
    assert "error[BT" in answer
    assert answer.endswith("the new version was rejected: the probe is unchanged")
    does(shop, "sell 2")
    assert at.enter('@sold["apple"] * 1') == "1"
    at.edits = lambda text: text.replace("sell", "nothing")
    assert "has no method `nothing`" in at.enter(":edit 1") or "BT30" in at.enter(":edit 1")
    at.edits = lambda text: text
    assert at.enter(":edit 1") == "unchanged"
    at.edits = lambda text: None
    assert "the editor failed" in at.enter(":edit 1")
    at.edits = lambda text: text.replace("@sold[$item] = count()", "@cents = sum($count)")
    assert at.enter(":edit 1").startswith("#1 sell · Till.sell RETURN · 1 method · enabled")
    does(shop, "sell 5")
    assert at.enter("@cents") == "@cents  10"
    assert "sum($count)" in at.enter(":show 1")


def test_one_of_several_probes_is_edited_sampled_and_saved(at: Person, shop: Target, tmp_path: Path) -> None:
    at.enter(":param least=2")
    at.enter(f"param least: int;\nacme.Till::sell when $count >= least {{ @many = count(); }}\n{SELL}")
    texts: list[str] = []

    def edit(text: str) -> str:
        texts.append(text)
        return text.replace("@many", "@more")

    at.edits = edit
    assert at.enter(":edit 1").startswith("#1 sell · Till.sell ENTRY · 1 method · enabled")
    assert texts == ["acme.Till::sell when $count >= least { @many = count(); }"]
    assert at.enter(":sample 2 1/1") == "#2 fires for every hit"
    does(shop, "sell 7")
    assert at.enter("@more") == "@more  5"
    assert at.enter(":sample 1 1/2") == "#1 sampled 1:2"
    does(shop, "sell 3")
    assert at.enter("size(@sold)") == "3"
    assert re.search(r"^1 .* on 1:2 ", at.enter(":probes"), re.MULTILINE)
    path = tmp_path / "both.bt"
    assert at.enter(f":save {path}") == f"wrote 2 probes to {path}"
    assert path.read_text().count("param least: int = 2;") == 1
    answer = at.enter(f":load {path}").split("\n")
    assert [line.split(" · ")[0] for line in answer] == ["#3 sell_3", "#4 sell_2_2"]
    at.enter(":rm 1 3 4")
    path = tmp_path / "rest.bt"
    assert at.enter(f":save {path}") == f"wrote 1 probe to {path}"
    assert path.read_text() == f"param least: int = 2;\n{SELL}\n"


def test_sample_and_limit(at: Person, shop: Target) -> None:
    at.enter(SELL)
    assert at.enter(":sample 1 1/2") == "#1 sampled 1:2"
    does(shop, "sell 10")
    assert "≈" in at.enter("@sold")
    assert "on 1:2" in at.enter(":probes")
    assert at.enter(":sample sell 1/1") == "#1 fires for every hit"
    assert "is not a sampling rate" in at.enter(":sample 1 10")
    assert at.enter(":limit 1 50/s") == "#1 limited to 50/s"
    assert "on 50/s" in at.enter(":probes")
    assert at.enter(":limit 1 off") == "#1 no longer limited"
    assert "is not a limit" in at.enter(":limit 1 often")


def test_levels(at: Person, shop: Target) -> None:
    at.enter('@OnMethod(class="acme.Till", method="sell") @Level(2) { @deep = count(); }')
    does(shop, "sell 3")
    assert at.enter("@deep") == "@deep  (empty)"
    assert at.enter(":level 2") == "level 2"
    does(shop, "sell 5")
    assert at.enter("@deep") == "@deep  5"


def test_events_that_are_sent(at: Person, shop: Target) -> None:
    at.enter('@OnEvent("tick") { @ticks = count(); }')
    assert at.enter(":send tick") == "sent tick"
    assert at.enter("@ticks") == "@ticks  1"
    assert "did you mean `tick`?" in at.enter(":send tik")


def test_errors_of_a_probe_are_shown_and_change_nothing(at: Person) -> None:
    assert "did you mean `duration`?" in at.enter("acme.Till::sell @return { print(durration); }")
    assert "BT301" in at.enter("acme.Tilt::sell { print(1); }")
    assert "the script has no probe" in at.enter("// nothing")
    assert "no probes are live" in at.enter(":probes")


def test_failures_of_probes(at: Person, shop: Target) -> None:
    assert at.enter(":errors") == "no probe has failed"
    at.enter("acme.Till::sell { @x = sum(100 / $count); }")
    does(shop, "sell 7")
    at.wait_for(r"warning\[div-zero\]")
    at.until(lambda: "div-zero" in at.enter(":errors"), "the error")
    assert "×1" in at.enter(":errors")
    assert at.enter(":lost") == "nothing was lost"


def test_traced_strings_do_not_steer_the_terminal(at: Person, shop: Target) -> None:
    at.enter("acme.Till::refund @throw { print(message(exception)); }")
    does(shop, "refund 2")
    rows = at.wait_for("no refund for", 2)
    assert not any(
        "\x1b" in line for line in [*rows, *at.enter(":last 2").split("\n"), *at.enter(":get 1").split("\n")]
    )


@pytest.mark.parametrize("events", [1999, 29_989])
def test_more_events_than_a_reader_can_follow_are_counted(at: Person, shop: Target, events: int) -> None:
    at.enter(":set rate 5")
    at.enter(PRINT)
    does(shop, f"sell {events}")
    at.until(lambda: at.repl.feed.recent.seen == events, "all events")
    assert at.enter(":lost") == "nothing was lost"
    rows = len(at.wait_for("^#1 sold "))

    def withheld() -> int:
        lines = [line for line in at.seen if "not shown" in line]
        return sum(int(re.sub(r"\D", "", line.partition("+")[2].partition(" of ")[0])) for line in lines)

    at.until(lambda: rows + withheld() == events, "the number of those that were not shown")


def test_a_rare_event_is_seen_beside_a_flood(at: Person, shop: Target) -> None:
    at.enter(":set rate 5")
    at.enter(PRINT)
    at.enter('acme.Till::refund @entry { print("asked"); }')
    for _ in range(3):
        does(shop, "sell 9973")
        does(shop, "refund 1")
    at.wait_for("^#2 asked", 3)


def test_looking_around_touches_nothing(at: Person, shop: Target) -> None:
    assert "sell(String item, int count): Till$Receipt" in at.enter(":ls Till") or "sell(String" in at.enter(":ls Till")
    assert "sell(String" in at.enter("ls acme.Till::se*")
    assert "lines 26-28" in at.enter(":lines acme.Till::sell")
    assert "int cents" in at.enter(":locals acme.Till::sell 28")
    assert "cents" not in at.enter(":locals acme.Till::sell 26")
    assert "is in none of the methods" in at.enter(":locals acme.Till::sell 3000")
    assert "long taken" in at.enter(":cls Till")
    assert "no loaded class matches" in at.enter(":ls Tilt")
    answer = at.enter(":ls Ti::se*")
    assert "Ti::se* is short for acme.Till::se*" in answer
    assert "sell(String item, int count)" in answer
    assert "is short for" in at.enter(":ls HaMa")  # a class of the JDK
    assert "a method is written Till::sell" in at.enter(":ls Till#sell")


def test_sources(at: Person) -> None:
    answer = at.enter(":src Till::sell")
    assert "no source of acme.Till (Till.java); looked at:" in answer or "taken += cents" in answer
    at.enter(f":set src {Path(__file__).parents[1] / 'java'}")
    answer = at.enter(":src acme.Till::sell")
    assert "   27          taken += cents;" in answer
    assert "main(" not in answer
    assert "has no method seel" in at.enter(":src Till::seel")
    assert "does not exist" in at.enter(":set src /nowhere")


def test_save_and_load(at: Person, shop: Target, tmp_path: Path) -> None:
    at.enter(SELL)
    at.enter(PRINT)
    path = tmp_path / "mine.bt"
    assert at.enter(f":save {path}") == f"wrote 2 probes to {path}"
    assert "exists already" in at.enter(f":save {path}")
    at.enter(":rm *")
    at.enter(f":load {path}")
    does(shop, "sell 3")
    assert at.enter("@sold").count("\n") == 2
    assert "cannot read" in at.enter(":load /nowhere.bt")


def test_saved_scripts_have_the_values_of_their_parameters(at: Person, shop: Target, tmp_path: Path) -> None:
    script = (
        'param least: int = 0;\nparam item = "plum" "what is sold";\nparam slow: duration;\n'
        "acme.Till::sell @return when $count >= least && $item == item && duration < slow { @many = count(); }"
    )
    for arguments in ("least=3", 'item=pe"ar', "slow=250ms", "other=1"):
        at.enter(f":param {arguments}")
    assert "enabled" in at.enter(script)
    path = tmp_path / "mine.bt"
    assert at.enter(f":save {path}") == f"wrote 1 probe to {path}"
    assert path.read_text().split("\n")[:3] == [
        "param least: int = 3;",
        'param item = "pe\\"ar" "what is sold";',
        "param slow: duration = 250ms;",
    ]
    assert "enabled" in at.enter(f":load {path}")
    at.enter(":rm 2")
    at.enter(":param least=5")
    assert "enabled" in at.enter(script)
    assert "cannot stand in one script" in at.enter(f":save {tmp_path / 'both.bt'}")
    assert not (tmp_path / "both.bt").exists()


def test_maps_of_a_target_that_was_killed_are_as_they_were_read_last() -> None:
    with till() as program, person(program) as at:
        at.enter(SELL)
        at.enter("acme.Till::sell { @n = count(); }")
        does(program, "sell 7")
        before = time.monotonic()
        at.until(lambda: all(map_.read_at > before for map_ in at.repl.maps._contents.values()), "a look at the maps")
        at.until(lambda: len(at.repl.maps._contents) == 2, "both maps")
        program.process.kill()
        at.wait_for("still work — :quit ends")
        assert re.fullmatch(r"@n  7\nas last read, \d+\.\d s before the target was gone", at.enter("@n"))
        assert "@sold[apple]  3" in at.enter("@sold")
        assert re.search(
            r"^@sold +count +3 .*^@n +count +1 .*^as last read", at.enter(":maps"), re.DOTALL | re.MULTILINE
        )


def test_libraries_and_parameters(at: Person, shop: Target) -> None:
    assert "exceptions." in at.enter("use btpy.exceptions(top=5)")
    at.enter(":rm *")
    assert "= 3" in at.enter(":param least=3")
    at.enter("param least: int = 0;\nacme.Till::sell when $count >= least { @many = count(); }")
    does(shop, "sell 7")
    assert at.enter("@many") == "@many  4"
    assert "there is no library" in at.enter(":use btpy.excepshuns")


def test_entering_again(at: Person) -> None:
    at.enter(":level 1")
    assert at.enter("!!") == ":level 1\nlevel 1"
    assert at.enter("!1").endswith("level 1")
    assert ":level 1" in at.enter(":history")


def test_detach_keeps_earlier_output(at: Person, shop: Target) -> None:
    at.enter(SELL)
    does(shop, "sell 5")
    answer = at.enter(":detach")
    assert re.search(r"^classes restored 1/1 · 0 lost · after \d\d:\d\d:\d\d$", answer, re.MULTILINE)
    assert "@sold[apple]  2" in at.enter("@sold")
    assert "detached" in at.enter(SELL)
    at.enter(":quit")
    assert at.repl.ended


def test_quit_asks_once_when_probes_are_live(at: Person) -> None:
    at.enter(SELL)
    at.choice = "c"
    assert "1 probe is live" in at.enter(":quit")
    assert not at.repl.ended
    at.choice = "d"
    assert "classes restored 1/1" in at.enter("quit")
    assert at.repl.ended


def test_an_internal_error_of_a_command_does_not_end_the_prompt(at: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("of its own")

    monkeypatch.setitem(ACTIONS, "maps", broken)
    assert "RuntimeError: of its own" in at.enter(":maps")
    assert at.enter(":level 0") == "level 0"


def test_the_target_ends(tmp_path: Path) -> None:
    with till() as program, person(program) as someone:
        someone.enter(SELL)
        someone.enter(PRINT)
        does(program, "sell 3")
        someone.wait_for("^#2 sold ", 3)
        someone.enter(":maps")
        does(program, "sell 3")
        program.process.kill()
        someone.wait_for(r"still work — :quit ends")
        assert "@sold[apple]  1" in someone.enter("@sold")
        assert "sold plum x2" in someone.enter(":last")
        assert "error" in someone.enter(SELL)
        assert "sell" in someone.enter(":probes")
        assert someone.enter(f":save {tmp_path / 'a.bt'}").startswith("wrote 2 probes")
        assert "(gone)" in someone.repl.status().target
        someone.enter(":quit")
        assert someone.repl.ended


def test_the_target_ends_by_itself() -> None:
    with till() as program, person(program) as someone:
        someone.enter(SELL)
        does(program, "sell 5")
        program.process.stdin.close()  # type: ignore[union-attr]
        someone.wait_for("has ended; the last read maps")
        assert someone.enter("@sold").split("\n")[0] == "@sold[apple]  2"
        assert "is no probe" not in someone.enter(":probes")
        someone.enter(":quit")
        assert someone.repl.ended


def test_of_many_distributions_a_few_are_drawn(at: Person, shop: Target) -> None:
    at.enter("acme.Till::sell { @by[$count] = hist($count); @n[$count] = count(); }")
    does(shop, "sell 13")
    answer = at.enter("@by")
    assert answer.count("n=1") == 5
    assert "… 8 more" in answer
    assert answer.endswith(":print @by top=N draws N of them; :watch @by lists all")
    assert at.enter(":print @by top=7").count("n=1") == 7
    assert at.enter("@n").count("\n") == 12


def test_entries_that_cannot_be_repeated(at: Person) -> None:
    assert "no entry !99" in at.enter("!99")
    assert at.repl.failures == 1
