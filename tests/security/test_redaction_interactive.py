"""No secret reaches a notebook or the screen of the prompt: neither one that btpy recognises nor one that the user
adds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

import btpy
from btpy.repl.prompt import Completions
from tests.jdks import compiled
from tests.repl.till import Person
from tests.security import test_added_secrets, test_redaction
from tests.security.secretive import assert_without_secrets, made
from tests.targets import Target, target
from tests.terminal.tmux import terminal

JAVA = Path(__file__).parents[1] / "java"
CALLS = 7


@pytest.fixture(scope="module", params=[11, 25], ids=["jdk11", "jdk25"])
def program(request: pytest.FixtureRequest) -> Iterator[Target]:
    with target(request.param, "Secretive", classpath=[compiled([JAVA / "Secretive.java"])]) as program:
        yield program


@pytest.fixture(scope="module", params=[11, 25], ids=["jdk11", "jdk25"])
def owner(request: pytest.FixtureRequest) -> Iterator[Target]:
    flags = [test_added_secrets.BILLING]
    with target(request.param, "OwnSecrets", classpath=[compiled([JAVA / "OwnSecrets.java"])], flags=flags) as program:
        made(program, 1)  # its classes are loaded
        yield program


PRINT = '@OnEvent("show") { print(@by_header); table(@by_header, @by_password); plot(@by_header); }'


def test_a_notebook_shows_no_secret(program: Target) -> None:
    output = notebook(program, test_redaction.SCRIPT + PRINT, ())
    assert_without_secrets(output)
    assert b"access_token=***" in output
    assert b"<td>\xe2\x80\xa2\xe2\x80\xa2\xe2\x80\xa2</td>" in output


def test_a_notebook_shows_nothing_that_was_added(owner: Target) -> None:
    output = notebook(owner, test_added_secrets.SCRIPT, test_added_secrets.ADDED)
    assert_without_secrets(output)
    assert b"alice paid with ***" in output
    assert b"<td>\xe2\x80\xa2\xe2\x80\xa2\xe2\x80\xa2</td>" in output


def notebook(program: Target, script: str, secrets: Sequence[str]) -> bytes:
    """Every form in which a notebook can show the maps and events of a session."""
    with btpy.attach(program.pid, secrets=secrets) as session:
        session.add(script)
        made(program, CALLS)
        if "@OnEvent" in script:
            session.send("show")
        maps = session.maps
        texts = [repr(session), repr(maps), str(maps), *map(repr, session.errors)]
        for view in maps.values():
            texts += [
                repr(view),
                str(view),
                view._repr_html_(),
                repr(view.rows()),
                repr(dict(view)),
                repr(view.content),
            ]
        for event in session.events(timeout=1):
            texts += [repr(event), str(event), event.text, repr(event.values)]
    return "\n".join(texts).encode()


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_data_frame_has_no_secret(package: str, program: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    class Frames:
        @staticmethod
        def DataFrame(rows: list[dict[str, object]], **how: object) -> list[dict[str, object]]:  # noqa: N802
            return rows

    monkeypatch.setitem(sys.modules, package, Frames)
    with btpy.attach(program.pid) as session:
        session.add(test_redaction.SCRIPT)
        made(program, CALLS)
        frames = [getattr(view, f"to_{package}")() for view in session.maps.values()]
    assert_without_secrets("\n".join(repr(frame) for frame in frames).encode())


ENTRIES = """
Secretive::authenticate @entry as user { print(args, $password); @by_password[arg1] = count(); }
Secretive::header @entry as header { print(arg0); @by_header[arg0] = count(); @end = last(arg0); }
Secretive::settings @entry as settings { print(args); @entries[arg0["client_secret"]] = count(); }
Secretive::connect @entry as server { print(arg0.login, arg0); @server = last(arg0.url); }
Secretive::refuse @throw as refused { print(message(exception)); @failures[message(exception)] = count(); }
""".strip().splitlines()
OWN_ENTRIES = """
OwnSecrets::order @entry as order { print(args, $customer); @by_number[arg0] = count(); }
OwnSecrets::note @entry as note { print(arg0); @by_header[arg0] = count(); @end = last(arg0); }
OwnSecrets::headers @entry as headers { print(args); @entries[arg0["Customer-Number"]] = count(); }
""".strip().splitlines()
LOOKS = (
    "@by_header",
    ":print @by_header top=20",
    ":watch @by_header",
    ":plot @by_header",
    "@end",
    "@entries",
    "size(@by_header) + 0",
    ":maps",
    ":last 100",
    ":get 2",
    ":grep alice",
    ":probes",
    ":flush @by_header",
)


def test_the_prompt_shows_no_secret(program: Target) -> None:
    lines_seen = at_the_prompt(program, ENTRIES, ())
    assert "access_token=***" in lines_seen
    assert "•••" in lines_seen


def test_the_prompt_shows_nothing_that_was_added(owner: Target) -> None:
    lines_seen = at_the_prompt(owner, OWN_ENTRIES, test_added_secrets.ADDED)
    assert "alice paid with ***" in lines_seen
    assert "•••" in lines_seen


def at_the_prompt(program: Target, entries: Sequence[str], secrets: Sequence[str]) -> str:
    """All texts that the prompt writes, draws and completes."""
    with closing(btpy.attach(program.pid, secrets=secrets)) as session:
        person = Person(session)
        try:
            for entry in entries:
                person.enter(entry)
            made(program, CALLS)
            person.wait_for("alice", CALLS)
            for look in LOOKS:
                person.enter(look)
            completions = [
                f"{completion.text} {completion.display_text} {completion.display_meta_text}"
                for text in (
                    "@",
                    "@by_header[",
                    '@by_header["',
                    ":print @",
                    ":get ",
                    "print(@by_",
                    "Secretive::",
                    "Own",
                )
                for completion in Completions(person.repl, failed).get_completions(
                    Document(text), CompleteEvent(completion_requested=True)
                )
            ]
            lines_seen = [*person.seen, *(line for view in person.views for line in view), *completions]
        finally:
            person.repl.close()
    assert any("by_header" in completion for completion in completions)
    assert person.views
    output = "\n".join(lines_seen)
    assert_without_secrets(output.encode())
    return output


def failed(what: str, error: Exception) -> None:
    raise AssertionError(what) from error


def test_the_screen_of_a_terminal_shows_no_secret(program: Target, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "btpy", str(program.pid)]
    with terminal(command, columns=200, lines=50, env={"XDG_STATE_HOME": str(tmp_path)}) as screen:
        screen.wait_for("Secretive>")
        for number, entry in enumerate(ENTRIES, 1):
            screen.enter(entry)
            screen.wait_for(f"#{number} ")
        made(program, CALLS)
        screen.wait_for("alice")
        screen.enter(":watch @by_header 200ms")
        screen.wait_for("q quits")
        text = screen.wait_for("access_token=***")
        screen.press("q")
        screen.wait_until_gone("q quits")
        screen.enter("@by_password")
        screen.wait_for("@by_password[•••]")
        text += screen.text(scrolled=True)
        screen.enter(":quit")
        screen.wait_for("[d]etach")
        screen.press("d")
        assert screen.wait_for_end() == 0
    assert_without_secrets(text.encode())
    assert_without_secrets(b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()))
