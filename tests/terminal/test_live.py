"""A run on a terminal: views, keys, signals, the end."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import Golden
from tests.jdks import compiled
from tests.targets import PATIENCE, Target, target
from tests.terminal.tmux import Terminal, normalised, terminal

JAVA = Path(__file__).parent.parent / "java"
TABLE = "Clerk::sell @entry { @sold[$thing] = count(); }"
SIZES = "Clerk::sell @entry { @sizes = hist($size); }"
BOTH = 'Clerk::sell @entry { print(f"{$thing} {$size}"); @sold[$thing] = count(); }'
SELDOM = "1s"
"""The interval for a target that is stopped: a view that has just asked for its maps waits for the answer."""
VARYING = (
    (r" +[\d.]+k?/s", " RATE"),
    (r"  [▁▂▃▄▅▆▇█ ]+$", "  SPARKS"),
    (r"(?m)  [▁▂▃▄▅▆▇█ ]+$", "  SPARKS"),
    (r"(?m) +rate +(last 60 s|$)", r" rate  \1"),
    (r"(?m)^\d\d:\d\d:\d\d\b", "HH:MM:SS"),
)


@pytest.fixture(scope="module")
def clerk() -> Iterator[Target]:
    with target(17, "Clerk", classpath=[compiled([JAVA / "Clerk.java"])], flags=["-Dfile.encoding=UTF-8"]) as program:
        yield program


def sell(clerk: Target, thing: str, times: int, size: int = 1) -> None:
    clerk.send(f"sell {thing} {size} {times}")
    clerk.wait_for("sold")


def check_left(clerk: Target) -> None:
    """Waits until no thread of the agent is left in the target, because the agent has then put everything back."""
    deadline = time.monotonic() + PATIENCE
    while True:
        clerk.send("threads")
        if clerk.wait_for("threads") == "threads 0":
            return
        assert time.monotonic() < deadline
        time.sleep(0.05)


def wait_for_record(recording: Path, text: bytes) -> None:
    """Waits until btpy has received an event with the text. btpy records each event at once, even if it shows none."""
    deadline = time.monotonic() + PATIENCE
    while text not in recording.read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def command(clerk: Target, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "btpy", str(clerk.pid), *arguments]


@contextmanager
def watching(
    clerk: Target,
    script: str,
    *arguments: str,
    columns: int = 80,
    lines: int = 24,
    env: dict[str, str | None] | None = None,
    until: str = "? keys",
    interval: str | None = "200ms",
) -> Iterator[Terminal]:
    """btpy on a terminal, once its view, or the text ``until``, is there. ``interval``: how often it draws its maps;
    None: as it does without ``-i``.
    """
    words = command(clerk, "-e", script, *(("-i", interval) if interval is not None else ()), *arguments)
    with terminal(words, columns=columns, lines=lines, env=env) as screen:
        screen.wait_for(until)
        yield screen


def shown(screen: Terminal, since: str = "") -> str:
    """The part of the screen that begins with the text ``since``."""
    screen_ = normalised(screen.text(), *VARYING)
    return screen_[screen_.index(since) :]


def counted(thing: str, number: int) -> re.Pattern[str]:
    """A row of the table."""
    return re.compile(rf"^{re.escape(thing)} +{number}\b", re.MULTILINE)


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (200, 50), (20, 6)])
def test_a_table_is_sorted_by_the_column_that_s_chooses(
    clerk: Target, golden: Golden, columns: int, lines: int
) -> None:
    with watching(clerk, TABLE, columns=columns, lines=lines, until="00:00:0") as screen:
        for fruit, times in (("pear", 31), ("apple", 97), ("melon", 7)):
            sell(clerk, fruit, times)
        screen.wait_for(counted("apple", 97))
        golden.check(f"terminal/table_{columns}.txt", shown(screen, "@sold"))
        screen.press("s", "s")
        screen.wait_for("@sold▲")
        golden.check(f"terminal/table_{columns}_by_key.txt", shown(screen, "@sold"))
        screen.press("q")
        assert screen.wait_for_end() == 0


def test_a_distribution_is_drawn_in_place_and_printed_at_the_end(clerk: Target, golden: Golden) -> None:
    with watching(clerk, SIZES) as screen:
        sell(clerk, "apple", 53, size=5)
        sell(clerk, "apple", 29, size=700)
        screen.wait_for("n=82")
        golden.check("terminal/histogram.txt", shown(screen, "@sizes"))
        screen.press("C-c")
        assert screen.wait_for_end() == 0
        golden.check("terminal/histogram_end.txt", shown(screen, "@sizes"))
        assert screen.cooked
    check_left(clerk)


def test_events_scroll_by_above_the_view_and_garble_nothing(clerk: Target, golden: Golden) -> None:
    with watching(clerk, BOTH, "--hits", "0", "--rate", "0", lines=16) as screen:
        for number in range(40):
            sell(clerk, "apple", 3, size=number)
        screen.wait_for(counted("apple", 120))
        screen.wait_for("120 events")
        golden.check("terminal/events.txt", shown(screen))
        everything = screen.text(scrolled=True).splitlines()
        event_lines = [line for line in everything if re.fullmatch(r"apple \d+", line)]
        assert event_lines == [f"apple {number}" for number in range(40) for _ in range(3)]
        assert sum(line.startswith("@sold") for line in everything) == 1
        screen.press("q")
        assert screen.wait_for_end() == 0
        assert sum(line.startswith("@sold") for line in screen.text(scrolled=True).splitlines()) == 1


@pytest.mark.parametrize("wraps_anew", [True, False], ids=["wraps-anew", "cuts-off"])
def test_a_view_and_printed_lines_are_intact_after_each_resize(clerk: Target, wraps_anew: bool) -> None:
    """In its alternate screen tmux cuts off long lines, as xterm does; on the normal screen it wraps them again."""
    alternate = "" if wraps_anew else "\x1b[?1049h"
    words = command(clerk, "-e", BOTH, "-i", "200ms", "--hits", "0", "--rate", "0")
    with terminal(["sh", "-c", 'printf %s "$1"; shift; "$@"', "sh", alternate, *words], lines=20) as screen:
        screen.wait_for("? keys")
        events: list[str] = []

        def is_whole(text: str) -> bool:
            """The latest events and below them one view, with nothing between its rows."""
            lines = text.splitlines()
            headers = [at for at, line in enumerate(lines) if line.startswith("@sold")]
            above = [line for line in lines[: headers[0]] if re.match(r"\d\d-", line)] if headers else []
            return (
                len(headers) == 1
                and above == events[len(events) - len(above) :]
                # No event was overwritten. Lines that tmux wraps again may go into its history, which the test reads
                # below.
                and (wraps_anew or above == events or len(lines) == int(screen.ask("#{window_height}")))
                and all(re.match(r"\d\d-|  … \d+ more", line) for line in lines[headers[0] + 1 : -1])
                and lines[-1].endswith(f"{len(events)} events · ? keys")
            )

        def print_some(things: int) -> None:
            for number in range(things):
                name = f"{len(events):02}-{'abcdefghij' * 3}"
                sell(clerk, name, 1, size=number)
                events.append(f"{name} {number}")
            screen.wait_for(is_whole)
            if wraps_anew:  # the alternate screen has no history
                scrolled = screen.text(scrolled=True).splitlines()
                assert [line for line in scrolled if re.fullmatch(r"\d\d-\w+ \d", line)] == events

        print_some(9)
        lower = ((120, 9), (60, 9), (100, 9)) if wraps_anew else ()
        for columns, rows in ((44, 20), (120, 20), *lower):
            screen.resize(columns, rows)
            screen.wait_for(is_whole)
            print_some(3)
        screen.press("q")
        assert screen.wait_for_end() == 0
        assert "? keys" not in screen.text()


def test_a_message_above_a_view_that_fills_the_window_leaves_no_copy_of_it(clerk: Target) -> None:
    with watching(clerk, TABLE, lines=6) as screen:
        for number in range(9):
            sell(clerk, f"thing-{number}", 1)
        screen.wait_for("… 6 more")
        screen.press("l")
        everything = screen.wait_for("no probe has a @Level", scrolled=True)
        assert [everything.count(words) for words in ("@sold", "thing-0", "? keys")] == [1, 1, 1]
        screen.press("q")
        assert screen.wait_for_end() == 0


def test_events_during_a_pause_are_counted_and_reported_after_it(clerk: Target) -> None:
    with watching(clerk, BOTH, "--hits", "0") as screen:
        screen.press("p")
        screen.wait_for("paused")
        sell(clerk, "apple", 13)
        screen.wait_for("paused, 13 events not shown")
        assert not counted("apple", 13).search(screen.text())
        screen.press("p")
        screen.wait_for("… 13 events while paused")
        screen.wait_for(counted("apple", 13))
        assert "apple 1\n" not in screen.text()
        screen.press("C-\\")
        screen.wait_for("· paused")
        screen.press("C-\\")
        screen.wait_until_gone("· paused")
        screen.press("p")
        screen.wait_for("· paused")
        sell(clerk, "apple", 5)
        screen.wait_for("paused, 5 events not shown")
        screen.press("q")
        assert screen.wait_for_end() == 0
        assert "… 5 events while paused\n@sold[apple]  18\n" in screen.text()
        assert "events 0 shown, 18 not displayed, 0 lost" in screen.text()


def test_a_file_is_never_paused(clerk: Target, tmp_path: Path) -> None:
    path = tmp_path / "sold.txt"
    with watching(clerk, BOTH, "-o", str(path), until="retransformed", interval=None) as screen:
        screen.press("p")
        screen.wait_for("not paused")
        sell(clerk, "apple", 3)
        screen.press("q")
        assert screen.wait_for_end() == 0
    assert path.read_text() == "apple 1\n" * 3 + "@sold[apple]  3\n"


def test_keys_without_a_view(clerk: Target, tmp_path: Path) -> None:
    script = """
        Clerk::sell @entry { print(f"sold {$thing}"); @sold[$thing] = count(); }
        @Level(1) @OnMethod(class="Clerk", method="sell") { print("fine print"); }
    """
    recording = tmp_path / "run.btz"
    with watching(
        clerk, script, "--hits", "0", "--record", str(recording), until="retransformed", interval=None
    ) as screen:
        screen.press("?")
        screen.wait_for("q quit · p pause · space print now · l L level up, down\n")
        sell(clerk, "apple", 1)
        screen.wait_for("sold apple")
        screen.press("Space")
        screen.wait_for("@sold[apple]  1\n")
        screen.press("l")
        screen.wait_for("level 1 of 1")
        sell(clerk, "pear", 1)
        screen.wait_for("fine print")
        screen.press("L")
        screen.wait_for("level 0 of 1")
        screen.press("p")
        screen.wait_for("paused: ")
        sell(clerk, "melon", 1)
        wait_for_record(recording, b"melon")
        screen.press("p")
        screen.wait_for("… 1 event while paused")
        assert not screen.cooked
        screen.press("q")
        assert screen.wait_for_end() == 0
        assert screen.cooked
        assert screen.text().count("fine print") == 1
        assert "sold melon" not in screen.text()


def test_a_view_follows_the_window(clerk: Target, golden: Golden) -> None:
    with watching(clerk, TABLE) as screen:
        for number in range(30):
            sell(clerk, f"thing-number-{number:02}", 1 + number)
        screen.wait_for(counted("thing-number-29", 30))
        screen.resize(30, 100)  # the terminal wraps the old lines before the view gets the signal
        drawn_anew = screen.wait_for("thing-numbe…")
        assert "thing-number-" not in drawn_anew
        screen.resize(30, 8)
        screen.wait_for("… 25 more")
        golden.check("terminal/small.txt", shown(screen, "@sold"))
        screen.press("Down", "Down", "PageDown")
        screen.wait_for("7 above")
        screen.resize(100, 40)
        screen.wait_for(counted("thing-number-00", 1))
        assert len([line for line in screen.text().splitlines() if line.startswith("@sold")]) == 1
        screen.press("q")
        assert screen.wait_for_end() == 0


HOSTILE = "\\u001b[2J\\u001b]0;owned\\u0007evil\\r\\nfaked\\u202egnissim\\u200b\\u009b31m".replace(
    "\\r", "\\u000d"
).replace("\\n", "\\u000a")


def test_wide_characters_stand_in_columns_and_hostile_ones_stay_text(clerk: Target, golden: Golden) -> None:
    with watching(clerk, BOTH, "--hits", "0") as screen:
        sell(clerk, "\\u6f22\\u5b57", 11)
        sell(clerk, "\\ud83d\\ude42\\ud83d\\ude42\\ud83d\\ude42", 7)
        sell(clerk, "cafe\\u0301", 5)
        sell(clerk, HOSTILE, 3)
        screen.wait_for("26 events")
        screen.wait_for(lambda text: "[2J" in text.split("@sold")[-1])
        golden.check("terminal/hostile.txt", shown(screen))
        assert screen.ask("#{pane_title}") != "owned"
        screen.press("q")
        assert screen.wait_for_end() == 0


def test_colour_only_where_it_is_wanted(clerk: Target) -> None:
    sequence = "\x1b["
    with watching(clerk, TABLE) as screen:
        sell(clerk, "apple", 3)
        screen.wait_for(counted("apple", 3))
        assert sequence in screen.text(styled=True)
        screen.press("q")
        screen.wait_for_end()
    with watching(clerk, TABLE, env={"NO_COLOR": "1"}) as screen:
        sell(clerk, "apple", 3)
        screen.wait_for(counted("apple", 3))
        assert sequence not in screen.text(styled=True)
        screen.press("q")
        screen.wait_for_end()


def test_a_dumb_terminal_gets_plain_lines(clerk: Target) -> None:
    dumb: dict[str, str | None] = {"TERM": "dumb"}
    with watching(clerk, TABLE, env=dumb, until="retransformed") as screen:
        sell(clerk, "apple", 3)
        screen.wait_for(lambda text: text.count("@sold[apple]  3\n") >= 3)
        assert "? keys" not in screen.text()
        assert "\x1b" not in screen.text(styled=True)
        screen.press("q")
        assert screen.wait_for_end() == 0


def test_a_pipe_gets_the_maps_each_interval(clerk: Target) -> None:
    line = shlex.join(command(clerk, "-e", TABLE, "-i", "200ms"))
    with terminal(["bash", "-c", f"{line} | head -n 4; echo status ${{PIPESTATUS[0]}}"]) as screen:
        screen.wait_for("retransformed")
        sell(clerk, "apple", 3)
        screen.wait_for("status 141")
        assert [splitline for splitline in screen.text().splitlines() if splitline.startswith("@")] == [
            "@sold[apple]  3"
        ] * 4
    check_left(clerk)


def test_ctrl_c_twice_leaves_at_once(clerk: Target) -> None:
    with watching(clerk, TABLE, interval=SELDOM) as screen:
        sell(clerk, "apple", 3)
        screen.wait_for(counted("apple", 3))
        os.kill(clerk.pid, signal.SIGSTOP)
        try:
            screen.press("C-c")
            screen.wait_until_gone("? keys")
            assert screen.cooked
            screen.press("C-c")
            assert screen.wait_for_end() == 130
        finally:
            os.kill(clerk.pid, signal.SIGCONT)
        assert "the agent puts the classes back by itself" in screen.text()
        assert screen.cooked
    check_left(clerk)


def test_a_message_tells_once_that_the_jvm_stands_still_if_the_maps_go_to_a_pipe(clerk: Target) -> None:
    line = shlex.join(command(clerk, "-e", TABLE, "-i", "200ms"))
    with terminal(["bash", "-c", f"{line} | cat"]) as screen:
        screen.wait_for("retransformed")
        os.kill(clerk.pid, signal.SIGSTOP)
        screen.wait_for(f"the JVM is stopped (kill -CONT {clerk.pid})")
        os.kill(clerk.pid, signal.SIGCONT)
        sell(clerk, "apple", 3)
        screen.wait_for("@sold[apple]  3")
        assert screen.text(scrolled=True).count("the JVM is stopped") == 1
    check_left(clerk)


@pytest.mark.parametrize("key", ["C-c", "q"])
def test_the_view_tells_that_the_jvm_stands_still_and_can_be_left(clerk: Target, key: str) -> None:
    with watching(clerk, TABLE) as screen:
        sell(clerk, "apple", 3)
        screen.wait_for(counted("apple", 3))
        stopped = f"the JVM is stopped (kill -CONT {clerk.pid})"
        os.kill(clerk.pid, signal.SIGSTOP)
        screen.wait_for(f" · {stopped}")
        os.kill(clerk.pid, signal.SIGCONT)
        screen.wait_for("? keys")
        os.kill(clerk.pid, signal.SIGSTOP)
        try:
            screen.wait_for(f" · {stopped}")
            screen.press(key)
            screen.wait_for(f"{stopped} · putting 1 class back · ")
        finally:
            os.kill(clerk.pid, signal.SIGCONT)
        assert screen.wait_for_end() == 0
        assert "classes restored 1/1" in screen.text()
    check_left(clerk)


def test_progress_is_a_line_that_disappears_at_the_end(clerk: Target) -> None:
    with watching(clerk, TABLE, interval=SELDOM) as screen:
        os.kill(clerk.pid, signal.SIGSTOP)
        try:
            screen.press("C-c")
            screen.wait_for(f"the JVM is stopped (kill -CONT {clerk.pid}) · putting 1 class back · ")
        finally:
            os.kill(clerk.pid, signal.SIGCONT)
        assert screen.wait_for_end() == 0
        assert "putting" not in screen.text(scrolled=True)
        assert "classes restored 1/1" in screen.text()
    check_left(clerk)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_ends_it_in_order(clerk: Target, number: signal.Signals) -> None:
    with watching(clerk, TABLE) as screen:
        os.kill(screen.pid, number)
        assert screen.wait_for_end() == 0
        assert "classes restored 1/1" in screen.text()
        assert screen.cooked
    check_left(clerk)


def test_a_terminal_that_is_closed_leaves_nothing_in_the_target(clerk: Target) -> None:
    with watching(clerk, BOTH, "--hits", "0") as screen:
        sell(clerk, "apple", 3)
        screen.wait_for("3 events")
        screen.close_window()
        check_left(clerk)


def test_a_target_that_is_killed_leaves_the_terminal_in_order() -> None:
    with target(17, "Clerk", classpath=[compiled([JAVA / "Clerk.java"])]) as victim, watching(victim, TABLE) as screen:
        sell(victim, "apple", 3)
        screen.wait_for(counted("apple", 3))
        victim.process.kill()
        assert screen.wait_for_end() == 5
        assert "the target ended" in screen.text()
        assert "? keys" not in screen.text()
        assert screen.cooked


def shell(words: Sequence[str]) -> str:
    return f"PS1='$ '; clear; {shlex.join(words)}"


def test_ctrl_z_returns_the_terminal_to_the_shell_and_fg_continues(clerk: Target) -> None:
    with terminal(["bash", "--norc", "--noprofile", "-i"]) as screen:
        screen.enter(shell(command(clerk, "-e", TABLE)))
        screen.wait_for("? keys")
        screen.press("C-z")
        screen.wait_for("Stopped")
        assert "? keys" not in screen.text()
        screen.enter("echo the shell $((40 + 2))")
        screen.wait_for("the shell 42")
        sell(clerk, "apple", 17)
        screen.enter("fg")
        screen.wait_for(counted("apple", 17))
        screen.press("q")
        screen.wait_for("classes restored 1/1")
    check_left(clerk)


def test_in_the_background_nothing_is_drawn_and_no_key_is_taken(clerk: Target) -> None:
    with terminal(["bash", "--norc", "--noprofile", "-i"]) as screen:
        screen.enter(shell(command(clerk, "-e", TABLE)) + " &")
        screen.wait_for("retransformed")
        sell(clerk, "apple", 11)
        screen.enter("sleep 1.5; echo the shell $((40 + 2))")
        screen.wait_for("the shell 42")
        assert "? keys" not in screen.text()
        screen.enter("fg")
        screen.wait_for(counted("apple", 11))
        screen.press("q")
        screen.wait_for("classes restored 1/1")
    check_left(clerk)


def test_after_a_stop_longer_than_the_lease_the_classes_are_back(clerk: Target) -> None:
    with watching(clerk, TABLE) as screen:
        os.kill(screen.pid, signal.SIGSTOP)
        check_left(clerk)  # waits until the lease has ended and the classes are back
        os.kill(screen.pid, signal.SIGCONT)
        assert screen.wait_for_end() == 5
        assert re.search(r"btpy was stopped for \d+ s, and the lease of 10 s ran out", screen.text().replace("\n", ""))
        assert screen.cooked


def test_a_script_from_the_terminal_leaves_the_keys_alone(clerk: Target) -> None:
    with terminal(command(clerk, "-")) as screen:
        screen.enter(TABLE)
        screen.press("C-d")
        screen.wait_for("00:00:0")
        assert screen.cooked
        assert "? keys" not in screen.text()
        screen.press("C-c")
        assert screen.wait_for_end() == 0
