"""``--push``: the copy of btpy, the directory that it is put into, and the choice of a Python."""

from __future__ import annotations

import ast
import hashlib
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from btpy.api import push, push_node

BESIDE_TMP = "is not a directory that only this user can enter"


@pytest.fixture(scope="module")
def copy() -> push.Copy:
    return push.copy()


def test_the_copy_runs_on_a_plain_python(copy: push.Copy, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(copy.data)) as archive:
        assert not [name for name in archive.namelist() if name.endswith((".so", ".pyc")) or ".." in name]
        archive.extractall(tmp_path)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from btpy.cli.main import main; sys.exit(main(['node']))"
    )
    result = subprocess.run([sys.executable, "-I", "-S", "-c", code], stdin=subprocess.DEVNULL, capture_output=True)
    assert result.stdout == b""
    assert b"no request came on standard input" in result.stderr


def test_the_same_files_give_the_same_copy(copy: push.Copy) -> None:
    assert push.copy() == copy


def test_the_first_step_can_be_read_by_every_python_3(copy: push.Copy) -> None:
    choose, source = map(ast.literal_eval, copy.steps.decode().splitlines())
    ast.parse(choose, feature_version=(3, 4))
    assert hashlib.sha256(copy.data).hexdigest() in source


OLD = """
import sys
sys.version_info, sys.version = (3, 9, 2), "3.9.2 (old)"
exec(eval(open(0, 'rb', 0, closefd=False).readline()))
"""


def test_an_old_python_is_reported(copy: push.Copy, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-I", "-S", "-c", OLD], input=copy.steps, capture_output=True, env={"PATH": str(tmp_path)}
    )
    assert (result.returncode, result.stdout) == (1, b"")
    assert result.stderr == b"btpy: this host has Python 3.9.2, and btpy needs Python 3.11 or later\n"


def test_an_old_python_starts_a_newer_one(copy: push.Copy, tmp_path: Path) -> None:
    """The old Python looks for a newer one that works, because some version managers have a program even for versions
    that are not installed.
    """
    for name, text in (
        ("python3.13", "exit 127"),
        ("python3.12", "case $4 in import*) ;; *) echo newer $*; cat;; esac"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    path = f"relative:{tmp_path}:/usr/bin:/bin"
    result = subprocess.run(
        [sys.executable, "-I", "-S", "-c", OLD], input=copy.steps, capture_output=True, env={"PATH": path}
    )
    assert result.returncode == 0, result.stderr
    first, rest = result.stdout.split(b"\n", 1)
    assert first == b"newer -I -S -c exec(eval(open(0,'rb',0,closefd=False).readline()))"
    assert rest == copy.steps.split(b"\n", 1)[1]


def unpacked(place: Path, data: bytes, digest: str, size: int) -> subprocess.CompletedProcess[bytes]:
    """Runs the part of ``--push`` that works on the host; ``place`` is the private directory of btpy there."""
    code = (
        "import sys; from btpy.api import push_node; "
        f"push_node._private_directory = lambda: {str(place)!r}; print(push_node.unpack({digest!r}, {size}))"
    )
    return subprocess.run([sys.executable, "-c", code], input=data, capture_output=True)


def test_a_copy_is_sent_once_and_compared_with_its_checksum(copy: push.Copy, tmp_path: Path) -> None:
    digest, size = hashlib.sha256(copy.data).hexdigest(), len(copy.data)
    for data, reason in ((copy.data[:-1], b"the connection ended"), (b"x" * size, b"with another checksum")):
        process = unpacked(tmp_path, data, digest, size)
        assert (process.returncode, process.stdout) == (1, push_node.NEEDED)
        assert reason in process.stderr
        assert list(tmp_path.iterdir()) == []
    result = unpacked(tmp_path, copy.data, digest, size)
    assert result.stdout == push_node.NEEDED + f"{tmp_path / digest}\n".encode(), result.stderr
    repetition = unpacked(tmp_path, b"", digest, size)
    assert repetition.stdout == push_node.PRESENT + f"{tmp_path / digest}\n".encode(), repetition.stderr
    assert [path.name for path in tmp_path.iterdir()] == [digest]
    assert (tmp_path / digest).stat().st_mode & 0o777 == 0o700
    os.utime(tmp_path / digest, (0, 0))
    other = hashlib.sha256(b"PK").hexdigest()
    assert unpacked(tmp_path, b"PK", other, 2).returncode == 1  # no archive, but old copies are gone
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_others_can_change_is_not_used(tmp_path: Path) -> None:
    user = os.geteuid()
    tmp_path.chmod(0o755)
    assert push_node._make(str(tmp_path / "new" / "pushed"), user) == ""
    assert (tmp_path / "new" / "pushed").stat().st_mode & 0o777 == 0o700
    for name, mode in (("shared", 0o755), ("group", 0o770)):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(mode)
        assert BESIDE_TMP in push_node._make(str(tmp_path / name), user)
    (tmp_path / "link").symlink_to(tmp_path / "new" / "pushed")
    assert BESIDE_TMP in push_node._make(str(tmp_path / "link"), user)
    (tmp_path / "file").touch()
    assert BESIDE_TMP in push_node._make(str(tmp_path / "file"), user)
    (tmp_path / "new").chmod(0o777)
    assert (
        push_node._make(str(tmp_path / "new" / "pushed"), user) == f"{tmp_path / 'new'} can be changed by another user"
    )
    (tmp_path / "new").chmod(0o1777)
    assert push_node._make(str(tmp_path / "new" / "pushed"), user) == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a directory to another user")
def test_a_directory_of_another_user_is_not_used(tmp_path: Path) -> None:
    place = tmp_path / "pushed"
    place.mkdir(mode=0o700)
    os.chown(place, 65534, 65534)
    assert BESIDE_TMP in push_node._make(str(place), 0)
    os.chown(place, 0, 0)
    os.chown(tmp_path, 65534, 65534)
    assert push_node._make(str(place), 0) == f"{tmp_path} can be changed by another user"
