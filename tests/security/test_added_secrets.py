"""Secrets that a user adds with ``--secret`` reach no output and no file of that user's session; other sessions show
them.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import btpy
from btpy.errors import UsageError
from btpy.output.formats import NAMES
from btpy.recording.file import ChunkReader
from tests.jdks import compiled, java
from tests.security.secretive import assert_without_secrets, made, traced
from tests.targets import PATIENCE, Target, target

JAVA = Path(__file__).parents[1] / "java"
CALLS = 7
ADDED = ("customerNumber,*tax_id", "tariff", "/AC-Hush[0-9]{9}/")
OPTIONS = [argument for value in ADDED for argument in ("--secret", value)]
SCRIPT = """
OwnSecrets::order @entry {
  print(args); print(arg0, args[0], $customerNumber, f"of {$customerNumber}");
  print($customer); print($customer.customerNumber, $customer.taxId, $customer.note);
  let kept = $customer.customerNumber; print(kept);
  @by_number[arg0] = count(); @by_note[$customer.note] = count(); @plain["last"] = $customer.note;
  @last = last($customer.note); @top = topk($customer.note, 5);
}
OwnSecrets::note @entry { print(args); @notes[arg0] = count(); }
OwnSecrets::headers @entry {
  print(args);
  for k, v in arg0 { print(k, v, arg0[k]); let x = arg0[k]; print(x); }
  @headers[arg0["customer-number"]] = count(); print(arg1);
}
OwnSecrets.Person::getTaxId @return { print("tax", retval); @ids[retval] = count(); }
OwnSecrets::fail @throw { print(exception, message(exception)); @failures[message(exception)] = count(); }
OwnSecrets::locals @line(41) { print(locals()); print($customerNumber); }
OwnSecrets.Customer::setTariff @set(OwnSecrets.Customer::tariff) { print("tariff", oldval, newval); }
@OnBegin { print(property("billing.customerNumber"), vm_arguments()); print_properties(); }
"""
BILLING = "-Dbilling.customerNumber=Hush-in-a-property"


@pytest.fixture(scope="module", params=[11, 25], ids=["jdk11", "jdk25"])
def program(request: pytest.FixtureRequest) -> Iterator[Target]:
    classes = compiled([JAVA / "OwnSecrets.java"])
    with target(request.param, "OwnSecrets", classpath=[classes], flags=[BILLING]) as jvm:
        made(jvm, 1)  # loads the classes of the program
        yield jvm


@pytest.mark.parametrize("format_", NAMES)
def test_no_format_shows_added_secrets(program: Target, format_: str, tmp_path: Path) -> None:
    files = tmp_path / "out"
    if format_ in ("csv", "tsv", "parquet", "arrow"):  # these formats write a file for each map
        files.mkdir()
    output = f"{files}/" if files.exists() else str(files)
    console_output = traced(program, CALLS, SCRIPT, *OPTIONS, "-f", format_, "-o", output)
    file_bytes = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert_without_secrets(console_output + file_bytes)
    if format_ in ("text", "ndjson", "json", "logfmt"):
        assert b"alice paid with ***" in file_bytes
        assert b"&page=2" in file_bytes  # the text beside a secret is shown
        assert file_bytes.count("•••".encode()) >= 15 * CALLS


def test_a_client_without_added_secrets_sees_the_values(program: Target) -> None:
    output = traced(program, CALLS, SCRIPT)
    for kind in ("parameter", "field", "bean", "map", "text", "query", "message", "local", "property"):
        assert f"Hush-in-a-{kind}".encode() in output, kind
    for text in ("Hush-in-an-assignment", "Hush-in-properties", "Hush in JSON", "Hush-in-wide", "AC-Hush123456789"):
        assert text.encode() in output, text


def test_two_sessions_in_one_jvm_have_names_of_their_own(program: Target) -> None:
    script = "OwnSecrets::order @entry { print($customer); } OwnSecrets::headers @entry { print(arg0); }"
    with (
        btpy.attach(program.pid, secrets=["customerNumber"]) as numbers,
        btpy.attach(program.pid, secrets=["*tax*", "/alice/"]) as taxes,
        btpy.attach(program.pid) as neither,
    ):
        for session in (numbers, taxes, neither):
            session.add(script)
        made(program, 1)
        texts = ["\n".join(event.text for event in session.events(timeout=1)) for session in (numbers, taxes, neither)]
    secrets = ("Hush-in-a-field", "Hush-in-a-map", "Hush-in-a-bean", "alice")
    assert [[secret in text for secret in secrets] for text in texts] == [
        [False, False, True, True],
        [True, True, False, False],
        [True, True, True, True],
    ]


def test_a_recording_has_none_of_them(program: Target, tmp_path: Path) -> None:
    file = tmp_path / "run.btz"
    traced(program, CALLS, SCRIPT, *OPTIONS, "--record", str(file))
    with ChunkReader.open(file) as reader:
        assert_without_secrets(b"".join(entry.payload for entry in reader.entries()))
    result = subprocess.run([sys.executable, "-m", "btpy", "replay", str(file)], capture_output=True, check=True)
    assert_without_secrets(result.stdout)
    assert b"alice paid with ***" in result.stdout


def test_a_client_that_joins_a_session_hides_its_added_secrets(program: Target) -> None:
    with btpy.attach(program.pid, secrets=ADDED, limits=btpy.Limits(unattended=True)) as session:
        session.add(SCRIPT)
        name = session.leave(60)
    made(program, CALLS)
    command = [sys.executable, "-m", "btpy", "attach", str(program.pid), name, "--for", "1s"]
    result = subprocess.run(command, capture_output=True, check=True)
    assert_without_secrets(result.stdout)
    assert b"alice paid with ***" in result.stdout
    assert "•••".encode() in result.stdout


def test_programs_get_none_of_them(program: Target) -> None:
    with btpy.attach(program.pid, secrets=ADDED) as session:
        session.add(SCRIPT)
        made(program, CALLS)
        texts = [repr(session.maps), *(view._repr_html_() for view in session.maps.values())]
        texts += [repr(view.rows()) for view in session.maps.values()]
        texts += [repr(event) for event in session.events(timeout=1)]
    assert any("alice paid with ***" in line for line in texts)
    assert_without_secrets("\n".join(texts).encode())


def test_a_run_from_the_start_hides_them(program: Target, tmp_path: Path) -> None:
    script = "OwnSecrets::note @entry { print(args) } OwnSecrets::order @entry { print(args, $customer) }"
    java_command = [*map(str, program.command)]
    command = [sys.executable, "-m", "btpy", "run", "-e", script, "--hits", "0", *OPTIONS, "--", *java_command]
    result = subprocess.run(command, input=b"3\n", capture_output=True, check=True, timeout=PATIENCE)
    assert_without_secrets(result.stdout + result.stderr)
    assert result.stdout.count(b"alice paid with ***") == 3


def test_a_prompt_hides_them(program: Target, tmp_path: Path) -> None:
    commands = tmp_path / "commands"
    commands.write_text(
        "OwnSecrets::note @entry { print(args); @notes[arg0] = count(); @end = last(arg0); }\n"
        "OwnSecrets::order @entry { print(args, $customer); @numbers[arg0] = count(); }\n"
        ":wait 2s\n@notes\n:print @notes\n:last 100\n:grep alice\n@end\n@numbers\n:maps\n:quit\n"
    )
    command = [sys.executable, "-m", "btpy", str(program.pid), "--repl-script", str(commands), *OPTIONS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as run:
        assert run.stdout is not None
        output = b""
        while b"> :wait" not in output:
            line = run.stdout.readline()
            assert line, output.decode()
            output += line
        made(program, CALLS)
        output += run.communicate(timeout=PATIENCE)[0]
    assert run.returncode == 0, output.decode()
    assert_without_secrets(output)
    assert output.count(b"alice paid with ***") >= CALLS + 2
    assert "•••".encode() in output


def test_the_file_of_the_user_adds_to_every_run(program: Target, tmp_path: Path) -> None:
    (tmp_path / "btpy").mkdir()
    file = tmp_path / "btpy" / "redact"
    file.write_text("# of the billing department\n\ncustomerNumber, *tax_id\ntariff\n/AC-Hush[0-9]{9}/\n")
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert_without_secrets(traced(program, CALLS, SCRIPT, environment=environment))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        with btpy.attach(program.pid) as session:
            session.add(SCRIPT)
            made(program, 1)
            texts = [event.text for event in session.events(timeout=1)]
    assert any("alice" in text for text in texts)
    assert_without_secrets("\n".join(texts).encode())


@pytest.mark.parametrize("value", ["/[/", "a b", "/x*/", "*", ""])
def test_invalid_secrets_are_refused_before_the_attach(value: str) -> None:
    """No such JVM exists, and the command ends before it searches for one."""
    with pytest.raises(UsageError, match="secrets: "):
        btpy.attach("no.such.Program", secrets=[value])
    command = [sys.executable, "-m", "btpy", "no.such.Program", "-e", "A::b { print(1) }", "--secret", value]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == UsageError.exit_status
    assert result.stderr.startswith("error: --secret ")
    assert "= help: " in result.stderr


def test_a_launch_with_wrong_secrets_starts_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="secrets: "):
        btpy.launch([str(java(17)), "-version"], secrets=["/(/"])
