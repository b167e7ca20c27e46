"""Other users learn nothing from files of btpy, and btpy's readers handle files of other users safely."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import socket
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from btpy.cli import completion
from btpy.cli.completion import Candidate
from btpy.cli.main import main
from btpy.engine.description import Description, Place, Unreadable
from btpy.engine.session import Session
from btpy.errors import ProtocolError
from btpy.jvm import processes
from btpy.jvm.processes import JvmProcess
from btpy.lang.check.checker import check_source
from btpy.model.source import Source
from btpy.wire import codec
from btpy.wire.channel import handshake
from btpy.wire.messages import (
    FROM_AGENT,
    FROM_CLIENT,
    HANDSHAKE,
    MAGIC,
    VERSION,
    Events,
    Hello,
    Message,
    Proof,
    Welcome,
)
from tests.containers.cells import NEW_TMP, assert_traced, cell, needs_root, require_to_run
from tests.jdks import java_home
from tests.live.scripts import counted, program, waited
from tests.security.frames import Frames

SCRIPT = "Counted::step { @n = count() }"


@pytest.mark.parametrize("name", ["out.ndjson", "out.csv", "out.txt.gz", "out.btz", "out.html"])
def test_outputs_are_for_their_user_alone(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "Counted::step { @n[stack(3)] = count() }"
    umask = os.umask(0)
    try:
        with counted(17) as target:
            assert main([str(target.pid), "-e", script, "-o", str(tmp_path / name), "--for", "100ms", "-q"]) == 0
    finally:
        os.umask(umask)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir() if path.is_file()}
    assert modes
    assert set(modes.values()) == {0o600}, modes


def test_a_file_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "out.ndjson"
    path.touch()
    path.chmod(0o640)
    with counted(17) as target:
        assert main([str(target.pid), "-e", SCRIPT, "-o", str(path), "--for", "100ms", "-q"]) == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def drawn(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Records every secret and nonce from now on."""
    results: list[bytes] = []
    token_bytes = secrets.token_bytes

    def remembered(count: int) -> bytes:
        results.append(token_bytes(count))
        return results[-1]

    monkeypatch.setattr("btpy.wire.channel.secrets.token_bytes", remembered)
    return results


