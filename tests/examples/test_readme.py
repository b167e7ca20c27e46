"""What the README shows happens: its commands, scripts, the prompt and the Python block, against the shop."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from btpy.cli.commands import NAMES, command
from examples.shop.build_shop import MAIN
from tests.examples.shop import shop_jar
from tests.targets import PATIENCE, Target, target
from tests.terminal.tmux import terminal

README = (Path(__file__).parents[2] / "README.md").read_text()
BLOCKS = re.findall(r"^```\w*\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
COMMANDS = [
    shlex.split(line, comments=True)
    for line in re.findall(r"^btpy (?:OrderApp |replay run\.).*$", README, re.MULTILINE)
]
SLOW = """
com.acme.shop.PricingEngine::quote @return as quote { emit("slow", sku=$sku, took=duration); }
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    jar = tmp_path_factory.mktemp("shop") / "shop.jar"
    shutil.copy(shop_jar(), jar)
    with target(17, MAIN, "--requests", "1000000", "--rate", "300", classpath=[jar]) as running:
        yield running


def test_the_commands_run(shop: Target, tmp_path: Path) -> None:
    (tmp_path / "slow.bt").write_text(SLOW)
    assert len(COMMANDS) == 7
    for _, *words in COMMANDS:
        arguments = words[: words.index("|")] if "|" in words else words
        if arguments[0] == "OrderApp":  # others may have one running: the pid is meant
            arguments = [str(shop.pid), *arguments[1:], "--for", "1s"]
        arguments = ["1ms" if word == "10s" else word for word in arguments]  # the recording is as short
        ran = subprocess.run(
            [sys.executable, "-m", "btpy", *arguments],
            capture_output=True,
            text=True,
            timeout=PATIENCE * 2,
            check=False,
            cwd=tmp_path,
        )
        assert ran.returncode == 0, (arguments, ran.stderr)
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {
        *("slow.bt", "slow.csv", "slow.ndjson.gz", "run.btz", "quote.csv", "quote.html", "run.trace.json"),
    }
    assert (tmp_path / "quote.csv").read_text().startswith("ts,probe,tid,thread,sku,took\n")


def form(line: str) -> str:
    """A line without what differs from run to run: numbers, names of customers, bars, widths."""
    line = re.sub(r"\b(ada|ben|cleo|dora|emil|max|mia|zoe)\b", "NAME", line)
    line = re.sub(r"\bp\d+", "PERCENTILE", line)
    line = re.sub(r"[▁-▏]+", "BAR", line)
    line = re.sub(r"<?\d[\d.,]*(?: \d{3})*(?: ?(?:ns|us|ms|s|k|M))?\b", "N", line)
    return re.sub(r"[ N]*BAR[ N]*", " BAR", re.sub(r" +", " ", line)).strip()


def printed_by(arguments: list[str], *, until: int | None = None) -> set[str]:
    """The forms of the lines that a run prints; ``until``: interrupted after so many lines of the script."""
    command = [sys.executable, "-m", "btpy", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        lines = [run.stdout.readline() for _ in range(until or 0)]
        if until is not None:
            run.send_signal(signal.SIGINT)
        rest, told = run.communicate(timeout=PATIENCE * 2)
    assert run.returncode == 0, told
    return {form(line) for line in ("".join(lines) + rest + told).splitlines()}


def test_the_first_example(shop: Target) -> None:
    command, *shown = BLOCKS[0].splitlines()
    _, _, _, *script = shlex.split(command)
    lines = printed_by([str(shop.pid), *script], until=2)
    assert {form(line) for line in shown} <= lines


def pairs() -> list[tuple[str, str]]:
    """Each script of the five examples with what the README says it prints."""
    return [
        (script, printed)
        for script, printed in pairwise(BLOCKS)
        if script.startswith(("@On", "com.acme")) and script.endswith("}\n")
    ]


@pytest.mark.parametrize(("script", "printed"), pairs())
def test_the_five_examples(script: str, printed: str, shop: Target) -> None:
    lines = printed_by([str(shop.pid), "-e", script, "--for", "3s", "--hits", "0"])
    for line in printed.splitlines():
        if line.strip() != "…":
            assert form(line) in lines


def test_there_are_five_examples() -> None:
    assert len(pairs()) == 5


FILLED = {"@lat": "n=", ":probes": r"quote .*/s +[\d.]+[nu]s.*(?s:.*)gc_calls\.end .*0/s"}
"""What the screen has when the answer to an entry is not that nothing has happened yet."""


def test_the_prompt(shop: Target, tmp_path: Path) -> None:
    transcript = next(block for block in BLOCKS if block.startswith("$ btpy OrderApp\n")).splitlines()
    entries = [line.removeprefix("OrderApp> ") for line in transcript if line.startswith("OrderApp> ")]
    assert len(entries) == 7
    command = [sys.executable, "-m", "btpy", str(shop.pid)]
    with terminal(command, columns=130, lines=120, env={"XDG_STATE_HOME": str(tmp_path)}) as screen:
        screen.wait_for("OrderApp>")
        for entry in entries:
            screen.wait_for(re.compile(r"^OrderApp>$", re.MULTILINE))
            screen.enter(entry)
            if "durration" in entry:
                screen.wait_for("not sent")
                screen.press("C-c")
            while entry in FILLED and not re.search(FILLED[entry], screen.text()):
                screen.enter(entry)
                screen.wait_for(re.compile(r"^OrderApp>$", re.MULTILINE))
        screen.wait_for("[c]ancel?")
        screen.press("d")
        assert screen.wait_for_end() == 0
        shown = screen.text(scrolled=True)
    lines = {form(line) for line in shown.splitlines()}
    for line in transcript[1:]:
        assert form(line.removesuffix(" d")) in lines, line


def test_the_python_block(shop: Target, capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = [block for block in BLOCKS if block.startswith("import btpy")]
    exec(block.replace('"OrderApp"', str(shop.pid)).replace("timeout=60", "timeout=3"), {})
    printed = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"20\d\d-\S+ \S+ http-\d SKU-\d{4}", printed[0])
    assert any(re.match(r"@slow\[SKU-\d{4}\]  n=", line) for line in printed)


def test_every_command_is_named() -> None:
    (block,) = [block for block in BLOCKS if block.startswith("btpy ps ")]
    words = set(re.findall(r"[a-z]+", block))
    assert set(NAMES) <= words
    flags = set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", block))
    known = {name for name_ in NAMES for option in command(name_).options for name in option.names}
    known |= {name for option in command("").options for name in option.names}
    assert flags <= known
