"""Files that control btpy must be trusted: scripts, libraries, tests of libraries, the Java runtime that btpy loads."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from btpy import files
from btpy.api.check import check
from btpy.files import Untrusted
from btpy.jvm import launch
from btpy.lang.link.libraries import Libraries, LibraryError
from tests.containers.cells import NOBODY, needs_root
from tests.jdks import java_home
from tests.live.scripts import counted

COMMAND = Path(sys.executable).with_name("btpy")
SCRIPT = "Counted::step { @n = count() }\n"
OTHER = 4711  # a user id that no user has


def btpy(directory: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if name not in ("BTPY_TRUST", "SUDO_UID")}
    return subprocess.run(
        [COMMAND, *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=60,
        env={**variables, "XDG_CONFIG_HOME": str(directory / "none"), **environment},
    )


@pytest.fixture
def directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A directory that only this user, who is not trusted, can write."""
    for name in ("BTPY_TRUST", "SUDO_UID"):
        monkeypatch.delenv(name, raising=False)
    tmp_path.chmod(0o755)
    return tmp_path


def written(path: Path, text: str = SCRIPT, mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_name_is_the_library_that_comes_with_btpy(directory: Path) -> None:
    """btpy does not read the file from the working directory, where any user may have put it."""
    written(directory / "jdbc.bt", "Evil::e { @evil = count() }")
    written(directory / "jdbc", "Evil::e { @evil = count() }")
    for result in (btpy(directory, "lib", "show", "jdbc"), btpy(directory, "help", "jdbc")):
        assert result.returncode == 0, result.stderr
        assert "evil" not in (result.stdout + result.stderr).lower()
    assert btpy(directory, "check", "jdbc").returncode == 0
    assert (
        "evil"
        in btpy(
            directory, "lib", "show", "mine", BTPY_PATH=str(written(directory / "x" / "mine.bt", "// evil").parent)
        ).stdout
    )


def test_a_library_of_ones_own_does_not_hide_one_of_btpy(directory: Path) -> None:
    written(directory / "own" / "jdbc.bt", "// evil")
    assert "evil" not in btpy(directory, "lib", "show", "jdbc", "-I", "own").stdout
    assert Libraries((directory / "own",)).named("jdbc").parent == Libraries().packaged.resolve()
    assert Libraries((directory / "own",)).find("jdbc", quoted=False, beside=None).parent == directory / "own"


def test_a_file_is_written_as_a_path(directory: Path) -> None:
    written(directory / "mine.bt")
    written(directory / "script.txt")
    for path in ("mine.bt", "./mine.bt", str(directory / "mine.bt"), "./script.txt"):
        assert btpy(directory, "check", path).returncode == 0, path
    result = btpy(directory, "check", "script.txt")
    assert result.returncode == 2
    assert "there is no library 'script.txt'; a file is written as a path" in result.stderr
    assert "= help: btpy … ./script.txt" in result.stderr
    assert btpy(directory, "check", "mine").returncode == 2


def test_a_text_imports_nothing_from_the_working_directory(directory: Path) -> None:
    written(directory / "mine.bt", "param x = 1;")
    result = btpy(directory, "check", "-e", "import mine; @OnEnd { print(mine.x) }")
    assert result.returncode == 2
    assert "there is no library 'mine'" in result.stderr
    assert btpy(directory, "check", "-e", 'import "./mine.bt"; @OnEnd { print(mine.x) }').returncode == 0


@pytest.mark.parametrize("mode", [0o646, 0o666, 0o602 | 0o044])
@pytest.mark.parametrize("named", [True, False])
def test_files_that_any_user_can_write_are_refused(directory: Path, mode: int, named: bool) -> None:
    path = written(directory / "mine.bt", mode=mode)
    with pytest.raises(Untrusted, match="can be written by anybody") as error:
        files.open_trusted(path, named=named)
    assert f"chmod go-w {path}" in error.value.help


def test_a_directory_that_anybody_can_write_needs_the_sticky_bit(directory: Path) -> None:
    path = written(directory / "open" / "mine.bt")
    path.parent.chmod(0o777)
    with pytest.raises(Untrusted, match=r"its directory .* can be written by anybody"):
        files.open_trusted(path, named=True)
    path.parent.chmod(0o1777)
    with files.open_trusted(path) as file:
        assert file.read() == SCRIPT.encode()


@needs_root
def test_a_group_may_write_only_where_it_is_the_owners_own(directory: Path) -> None:
    path = written(directory / "mine.bt", mode=0o664)
    with files.open_trusted(path):
        pass  # group root of user root: most distributions have a group for each user
    os.chown(path, 0, 1)
    with pytest.raises(Untrusted, match="can be written by group"):
        files.open_trusted(path)
    path.chmod(0o644)
    with files.open_trusted(path):
        pass


@needs_root
@pytest.mark.parametrize("what", ["file", "directory"])
@pytest.mark.parametrize("named", [True, False])
def test_root_runs_nothing_of_another_user(directory: Path, what: str, named: bool) -> None:
    path = written(directory / "theirs" / "mine.bt")
    os.chown(path if what == "file" else path.parent, OTHER, OTHER)
    with pytest.raises(Untrusted, match=rf"belongs to user {OTHER}") as error:
        files.open_trusted(path, named=named)
    assert any(f"BTPY_TRUST={OTHER}" in line for line in error.value.help)


@needs_root
@pytest.mark.parametrize("variable", ["BTPY_TRUST", "SUDO_UID"])
def test_the_user_that_called_sudo_is_believed(directory: Path, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(directory / "theirs" / "mine.bt")
    for target in (path, path.parent):
        os.chown(target, OTHER, OTHER)
    monkeypatch.setenv(variable, str(OTHER))
    with files.open_trusted(path, named=True):
        pass
    for nonsense in ("", "nobody-of-this-name", "-1", "0x1267", "४७११"):
        monkeypatch.setenv(variable, nonsense)
        with pytest.raises(Untrusted):
            files.open_trusted(path, named=True)


@needs_root
def test_every_way_in_refuses(directory: Path) -> None:
    """Commands, imports, searched libraries, tests of libraries, Python programs, the prompt."""
    other_file = written(directory / "theirs" / "mine.bt", "param x = 1;\n" + SCRIPT)
    written(directory / "theirs" / "mine.test.toml", '[[classes]]\ncp = ["."]\nmethods = {}\n')
    for path in (other_file.parent, *other_file.parent.iterdir()):
        os.chown(path, OTHER, OTHER)
    own_file = written(directory / "own.bt", 'import "theirs/mine.bt"; @OnEnd { print(mine.x) }')
    environment = {"BTPY_PATH": str(other_file.parent)}
    with counted(17) as target:
        attempts = (
            ("check", str(other_file)),
            ("check", str(own_file)),
            ("check", "mine"),
            ("check", "-e", "import mine; @OnEnd { print(mine.x) }"),
            ("check", "-I", "theirs", "mine"),
            ("lib", "show", "mine"),
            ("test", str(other_file)),
            ("ls", str(target.pid), str(other_file)),
            (str(target.pid), str(other_file)),
            (str(target.pid), "mine"),
            ("weave", str(other_file), "--cp", "."),
            ("run", str(other_file), "--", "java", "-version"),
        )
        for attempt in attempts:
            result = btpy(directory, *attempt, **environment)
            assert (result.returncode, f"belongs to user {OTHER}" in result.stderr) == (2, True), (
                attempt,
                result.stderr,
            )
    with pytest.raises(Untrusted):
        check(other_file)
    assert btpy(directory, "check", str(other_file), BTPY_TRUST=str(OTHER)).returncode == 0
    assert btpy(directory, "check", "-", BTPY_TRUST="").returncode == 2


@needs_root
def test_a_normal_user_names_the_file_of_another_user(directory: Path) -> None:
    """A path that the user wrote may belong to another user, if only that user can write it. A directory that btpy
    searches must not belong to another user.
    """
    path = written(directory / "theirs" / "mine.bt")
    for target in (path, path.parent):
        os.chown(target, OTHER, OTHER)
    os.chown(directory, NOBODY, NOBODY)
    python = (os.path.realpath(sys.executable), "-I", "-c")
    packages = str(Path(files.__file__).parents[1])
    program = f"""
import os, sys
sys.path.append({packages!r})
from btpy import files
os.setgroups([]); os.setresgid({NOBODY}, {NOBODY}, {NOBODY}); os.setresuid({NOBODY}, {NOBODY}, {NOBODY})
for named in (True, False):
    try:
        files.open_trusted({str(path)!r}, named=named).close()
        print("opened")
    except files.Untrusted as error:
        print(error)
"""
    for parent in (directory, *directory.parents):
        if not parent.stat().st_mode & stat.S_IXOTH:
            parent.chmod(parent.stat().st_mode | stat.S_IXOTH)
    result = subprocess.run([*python, program], capture_output=True, text=True, timeout=60)
    assert result.stdout.splitlines() == ["opened", f"{path} is refused: it belongs to user {OTHER}"], result.stderr
    path.chmod(0o646)
    result = subprocess.run([*python, program], capture_output=True, text=True, timeout=60)
    assert all("is refused" in line for line in result.stdout.splitlines()), result.stderr


def test_the_decision_is_about_the_open_file(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the name leads to another file after the check, btpy still reads the checked file."""
    path = written(directory / "mine.bt")
    evil = written(directory / "evil.bt", "evil", mode=0o666)
    judged = files._require_trust

    def swap(*arguments: object) -> None:
        judged(*arguments)  # type: ignore[arg-type]
        os.replace(evil, path) if evil.exists() else None

    monkeypatch.setattr(files, "_require_trust", swap)
    with files.open_trusted(path) as file:
        assert file.read() == SCRIPT.encode()


def test_devices_and_pipes_are_not_waited_for(directory: Path) -> None:
    os.mkfifo(directory / "pipe.bt")
    with pytest.raises(OSError, match="neither a file nor a pipe"):
        files.open_trusted(directory / "pipe.bt")
    with files.open_trusted(directory / "pipe.bt", named=True) as file:  # for example: btpy PID <(sed … x.bt)
        assert file.read() == b""
    with pytest.raises(OSError, match="neither a file nor a pipe"):
        files.open_trusted("/dev/zero", named=True)
    with pytest.raises(IsADirectoryError):
        files.open_trusted(directory, named=True)


def test_a_script_from_a_substituted_process_is_read(directory: Path) -> None:
    result = subprocess.run(
        ["bash", "-c", f"exec {COMMAND} check <(printf '%s' '{SCRIPT.strip()}')"], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


@needs_root
def test_the_runtime_of_another_user_is_not_loaded(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = directory / "jdk"
    (home / "lib" / "server").mkdir(parents=True)
    for name in ("server/libjvm.so", "libattach.so"):
        shutil.copyfile(java_home(17) / "lib" / name, home / "lib" / name)
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert launch.attach_home() == home
    os.chown(home / "lib" / "server" / "libjvm.so", OTHER, OTHER)
    assert launch.attach_home() != home
    monkeypatch.chdir(directory)
    monkeypatch.setenv("JAVA_HOME", "jdk")
    assert launch.attach_home() != home
    with pytest.raises(LibraryError):
        Libraries().named("nothing")
