"""The directory of standing probes: valid files, and files that the daemon refuses."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from btpy.daemon.pods import Pods
from btpy.daemon.probes import MOST, read, read_directory
from btpy.errors import BtpyError, ScriptError, UsageError
from btpy.jvm import containers
from btpy.jvm.containers import Container
from btpy.jvm.processes import describe
from tests.live.scripts import counted

SCRIPT = 'param slow: duration = 1s "slow"; A::b @return when duration > slow { @n = count(); }'


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    folder = tmp_path / "probes.d"
    folder.mkdir(mode=0o755)
    (folder / "slow.bt").write_text(SCRIPT)
    return folder


def written(directory: Path, text: str, name: str = "slow.toml") -> Path:
    path = directory / name
    path.write_text(text)
    return path


def test_everything_that_a_file_says(directory: Path) -> None:
    path = written(
        directory,
        'jvms = ["Order", "shop"]\nscript = "slow.bt"\nparameters = { slow = "250ms" }\nbudget = "0.5%"\n'
        'expires = 2001-09-09T01:46:40Z\nallow = ["core"]\n',
    )
    probe = read(path)
    assert (probe.name, probe.jvms, probe.budget, probe.expires) == ("slow", ("Order", "shop"), 0.005, 1e9)
    assert probe.program.permissions.allow == {"core"}
    assert probe.has_expired


def test_the_least_that_a_file_says(directory: Path) -> None:
    probe = read(written(directory, 'jvms = "Order"'))
    assert (probe.budget, probe.expires, probe.has_expired) == (None, None, False)


def test_the_jvms_of_a_rule(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(17, "-Dbtpy.name=theOrders") as target:
        process = describe(target.pid)
        in_pod = Container("4711" * 16, "docker", "web", pod="shop-1", namespace="prod")
        monkeypatch.setattr(containers, "read", lambda *arguments: in_pod)
        for rule, is_for in (
            ('"Counted"', True),
            ('"Order"', True),
            ('["Stock", "count"]', False),
            ('"*"', True),
            ('"pod/prod/shop-1"', True),
            ('"pod/shop"', True),
            ('"pod/stock"', False),
            ('"container/web"', True),
            ('["Stock", "container/47114711"]', True),
            ('"shop-1"', False),
        ):
            assert read(written(directory, f"jvms = {rule}")).is_for(process, Pods(print)) is is_for, rule


def test_the_digest_changes_with_the_rule_and_with_the_script(directory: Path) -> None:
    digests = {read(written(directory, 'jvms = "Order"')).digest, read(written(directory, 'jvms = "Orders"')).digest}
    (directory / "slow.bt").write_text(SCRIPT + " ")
    digests.add(read(directory / "slow.toml").digest)
    for imported in ("param x = 1;", "param x = 2;"):
        (directory / "own.bt").write_text(imported)
        (directory / "slow.bt").write_text(f"import own;\n{SCRIPT}")
        digests.add(read(directory / "slow.toml").digest)
    assert len(digests) == 5
    assert read(directory / "slow.toml").digest in digests


def test_a_library_that_comes_with_btpy(directory: Path) -> None:
    probe = read(written(directory, 'jvms = "*"\nscript = "gc_calls"', "gc.toml"))
    assert (probe.name, len(probe.program.own) > 0) == ("gc", True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("jvms = [", "is not TOML"),
        ("", "does not say which JVMs"),
        ('jvms = [""]', "does not say which JVMs"),
        ("jvms = 7", "jvms must be a list of texts"),
        ('jvms = "A"\nbudgt = "1%"', "unknown key 'budgt'"),
        ('jvms = "A"\nbudget = 1', "share of one core"),
        ('jvms = "A"\nbudget = "101%"', "share of one core"),
        ('jvms = "A"\nexpires = "tomorrow"', "expires must be a date or a time"),
        ('jvms = "A"\nparameters = ["slow"]', "parameters are texts or numbers"),
        ('jvms = "A"\nscript = "../slow.bt"', "a file beside it"),
        ('jvms = "A"\nscript = "/etc/passwd"', "a file beside it"),
        ('jvms = "A"\nscript = "no.bt"', "cannot read no.bt"),
        ('jvms = "A"\nscript = "no_library"', "there is no library 'no_library'"),
    ],
)
def test_a_faulty_file_is_refused(directory: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(written(directory, text))
    assert message in str(caught.value)


def test_a_faulty_script_has_its_diagnostics(directory: Path) -> None:
    (directory / "slow.bt").write_text("A::b @return { print(duratio) }")
    with pytest.raises(ScriptError) as caught:
        read(written(directory, 'jvms = "A"'))
    assert caught.value.diagnostics[0].code == "BT101"


def test_one_faulty_file_does_not_prevent_the_others(directory: Path) -> None:
    written(directory, 'jvms = "A"')
    written(directory, "nonsense", "other.toml")
    written(directory, 'jvms = "A"', "a name with blanks.toml")
    probes, errors = read_directory(directory)
    assert list(probes) == ["slow"]
    assert sorted(errors) == ["a name with blanks", "other"]
    assert all(isinstance(error, BtpyError) for error in errors.values())


def test_a_directory_that_others_can_write_to_is_refused(directory: Path) -> None:
    written(directory, 'jvms = "A"')
    directory.chmod(0o777)
    with pytest.raises(UsageError, match="can be written by anybody"):
        read_directory(directory)


@pytest.mark.parametrize("name", ["slow.toml", "slow.bt"])
def test_a_file_that_others_can_write_to_is_refused(directory: Path, name: str) -> None:
    written(directory, 'jvms = "A"')
    (directory / name).chmod(0o666)
    probes, errors = read_directory(directory)
    assert (probes, list(errors)) == ({}, ["slow"])
    assert "can be written by anybody" in str(errors["slow"])


def test_a_pipe_or_a_huge_file_does_not_hold_up_the_daemon(directory: Path) -> None:
    os.mkfifo(directory / "pipe.toml")
    written(directory, "#" * 100_000, "huge.toml")
    _, errors = read_directory(directory)
    assert sorted(errors) == ["huge", "pipe"]
    assert "larger than 64 KiB" in str(errors["huge"])


def test_too_many_files_are_refused(directory: Path) -> None:
    for number in range(MOST + 1):
        written(directory, 'jvms = "A"', f"p{number}.toml")
    with pytest.raises(UsageError, match="at most 100"):
        read_directory(directory)


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read_directory(tmp_path / "none")
