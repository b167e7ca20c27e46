"""The terminal of the tests itself: keys arrive, screens are read, the end is noticed."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.terminal.tmux import TerminalError, normalised, terminal

SHELL = ["bash", "--norc", "--noprofile", "-i"]
PROMPT = {"PS1": "ready> "}


def test_keys_and_screen(golden: Golden) -> None:
    with terminal(SHELL, env=PROMPT, columns=40, lines=10) as shell:
        shell.wait_for("ready>")
        shell.enter("echo 'wide: 漢字 🙂' $((6 * 7)) \"$COLUMNS\"")
        shell.wait_for("🙂 42 40")
        golden.check("terminal/shell.txt", shell.text())
        assert shell.cursor == (7, 3)


def test_size_follows_the_window() -> None:
    with terminal(SHELL, env=PROMPT, columns=40, lines=10) as shell:
        shell.wait_for("ready>")
        shell.resize(71, 9)
        shell.enter("stty size")
        shell.wait_for("\n9 71\n")


def test_a_key_of_the_terminal_is_a_signal_and_the_status_is_seen() -> None:
    with terminal(["sh", "-c", "trap 'exit 7' INT; echo up; while :; do sleep 0.05; done"]) as program:
        program.wait_for("up")
        program.press("C-c")
        assert program.wait_for_end() == 7
        assert program.cooked
        assert "up" in program.text()
    with terminal(["sh", "-c", "kill -9 $$"]) as program:
        assert program.wait_for_end() == 137


def test_raw_mode_is_seen() -> None:
    with terminal(["sh", "-c", "echo cooked; read line; stty raw -echo; echo raw; head -c 1 >/dev/null"]) as program:
        program.wait_for("cooked\n")
        assert program.cooked
        program.press("Enter")
        program.wait_for("raw")
        assert not program.cooked
        program.press("x")
        assert program.wait_for_end() == 0
        assert not program.cooked


def test_paste_arrives_whole() -> None:
    lines = "".join(f"line {number}\n" for number in range(200))
    with terminal(["sh", "-c", "stty -echo; echo ready; cat"], lines=6) as cat:  # an echo would mix with the copy
        cat.wait_for("ready")
        cat.paste(lines)
        cat.wait_for(lambda screen: lines in f"{screen}\n", scrolled=True)


def test_a_failed_wait_is_reported_with_the_screen() -> None:
    with terminal(["echo", "something else"]) as program, pytest.raises(TerminalError, match="something else"):
        program.wait_for("never")


def test_varying_text_is_normalised() -> None:
    line = "btpy: 1 probe → 7 methods in 4 classes of Main (31337), retransformed in 41 ms · ran 00:01:12 · 17 apples"
    expected = "btpy: 1 probe → 7 methods in 4 classes of Main (PID), retransformed in N ms · ran HH:MM:SS · K apples"
    assert normalised(line, (r"\d+(?= apples)", "K")) == expected
