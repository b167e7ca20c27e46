"""The prompt with real keys, a real program and a real screen."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from btpy.jvm import procfs
from tests.conftest import Golden
from tests.repl.till import does, till
from tests.targets import PATIENCE, Target
from tests.terminal.tmux import Terminal, normalised, terminal

SELL = "acme.Till::sell @return { @sold[$item] = count() }"
PROMPT = re.compile(r"^(Till>| +·)$", re.MULTILINE)
PRINT = 'acme.Till::sell @entry as seen { print("sold", $item, $count) }'


@pytest.fixture(scope="module")
def shop() -> Iterator[Target]:
    with till() as program:
        yield program


@contextmanager
def prompt(
    program: Target, home: Path, *, columns: int = 80, lines: int = 24, term: str = "tmux-256color", **env: str
) -> Iterator[Terminal]:
    """Starts btpy and waits for the first prompt. ``home``: where history is kept."""
    command = [sys.executable, "-m", "btpy", str(program.pid)]
    variables = {"XDG_STATE_HOME": str(home), **env}
    with terminal(command, columns=columns, lines=lines, env=variables, term=term) as screen:
        screen.wait_for("Till>")
        yield screen


def plain(screen: str) -> str:
    return normalised(
        screen,
        (r"\(\d+, JDK [^)]*\)", "(PID, JDK …)"),
        (r"enabled in \d+ ms", "enabled in N ms"),
        (r"after \d\d:\d\d:\d\d", "after HH:MM:SS"),
        (r"Till:\d+", "Till:PID"),
        (r"\b[0-9a-f]{32}\b", "CLASSES"),
    )


def answered(screen: Terminal, entry: str, answer: str) -> str:
    """Waits until the entry has its answer and the prompt is back; returns the screen."""
    screen.enter(entry)
    screen.wait_for(answer)
    return screen.wait_for(PROMPT)


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (200, 50)])
def test_a_session(columns: int, lines: int, shop: Target, tmp_path: Path, golden: Golden) -> None:
    with prompt(shop, tmp_path, columns=columns, lines=lines) as screen:
        answered(screen, ":ls Till::s*", "sell(String item, int count)")
        screen.enter(SELL.replace("count()", "cuont()"))
        screen.wait_for("not sent")
        give_up(screen)
        answered(screen, SELL, "#1 sell")
        does(shop, "sell 13")
        answered(screen, "@sold", "@sold[plum]   4")
        answered(screen, '@sold["pear"] * 100', "\n400\n")
        answered(screen, '@OnEvent("tick") {', "·")
        screen.enter("@ticks = count()")
        answered(screen, "}", "#2 event")
        answered(screen, ":send tick", "sent tick")
        answered(screen, ":disable 2", "#2 event · disabled")
        answered(screen, ":rm *", "1 class put back")
        answered(screen, ":probes", "no probes are live")
        screen.enter(":quit")
        assert screen.wait_for_end() == 0
        golden.check(f"terminal/repl_{columns}x{lines}.txt", plain(screen.text(scrolled=True)))


def test_the_menu_of_completions(shop: Target, tmp_path: Path, golden: Golden) -> None:
    with prompt(shop, tmp_path) as screen:
        screen.type("acme.Ti")
        screen.wait_for("acme  app")
        screen.press("Tab")
        screen.wait_for("Till> acme.Till")
        screen.type("::se")
        screen.wait_for("sell(String item, int count)")
        screen.press("Tab")
        screen.wait_for("acme.Till::sell")
        screen.type(" @return { print($i")
        screen.wait_for("string  parameter of sell")
        screen.press("Tab")
        screen.wait_for("print($item")
        screen.type(", retval.")
        text = screen.wait_for("cents")
        golden.check("terminal/repl_menu.txt", plain(text))
        give_up(screen)
        screen.enter(":quit")
        assert screen.wait_for_end() == 0


def test_prints_of_probes_do_not_touch_the_typed_line(shop: Target, tmp_path: Path) -> None:
    with prompt(shop, tmp_path) as screen:
        answered(screen, PRINT, "#1 seen")
        screen.type(":prin")
        screen.wait_for("Till> :prin")
        does(shop, "sell 7")
        text = screen.wait_for(re.compile(r"#1 sold apple 6\nTill> :prin\n"))  # the entry is drawn again
        assert re.findall(r"#1 sold (\w+ \d)", text) == [f"{('apple', 'pear', 'plum')[i % 3]} {i}" for i in range(7)]
        assert text.count("Till> :prin\n") == 1
        screen.type("t @sold")
        answered(screen, "", "there is no map @sold")
        leave(screen)


def give_up(screen: Terminal) -> None:
    """The line that the user is typing."""
    screen.press("C-c")
    screen.wait_for(PROMPT)


def leave(screen: Terminal) -> None:
    screen.wait_for(PROMPT)
    screen.press("C-d")
    screen.wait_for("[d]etach")
    screen.press("d")
    screen.wait_for("classes restored 1/1")
    assert screen.wait_for_end() == 0


def test_a_script_of_200_lines_is_pasted(shop: Target, tmp_path: Path) -> None:
    script = "\n".join(f"acme.Till::sell when $count == {n} {{\n  @n{n % 10} = count();\n}}" for n in range(67))
    assert len(script.split("\n")) == 201
    with prompt(shop, tmp_path) as screen:
        screen.paste(script)
        screen.wait_for("@n6 = count();")
        screen.press("Enter")
        screen.wait_for("#67 ")
        does(shop, "sell 67")
        answered(screen, "@n6", "@n6  7")
        screen.press("Up", "Up")  # "Up" brings back the whole text as one entry
        screen.wait_for("@n6 = count();")
        give_up(screen)
        leave(screen)


def test_ctrl_c_and_ctrl_d(shop: Target, tmp_path: Path) -> None:
    with prompt(shop, tmp_path) as screen:
        answered(screen, SELL, "#1 sell")
        screen.type("acme.Till {")
        screen.wait_for("acme.Till {")
        give_up(screen)
        answered(screen, ":probes", "Till.sell RETURN")
        screen.press("C-d")
        screen.wait_for("1 probe is live — [d]etach")
        screen.press("c")
        answered(screen, ":level 0", "level 0")
        leave(screen)


def test_resize(shop: Target, tmp_path: Path) -> None:
    with prompt(shop, tmp_path) as screen:
        screen.type("acme.Till::sell @return { print($item, $count, retval, duration, thread_name) }")
        screen.wait_for("me) }")  # in two lines
        screen.resize(120, 30)
        screen.wait_for("duration, thread_name) }")
        screen.resize(60, 12)
        screen.wait_for("retval,\n       duration, thread_name) }")  # btpy has drawn both lines anew
        screen.enter()
        screen.wait_for("#1 sell", scrolled=True)
        screen.wait_for(PROMPT)
        answered(screen, ":maps", "no probe has a map yet")
        leave(screen)


def test_watch(shop: Target, tmp_path: Path) -> None:
    with prompt(shop, tmp_path) as screen:
        answered(screen, SELL, "#1 sell")
        does(shop, "sell 5")
        screen.enter(":watch @sold 200ms")
        screen.wait_for("q quits")
        does(shop, "sell 7")
        screen.wait_for(re.compile(r"^apple +5 ", re.MULTILINE))
        screen.press("s")
        screen.press("q")
        screen.wait_until_gone("q quits")
        screen.wait_for(PROMPT)
        answered(screen, "@sold", "@sold[apple]  5")
        leave(screen)


def test_output_of_probes_waits_until_the_user_closes_the_view(shop: Target, tmp_path: Path) -> None:
    with prompt(shop, tmp_path) as screen:
        answered(screen, SELL, "#1 sell")
        answered(screen, PRINT, "#2 seen")
        does(shop, "sell 1")
        screen.wait_for("#2 sold apple 0")
        screen.enter(":watch @sold 200ms")
        screen.wait_for("q quits")
        does(shop, "sell 5")
        text = screen.wait_for("5 lines printed meanwhile")
        assert "#2 sold" not in text
        assert re.search(r"^apple +3 ", text, re.MULTILINE)
        screen.resize(50, 10)
        text = screen.wait_for("5 lines printed meanwhile · q quits · s sorts · S\n")
        assert "#2 sold" not in text
        assert len(re.findall("@sold", text)) == 1
        screen.press("q")
        screen.wait_until_gone("q quits")
        text = screen.wait_for("#2 sold pear 4")
        sales = re.findall(r"#2 sold (\w+ \d)", screen.text(scrolled=True))
        assert sales == ["apple 0", "apple 0", "pear 1", "plum 2", "apple 3", "pear 4"]
        screen.press("C-d")
        screen.wait_for("[d]etach")
        does(shop, "sell 1")
        assert "#2 sold apple 0" not in screen.text().partition("[d]etach")[2]
        screen.press("d")
        screen.wait_for("classes restored 1/1")
        assert screen.wait_for_end() == 0


def test_tab_inserts_the_common_prefix_of_all_candidates(shop: Target, tmp_path: Path) -> None:
    does(shop, "sell 1")  # this loads the class Till.Receipt
    with prompt(shop, tmp_path) as screen:
        screen.type("acme.T")
        screen.wait_for("Till$Receipt")
        screen.press("Tab")
        screen.wait_for("Till> acme.Till\n")
        screen.press("Tab")  # the common beginning cannot be extended, so this selects the first candidate
        screen.press("Tab")
        screen.wait_for("Till> acme.Till$Receipt\n")
        give_up(screen)
        screen.enter(":quit")
        assert screen.wait_for_end() == 0


def test_edit_in_an_editor(shop: Target, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/count/sum/ "$1"\n')
    editor.chmod(0o755)
    with prompt(shop, tmp_path, EDITOR=str(editor)) as screen:
        answered(screen, SELL, "#1 sell")
        answered(screen, ":edit 1", "the new version was rejected")
        does(shop, "sell 3")
        answered(screen, "@sold", "@sold[apple]  1")
        leave(screen)


def test_the_target_is_killed(tmp_path: Path) -> None:
    with till() as program, prompt(program, tmp_path) as screen:
        answered(screen, PRINT, "#1 seen")
        does(program, "sell 3")
        screen.wait_for("#1 sold plum 2")
        screen.type(":la")
        program.process.kill()
        screen.wait_for("still work — :quit ends")
        screen.type("st 1")
        answered(screen, "", "3 ")
        screen.wait_for(re.compile(r"^ +3 [\d:.]+ sold plum 2$", re.MULTILINE))
        screen.wait_for("(gone)")
        screen.press("C-d")
        assert screen.wait_for_end() == 0


def test_help_on_the_word_under_the_cursor(shop: Target, tmp_path: Path) -> None:
    with prompt(shop, tmp_path) as screen:
        screen.type("acme.Till::sell { @x = hist")
        screen.press("F1")
        screen.wait_for("distribution: 2**k buckets")
        screen.wait_for("Till> acme.Till::sell { @x = hist")
        give_up(screen)
        screen.type("acme.Till::sell { @x = dist")
        screen.wait_for("distinct(")
        screen.press("Tab")
        screen.wait_for("{ @x = distinct(\n")
        screen.press("Tab")
        screen.wait_for(re.compile(r"^ +com.*= distinct", re.MULTILINE))
        give_up(screen)
        screen.type("acme.Till::sell")
        screen.wait_for("Till> acme.Till::sell\n")
        screen.press("F1")
        screen.wait_for("acme.Till  class")
        give_up(screen)
        screen.press("F4")
        screen.press("C-d")
        assert screen.wait_for_end() == 0


def test_without_colours(shop: Target, tmp_path: Path) -> None:
    with prompt(shop, tmp_path, NO_COLOR="1") as screen:
        screen.type(SELL)
        screen.wait_for("count() }")
        assert not re.search(r"\x1b\[[\d;]*[34]8;[25];", screen.text(styled=True))
        answered(screen, "", "#1 sell")
        leave(screen)


def test_a_terminal_that_can_do_nothing(shop: Target, tmp_path: Path) -> None:
    with prompt(shop, tmp_path, TERM="dumb") as screen:
        answered(screen, SELL, "#1 sell")
        does(shop, "sell 3")
        answered(screen, "@sold", "@sold[plum]   1")
        answered(screen, PRINT, "#2 seen")
        screen.type("@so")
        screen.wait_for("Till> @so\n")
        does(shop, "sell 1")
        screen.wait_for("@so\n#2 sold apple 0\nTill> @so")
        screen.press("C-c")
        screen.enter(":quit")
        screen.wait_for("[d]etach")
        screen.press("d")
        screen.wait_for("classes restored 1/1")
        assert screen.wait_for_end() == 0


def test_the_window_is_closed(tmp_path: Path) -> None:
    with till() as program:
        with prompt(program, tmp_path) as screen:
            answered(screen, SELL, "#1 sell")
            pid = screen.pid
            screen.close_window()
        wait_until_gone(pid)
        with prompt(program, tmp_path) as screen:
            screen.press("C-d")
            assert screen.wait_for_end() == 0


def wait_until_gone(pid: int) -> None:
    """Waits until the process has ended. The entry of an orphan in /proc may stay until the first process reaps it."""
    deadline = time.monotonic() + PATIENCE
    while _runs(pid):
        assert time.monotonic() < deadline, f"process {pid} goes on without its terminal"
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        return not procfs.status(pid)["State"].startswith("Z")
    except OSError:
        return False


def test_a_file_of_commands_in_a_pipe(shop: Target, tmp_path: Path) -> None:
    commands = tmp_path / "commands"
    commands.write_text(f"# a comment\n{SELL}\n:level 0\n@OnTimer(1h)\n{{\n  @t = count();\n}}\n:probes\n")
    command = [sys.executable, "-m", "btpy", str(shop.pid), "--budget", "off", "--repl-script", str(commands)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert "\nlevel 0\n" in result.stdout
    assert re.search(r"^2 +timer +@OnTimer\(1h\) ", result.stdout, re.MULTILINE)
    assert "classes restored 1/1" in result.stdout
    through = subprocess.run(
        ["sh", "-c", '"$@" | head -n 1', "sh", *command], capture_output=True, text=True, timeout=60
    )
    assert through.stdout == f"> {SELL}\n"
    assert "Traceback" not in through.stderr
    quiet = subprocess.run([*command, "-q"], capture_output=True, text=True, timeout=60)
    assert quiet.returncode == 0, quiet.stderr
    assert quiet.stdout.startswith("#1 sell ")
    assert ">" not in quiet.stdout
    assert "classes restored" not in quiet.stdout
    failing = subprocess.run([*command[:-2]], input=":prbes\n", capture_output=True, text=True, timeout=60)
    assert failing.returncode == 2
    assert "did you mean `probes`?" in failing.stdout
