"""Checks every command and script on the pages of the documentation, and runs those about the shop. Errors have the
line of the page.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from btpy.cli import commands as table
from btpy.cli.options import parse
from btpy.errors import BtpyError, ScriptError
from btpy.lang.check.checker import check_source
from btpy.lang.link.libraries import Libraries
from btpy.model.permissions import Permissions
from btpy.model.source import Source
from examples.shop.build_shop import MAIN
from tests.examples.pages import PAGES, ROOT, Block, Command, blocks, commands
from tests.examples.shop import shop_jar
from tests.jdks import java
from tests.maven import H2, artifact
from tests.probes.test_libraries import classes
from tests.targets import PATIENCE, Target, target
from tests.terminal.tmux import terminal

NOT_RUN = {
    "docs/architecture.md": 1,
    "docs/cost.md": 2,
    "docs/editors/README.md": 3,
    "docs/events.md": 3,
    "docs/how-to/containers.md": 1,
    "docs/how-to/dashboards.md": 6,
    "docs/how-to/kubernetes.md": 5,
    "docs/how-to/many-hosts.md": 3,
    "docs/how-to/parquet.md": 3,
    "docs/how-to/prometheus.md": 3,
    "docs/how-to/slow-requests.md": 2,
    "docs/how-to/standing-probes.md": 3,
    "docs/how-to/triage.md": 1,
    "docs/language.md": 1,
    "docs/protocol.md": 1,
    "docs/recording.md": 3,
    "docs/releasing.md": 2,
    "docs/runtime.md": 6,
    "docs/terminal.md": 3,
    "docs/testing.md": 1,
}
"""For each page, the number of blocks that cannot be run. A new block of this kind needs a change here, so that a
reviewer sees it."""
GENERATED = {"docs/commands.md", "docs/libraries.md"}
"""Other tests check the blocks of these pages: tests/cli checks usage lines and examples of the help, and tests/probes
checks the output of libraries.
"""

BLOCKS = [block for page in PAGES for block in blocks(page)]
COMMANDS = [command for block in BLOCKS if block.language in ("console", "sh") for command in commands(block)]
TYPED = [command for command in COMMANDS if command.words()[:1] == ["btpy"]]
SCRIPTS = [block for block in BLOCKS if block.language == "btpy" and block.reason is None]
LIVE = sorted({block.page for block in BLOCKS if block.language == "console" and block.reason is None})
SHOP = ["java", "-cp", "btpy/_demo/shop.jar", MAIN, "--rate", "300"]
"""The commands with which the tutorial starts the shop; the tests have it running."""
LONGEST = 2
"""The longest time after ``--for``, in seconds: the tests shorten longer times to it. The shop takes a fifth of a
processor all the time."""
OWN_NAME = f"shop-of-pages-{os.getpid()}"
"""The ``-Dbtpy.name`` of the shop of this process: other shops may run on the machine."""


def test_blocks_that_are_not_run_are_counted() -> None:
    counts = Counter(str(block.page.relative_to(ROOT)) for block in BLOCKS if block.reason is not None)
    assert {page: count for page, count in counts.items() if page not in GENERATED} == NOT_RUN, "change NOT_RUN above"


def test_a_block_that_cannot_be_run_has_a_reason() -> None:
    assert [block.place for block in BLOCKS if block.language == "text" and block.reason is None] == []


def test_no_code_is_indented() -> None:
    """Tests cannot find a block without a fence."""
    for page in PAGES:
        fenced, before = False, "-"
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            fenced ^= line.startswith("```")
            indented = re.match(r" {4}\S", line) and before == "" and not fenced
            assert not indented, f"{page.relative_to(ROOT)}:{number}"
            before = line


def test_lines_wrap_at_100_columns() -> None:
    """Headings, tables and pictures cannot be broken; generated pages and pages of results are not checked."""
    unwrapped = {"language.md", "events.md", "commands.md", "SECURITY.md"}
    for page in PAGES:
        fenced = False
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            fenced ^= line.startswith("```")
            breakable = not fenced and not line.startswith(("|", "#", "![", "<!--")) and " " in line.lstrip("- ")
            too_long = breakable and len(line) > 100 and page.name not in unwrapped
            assert not too_long, f"{page.relative_to(ROOT)}:{number}: {len(line)} columns"


def check_script(script: str, place: str, line: int, libraries: list[Path]) -> None:
    """Checks a script as if it were a file with this first line, so that its errors have the lines of the page."""
    source = Source(place, "\n" * (line - 1) + script)
    try:
        allowed = Permissions(frozenset(["heap-dump"]))
        assert check_source(source, Libraries.of(os.environ, libraries), permissions=allowed).warnings == ()
    except ScriptError as error:
        raise AssertionError(f"{place}:{line}\n{error}") from None


@pytest.mark.parametrize("block", SCRIPTS, ids=lambda block: block.place)
def test_the_checker_accepts_the_script(block: Block, tmp_path: Path) -> None:
    for other in BLOCKS:
        if other.page == block.page and other.title is not None:
            (tmp_path / other.title).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / other.title).write_text(other.text)
    place = str(block.page.relative_to(ROOT))
    check_script(block.text, place, block.line, [path for path in tmp_path.iterdir() if path.is_dir()])


@pytest.mark.parametrize("command", TYPED, ids=lambda command: command.place)
def test_the_options_of_the_command_exist(command: Command) -> None:
    _, *words = command.words()
    line = table.module(words[0]).COMMAND
    try:
        parsed = parse(line, words[1:] if line.name else words)
    except BtpyError as error:
        raise AssertionError(f"{command.place}: {error}") from None
    options = {option.lstrip("-").replace("-", "_") for option in parsed.parameters}
    if options and not line.takes_parameters:
        raise AssertionError(f"{command.place}: no options: {options}")


@pytest.mark.parametrize(
    "block",
    [block for block in BLOCKS if block.language == "toml" and block.reason is None],
    ids=lambda block: block.place,
)
def test_the_file_is_toml(block: Block) -> None:
    tomllib.loads(block.text)


def test_programs_in_python_are_on_the_page_whose_test_runs_them() -> None:
    assert {str(block.page.relative_to(ROOT)) for block in BLOCKS if block.language == "python"} == {"docs/python.md"}


def test_json_is_json() -> None:
    """docs/events.md has records of a run, cut at the right; its own test compares them with the run."""
    for block in BLOCKS:
        if block.language == "json" and block.page.name != "events.md":
            json.loads(block.text)


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in TYPED], ids=lambda c: c.place)
def test_other_commands_name_existing_targets(command: Command) -> None:
    """Targets of make, and files that are given to Python, pytest and git."""
    words = command.words()
    if words[:1] == ["make"]:
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert {word for word in words[1:] if "=" not in word} <= set(targets), command.place
    for word in words:
        if word.startswith(("tests/", "docs/", "examples/", "benchmarks/", "probes/")):
            assert (ROOT / word.partition("::")[0]).exists(), f"{command.place}: {word}"


def form(line: str) -> str:
    """A line without the parts that differ from run to run: numbers, names of customers, ids, bars, widths."""
    line = re.sub(rf"\b({getpass.getuser()}|root)\b", "USER", line)
    line = re.sub(r"\b(ada|ben|cleo|dora|emil|max|mia|zoe)\b", "NAME", line)
    line = re.sub(r"\bp\d[\d.]*", "PERCENTILE", line)
    line = re.sub(r"[▁-▏]+", "BAR", line)
    line = re.sub(r"\b[0-9a-f]{8}\b|\b\d+h\d+m\b|\b20\d\d-\d\d-\S+Z\b", "N", line)
    line = re.sub(r"(?:<=?|≈)?\d[\d.,]*(?: \d{3})*(?: ?(?:ns|us|ms|s|k|M))?\b", "N", line)
    return re.sub(r"[ N]*BAR[ N]*", " BAR", re.sub(r" +", " ", line)).strip()


@contextmanager
def open_shop(directory: Path) -> Iterator[Target]:
    """Starts the shop as the tutorial does, with the jar under the name that the pages show."""
    jar = directory / "shop.jar"
    shutil.copy(shop_jar(), jar)
    flags = [f"-Dbtpy.name={OWN_NAME}"]
    with target(17, MAIN, *SHOP[SHOP.index(MAIN) + 1 :], classpath=[jar], flags=flags) as program:
        yield program


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with open_shop(tmp_path_factory.mktemp("shop")) as program:
        yield program


def started(command: str) -> list[str]:
    """The program and the arguments of a command line. A shell runs the line, except a line of ``btpy`` in which a
    shell would replace nothing.
    """
    unquoted = re.sub(r"'[^']*'", "", command)
    name, *words = shlex.split(command)
    if name == "btpy" and re.fullmatch(r"[\w ./:=+,@-]*", unquoted):
        return [sys.executable, "-m", "btpy", *words]
    return ["bash", "-c", command]


class Reader:
    """A command line; its output is read while it runs. ``on_line`` is called with each line and the reader."""

    def __init__(self, command: str, directory: Path, on_line: Callable[[Reader, str], None]) -> None:
        directories = [Path(__file__).parent / "bin", Path(sys.executable).parent, java(17).parent]
        path = os.pathsep.join([*map(str, directories), os.environ["PATH"]])
        self.process = subprocess.Popen(
            started(command),
            cwd=directory,
            env={**os.environ, "PATH": path, "XDG_STATE_HOME": str(directory / ".state")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._on_line = on_line
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                self.lines.append(line.rstrip("\n"))
                self._on_line(self, line)

    def wait(self) -> int:
        try:
            return self.process.wait(PATIENCE * 2)
        finally:
            self.process.kill()
            self._thread.join()


def shell(command: Command, pids: dict[str, int]) -> str:
    """The command with pids instead of names, because other JVMs on the machine may have these names, and with short
    times. A command that shows nothing and never ends runs for two seconds. On a busy machine, the budget would leave
    out hits that the page shows.
    """
    text = re.sub(r"--for (\d+)s", lambda time: f"--for {min(int(time[1]), LONGEST)}s", command.text)
    if has_a_budget(command):
        text = re.sub(r"^btpy( run)? ", r"\g<0>--budget off ", text)
    for name, pid in pids.items():
        text = re.sub(rf"(?<![.\w]){name}(?![.\w])", str(pid), text)
    return text if command.output or ends_by_itself(command) else f"{text} --for 2s"


_BOUNDED = {"--for", "--hits", "-n", "--until", "-x"}
_TRACING = {"latency", "args", "stacks", "fields", "count", "trace"}


def ends_by_itself(command: Command) -> bool:
    """Whether the command is bounded, is refused, or does not trace."""
    words = command.words()
    if words[0] != "btpy":
        return True
    is_refused = any(line.startswith("error") for line in command.output)
    return is_refused or bool(_BOUNDED & set(words)) or words[1] in set(table.NAMES) - _TRACING


def has_a_budget(command: Command) -> bool:
    """Whether the command puts in probes of the user, with the usual budget."""
    words = command.words()
    return words[0] == "btpy" and words[1] not in set(table.NAMES) - {"run"} and "--budget" not in words


def run(command: Command, directory: Path, targets: dict[str, Target]) -> None:
    """Runs the command, and looks for every line that the page shows below it."""
    text = shell(command, {name: target.pid for name, target in targets.items()})
    gated = [target for name, target in targets.items() if name in command.words() and name != "OrderApp"]
    printed_by_probes = sum(line.startswith("SKU-") for line in command.output)

    def on_line(reader: Reader, line: str) -> None:
        if "Ctrl-C to end" in line:
            for program in gated:
                program.send()
        count = sum(line.startswith("SKU-") for line in reader.lines)
        if count == printed_by_probes and line.startswith("SKU-") and not ends_by_itself(command):
            reader.process.send_signal(signal.SIGINT)

    reader = Reader(text, directory, on_line)
    status = reader.wait()
    forms = {form(line.replace(f" [{OWN_NAME}]", "")) for line in reader.lines}
    output = "\n".join(reader.lines)
    lines = [line for line in command.output if line.strip() and form(line) not in forms]
    assert lines == [], f"{command.place}: {text}\nprints no such line. It prints:\n{output}"
    expected = 2 if any(line.startswith("error") for line in command.output) else 0
    assert status == expected, f"{command.place}: {text}\n{output}"


@pytest.mark.parametrize("page", LIVE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_print_the_lines_shown(page: Path, shop: Target, tmp_path: Path) -> None:
    """Runs the commands in the order of the page, in one directory, with the files that the page says to save."""
    for name in ("btpy", "examples", "probes"):
        (tmp_path / name).symlink_to(ROOT / name)
    page_blocks = [block for block in BLOCKS if block.page == page and block.reason is None]
    with ExitStack() as stack:
        targets = {"OrderApp": shop}
        if any("Transactions" in block.text for block in page_blocks if block.language == "console"):
            bank = target(17, "Transactions", classpath=classes("Transactions", artifact(H2)))
            targets["Transactions"] = stack.enter_context(bank)
        for block in page_blocks:
            if block.title is not None:
                (tmp_path / block.title).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / block.title).write_text(block.text.replace('jvms = ["OrderApp"]', f'jvms = ["{OWN_NAME}"]'))
            for command in commands(block) if block.language == "console" else ():
                if command.words() == SHOP:
                    assert form(shop.stdout[0]) == form(command.output[0])
                else:
                    run(command, tmp_path, targets)


FILLED = {"@lat": "n=", ":probes": r"quote .*/s +[\d.]+[nu]s.*(?s:.*)gc_calls\.end .*0/s"}
"""For an entry at the prompt: a pattern of its complete answer."""


def test_the_prompt(tmp_path: Path) -> None:
    """Uses a shop of its own: in the common shop, the commands of other pages have made the JDK load further
    classes."""
    (block,) = [block for block in BLOCKS if block.language == "prompt"]
    transcript = block.text.splitlines()
    entries = [line.removeprefix("OrderApp> ") for line in transcript if line.startswith("OrderApp> ")]
    assert len(entries) == 7
    with ExitStack() as stack:
        shop_program = stack.enter_context(open_shop(tmp_path))
        command = [sys.executable, "-m", "btpy", str(shop_program.pid)]
        environment = {"XDG_STATE_HOME": str(tmp_path)}
        screen = stack.enter_context(terminal(command, columns=130, lines=120, env=environment))
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
        screen_text = screen.text(scrolled=True)
    lines = {form(line) for line in screen_text.splitlines()}
    for line in transcript[1:]:
        assert form(line.removesuffix(" d")) in lines, line


def test_the_five_examples_of_readme_print_something(shop: Target) -> None:
    """Runs the five examples at the same time."""
    scripts = [block for block in SCRIPTS if block.page == ROOT / "README.md"]
    assert len(scripts) == 5

    def printed(block: Block) -> subprocess.CompletedProcess[str]:
        arguments = [str(shop.pid), "-e", block.text, "--for", "2s", "--hits", "0", "-q"]
        return subprocess.run(
            [sys.executable, "-m", "btpy", *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    with ThreadPoolExecutor() as pool:
        for block, completed in zip(scripts, pool.map(printed, scripts), strict=True):
            assert completed.returncode == 0, f"{block.place}: {completed.stderr}"
            assert completed.stdout.strip(), block.place
