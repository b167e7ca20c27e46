"""No secret of a program with many kinds of secrets reaches an output or a file of btpy."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import btpy
from btpy.model.secrets import Secrets, names_secret
from btpy.output.formats import NAMES
from btpy.recording.file import ChunkReader
from tests.jdks import compiled
from tests.output.otlp.backend import attributes, backend
from tests.security import secretive as secretive_runs
from tests.security.secretive import assert_without_secrets
from tests.targets import Target, target

JAVA = Path(__file__).parents[1] / "java"
CALLS = 7
ARGUMENTS = """
Secretive::authenticate @entry { print(args); print(arg1, args[1], $password); @by_password[arg1] = count(); }
Secretive::header @entry { print(args, arg0); @by_header[arg0] = count(); @last = last(arg0); @top = topk(arg0, 5); }
Secretive::settings @entry {
  print(args);
  for k, v in arg0 { print(k, v, arg0[k]); let x = arg0[k]; print(x); }
  @entries[arg0["client_secret"]] = count();
}
Secretive::connect @entry { print(args); print(arg0.url, arg0.login, arg0.login.password, f"url {arg0.url}"); }
"""
RESULTS = """
Secretive.Credentials::getPassword @return { print(retval); @results[retval] = count(); }
Secretive.Credentials::apiKey @return { print("key", retval); @key = last(retval); }
Secretive::refuse @throw { print(exception, message(exception)); @failures[message(exception)] = count(); }
Secretive::wide @return { print(args, retval); @wide[arg0] = count(); }
Secretive::renew @set(Secretive::token) { print(oldval, newval); }
"""
SCRIPT = ARGUMENTS + RESULTS


@pytest.fixture(scope="module")
def program() -> Iterator[Target]:
    classes = compiled([JAVA / "Secretive.java"])
    with target(17, "Secretive", classpath=[classes]) as program:
        yield program


def traced(program: Target, *options: str, script: str = SCRIPT) -> bytes:
    return secretive_runs.traced(program, CALLS, script, *options)


def made(program: Target) -> None:
    secretive_runs.made(program, CALLS)


@pytest.mark.parametrize("format_", NAMES)
def test_no_format_shows_a_secret(program: Target, format_: str, tmp_path: Path) -> None:
    files = tmp_path / "out"
    if format_ in ("csv", "tsv", "parquet", "arrow"):  # these formats write a file for each map
        files.mkdir()
    output = traced(program, "-f", format_, "-o", f"{files}/" if files.exists() else str(files))
    file_bytes = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert_without_secrets(output + file_bytes)
    if format_ in ("text", "ndjson", "json", "logfmt"):
        assert b"alice" in file_bytes  # values that are not secret are shown
        assert b"jdbc:postgresql://db1/shop?user=app&password=***" in file_bytes
        assert file_bytes.count("•••".encode()) >= 5 * CALLS


def test_an_export_has_no_secret(program: Target) -> None:
    with backend() as receiver:
        output = traced(program, "-o", receiver.url)
        logs = [record.SerializeToString() for _, record in receiver.logs]
        metrics = [metric.SerializeToString() for _, metric in receiver.reports]
    assert_without_secrets(output + b"".join(logs) + b"".join(metrics))
    for exported in (logs, metrics):
        assert any(b"alice" in message for message in exported)
    assert sum(message.count("•••".encode()) for message in logs) >= 5 * CALLS


def test_attributes_of_the_application_that_are_secrets_are_not_exported() -> None:
    variables = {**os.environ, "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=test,db.password=Hush-in-a-variable"}
    with (
        backend() as receiver,
        target(17, "Secretive", classpath=[compiled([JAVA / "Secretive.java"])], env=variables) as program,
    ):
        traced(program, "-o", receiver.url)
        resource = attributes(list(receiver.logs[0][0].attributes))
    assert (resource["deployment.environment"], resource["db.password"]) == ("test", "•••")


def test_a_recording_has_no_secret(program: Target, tmp_path: Path) -> None:
    file = tmp_path / "run.btz"
    traced(program, "--record", str(file))
    with ChunkReader.open(file) as reader:
        assert_without_secrets(b"".join(entry.payload for entry in reader.entries()))
    result = subprocess.run([sys.executable, "-m", "btpy", "replay", str(file)], capture_output=True, check=True)
    assert_without_secrets(result.stdout)
    assert b"alice" in result.stdout


def test_an_unattended_session_holds_no_secret_for_the_next_client(program: Target) -> None:
    with btpy.attach(program.pid, limits=btpy.Limits(unattended=True)) as session:
        session.add(SCRIPT)
        name = session.leave(60)
    made(program)
    command = [sys.executable, "-m", "btpy", "attach", str(program.pid), name, "--for", "1s"]
    result = subprocess.run(command, capture_output=True, check=True)
    assert_without_secrets(result.stdout)
    assert b"alice" in result.stdout


def test_programs_get_no_secret(program: Target) -> None:
    with btpy.attach(program.pid) as session:
        session.add(SCRIPT)
        made(program)
        texts = [repr(session.maps)]
        texts += [repr(event) for event in session.events(timeout=1)]
    assert any("alice" in line for line in texts)
    assert_without_secrets("\n".join(texts).encode())


SECRET_NAMES = [
    "pin",
    "API_token",
    "customerPassword2",
    "slackToken",
    "GITHUB_SECRET",
    "db.pwd",
    "x-cvv",
    "aOTP",
    "Cookie",
]
OTHER_NAMES = [
    "pinned",
    "passé",
    "count",
    "tokens",
    "tokenizer",
    "monkey",
    "aotp",
    "Pincer",
    "token_count",
    "SECRETARY",
]


def test_the_agent_and_the_checker_know_the_same_names(program: Target) -> None:
    assert [name for name in SECRET_NAMES + OTHER_NAMES if names_secret(name)] == SECRET_NAMES
    with btpy.attach(program.pid) as session:
        session.add("Secretive::settings @entry { for k, v in arg0 { print(k, v); } }")
        program.send("names " + " ".join(SECRET_NAMES + OTHER_NAMES))
        program.wait_for("called with names")
        texts = [event.text for event in session.events(timeout=1)]
    assert texts == [f"{name} •••" for name in SECRET_NAMES] + [f"{name} Hush" for name in OTHER_NAMES]


ADDED = ["customerNumber", "*number", "tax*", "*a*b*c*", "x*x", "a.b", "*a*a*a*a*a*a*a*a*a*a*b"]
ADDED_NAMES = [
    "CUSTOMER_NUMBER",
    "a.customer-number",
    "taxNumber",
    "tax",
    "TAX_id",
    "1a2b3c4",
    "xx",
    "x.x1x",
    "ab",
    "a" * 40,
]
ADDED_NAMES += [
    "numbers",
    "syntax",
    "cba",
    "x",
    "b",
    "a" * 40 + "b",
    "a" * 64 + "b",
    "$tax",
    "tax.",
    ".tax",
    "a.tax.b",
    "...",
]


def test_the_agent_and_the_checker_compare_added_names_alike(program: Target) -> None:
    secrets = Secrets.of(ADDED)
    hidden = [name for name in ADDED_NAMES if secrets.names_secret(name)]
    assert 10 < len(hidden) < len(ADDED_NAMES) - 5
    with btpy.attach(program.pid, secrets=ADDED) as session:
        session.add("Secretive::settings @entry { for k, v in arg0 { print(k, v); } }")
        program.send("names " + " ".join(ADDED_NAMES))
        program.wait_for("called with names")
        texts = [event.text for event in session.events(timeout=1)]
    assert texts == [f"{name} {'•••' if name in hidden else 'Hush'}" for name in ADDED_NAMES]


def test_secrets_are_shown_when_the_user_asks_for_them(program: Target) -> None:
    output = traced(program, "--no-redact", "--allow", "sensitive")
    for kind in ("a-parameter", "a-header", "a-map", "properties", "a-url", "a-field", "wide-characters", "a-message"):
        assert f"Hush-in-{kind}".encode() in output, kind


def test_equal_texts_have_other_hashes_in_another_run(program: Target) -> None:
    """Otherwise an attacker could find a code of six digits by trying all codes."""
    script = 'Secretive::authenticate @entry { print("hash", hash(arg1), hash(arg0) == hash("alice")); }'
    lines = [traced(program, script=script).decode().splitlines() for _ in range(2)]
    first, second = ({line for line in run if line.startswith("hash ")} for run in lines)
    assert len(first) == len(second) == 1
    assert all(line.endswith(" true") for line in first | second)
    assert first != second