def test_a_recording_of_jfr_does_not_have_the_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its event jdk.JavaAgent shows the options of every agent."""
    result = drawn(monkeypatch)
    recording = tmp_path / "run.jfr"
    tools = java_home(25) / "bin"
    with counted(25, "-XX:StartFlightRecording:settings=profile") as target:
        with Session.attach(target.pid) as session:
            session.deployer.load(program(SCRIPT))
            assert session.departure.detach().clean
        dump = [str(tools / "jcmd"), str(target.pid), "JFR.dump", f"filename={recording}"]
        subprocess.run(dump, check=True, capture_output=True)
    process = subprocess.run([tools / "jfr", "print", "--events", "jdk.JavaAgent", recording], capture_output=True)
    assert b"btpy-agent.jar" in process.stdout, process.stderr
    assert result
    for data in (process.stdout, recording.read_bytes()):
        assert not re.search(rb"secret-[0-9a-f]{8}", data)
        for secret in result:
            assert secret.hex().encode() not in data
            assert secret not in data


@pytest.mark.parametrize("jdk", [8, 11, 17])
def test_no_file_with_the_secret_remains(jdk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with counted(jdk) as target, Session.attach(target.pid) as session:
        waited(lambda: not list(tmp_path.rglob("*")), "the directory of the secret is still there")
        assert session.departure.detach().clean


@needs_root
@pytest.mark.parametrize("jdk", [11, 17])
def test_the_secret_for_another_root_directory_is_the_targets_users_alone(jdk: int) -> None:
    require_to_run(*NEW_TMP)
    with cell(jdk, prefix=NEW_TMP) as target_cell:
        assert_traced(target_cell)
        target_cell.assert_undisturbed()


def jvm(**changes: object) -> JvmProcess:
    with counted(17) as target:
        return replace(processes.describe(target.pid), **changes)  # type: ignore[arg-type]


HOSTILE_NAMES = (
    "app.jar\n4711\tof root",
    "app.jar\t--allow=all",
    "\x1b[2Japp.jar",
    "--allow",
    "-e",
    "4711",
    "$(touch x)",
    "`id`",
    "a;b",
    "a\u202eb",
    "a b",
)


def test_the_name_of_a_jvm_cannot_forge_a_completion(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    one = jvm()
    jvms = [replace(one, pid=100 + at, main=name, name="") for at, name in enumerate(HOSTILE_NAMES)]
    jvms += [replace(one, pid=200 + at, name=name) for at, name in enumerate(HOSTILE_NAMES)]
    monkeypatch.setattr("btpy.api.jvms.list_jvms", lambda: jvms)
    assert main(["completion", "--word", "1", "--", "btpy", ""]) == 0
    lines = capfd.readouterr().out.split("\n")
    assert all(line.count("\t") == 1 and line.replace("\t", "").isprintable() for line in lines[:-1])
    texts = {line.partition("\t")[0] for line in lines[:-1]}
    assert {"100", "200"} <= texts
    assert not {"4711", "--allow", "-e"} & texts
    for text in texts:
        assert text.startswith(":") or shlex.quote(text) == text, text


def test_a_candidate_that_is_no_single_word_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(completion, "_libraries", lambda: [Candidate("evil\nmore"), Candidate("good", "a\nb")])
    monkeypatch.setattr(completion, "_jvms", list)
    assert main(["completion", "--word", "2", "--", "btpy", "4711", ""]) == 0
    out = capfd.readouterr().out
    assert "evil" not in out
    assert "good\ta\\nb\n" in out


@pytest.mark.parametrize("format_", ["csv", "tsv"])
def test_formulas_become_texts_with_the_option(format_: str, tmp_path: Path) -> None:
    lines = [
        '{"v":1,"type":"event","ts":"2026-11-22T00:00:00.000000Z","tid":1,"thread":"t","probe":"p","name":"e",'
        f'"data":{{"a":{text},"n":-5}}}}\n'
        for text in ('"=HYPERLINK(1)"', '"+1"', '"-1"', '"@SUM(1)"', '"\\t=1"', '"plain"', '"a=1"', '""', "null")
    ]
    source = tmp_path / "in.ndjson"
    source.write_text("".join(lines))
    separator = "," if format_ == "csv" else "\t"

    def cells(*options: str) -> list[str]:
        out = tmp_path / f"out.{format_}"
        assert main(["replay", str(source), "-f", format_, "-o", str(out), *options]) == 0
        return [line.split(separator)[-2].strip('"') for line in out.read_text().splitlines()[1:]]

    assert cells()[:4] == ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)"]
    safe = cells("--csv-safe")
    assert safe[:4] == ["'=HYPERLINK(1)", "'+1", "'-1", "'@SUM(1)"]
    assert safe[4].startswith("'")
    assert safe[5:7] == ["plain", "a=1"]
    last = tmp_path / f"out.{format_}"
    assert all(line.endswith(f"{separator}-5") for line in last.read_text().splitlines()[1:])  # numbers are not changed
    assert main(["replay", str(source), "-f", "json", "--csv-safe"]) == 2


@pytest.mark.parametrize("kind", [*FROM_AGENT, *FROM_CLIENT, Proof, Welcome], ids=lambda kind: kind.__name__)
def test_before_the_hello_nothing_else_is_decoded(kind: type[Message], monkeypatch: pytest.MonkeyPatch) -> None:
    check_nothing_is_decoded(kind, b"", {Hello}, monkeypatch)


@pytest.mark.parametrize("kind", [*FROM_AGENT, *FROM_CLIENT, Hello, Proof], ids=lambda kind: kind.__name__)
def test_before_the_welcome_nothing_else_is_decoded(kind: type[Message], monkeypatch: pytest.MonkeyPatch) -> None:
    check_nothing_is_decoded(kind, codec.encode(Hello(MAGIC, VERSION, bytes(32))), {Hello, Welcome}, monkeypatch)


def check_nothing_is_decoded(
    kind: type[Message], before: bytes, due: set[type[Message]], monkeypatch: pytest.MonkeyPatch
) -> None:
    types: list[type] = []
    decode = codec.decode

    def remembered(code: int, payload: bytes, kinds: object = None) -> Message:
        message = decode(code, payload, kinds)  # type: ignore[arg-type]
        types.append(type(message))
        return message

    monkeypatch.setattr(codec, "decode", remembered)
    message = Frames(3, [kind]).message()
    own_end, other_end = socket.socketpair()
    with own_end, other_end:
        other_end.sendall(before + codec.encode(message))
        with pytest.raises(ProtocolError):
            handshake(own_end, bytes(32))
    assert {*types} <= due
    assert Events in FROM_AGENT
    assert {Hello, Proof, Welcome} == {*HANDSHAKE}


def test_a_description_is_of_one_session_of_one_jvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    description = Description(check_source(Source("a.bt", SCRIPT)), (), ())
    place = Place("boot", 4711, 3)
    data = description.encode("build", place)
    assert Description.decode(data, "build", place).program.probes[0].name == "step"
    for other in (place._replace(boot="another"), place._replace(start_ticks=4712), place._replace(slot=4)):
        with pytest.raises(Unreadable, match="of another session"):
            Description.decode(data, "build", other)
