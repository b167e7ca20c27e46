"""Child processes: btpy's children load no module, option, class or library from the working directory or the
environment of btpy.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import btpy
from btpy import children
from btpy.jvm import attach, processes
from btpy.jvm.delegate import Delegate
from tests.containers.cells import AS_NOBODY, NOBODY, cell, needs_root, passable, readable_cache, require
from tests.jdks import java_home
from tests.live.scripts import counted, waited

PACKAGE = Path(btpy.__file__).parent
COMMAND = Path(sys.executable).with_name("btpy")
MODULES = (
    *("json", "jpype", "_jpype", "contextlib", "shutil", "lark", "struct", "typing", "sitecustomize", "usercustomize"),
    *("encodings", "prompt_toolkit", "wcwidth", "socket", "zlib", "hmac", "selectors", "btpy"),
)
HOSTILE = {
    "PYTHONPATH": "/hostile",
    "PYTHONSTARTUP": "/hostile/start.py",
    "PYTHONINSPECT": "1",
    "JAVA_TOOL_OPTIONS": "-javaagent:/hostile/agent.jar",
    "JDK_JAVA_OPTIONS": "-javaagent:/hostile/agent.jar",
    "_JAVA_OPTIONS": "-javaagent:/hostile/agent.jar",
    "CLASSPATH": "/hostile",
    "LD_LIBRARY_PATH": "/hostile",
    "LD_AUDIT": "/hostile/audit.so",
    "GCONV_PATH": "/hostile",
    "LOCPATH": "/hostile",
}
STARTERS = {"subprocess", "multiprocessing", "pty", "pexpect", "_posixsubprocess", "concurrent"}
STARTING = ("exec", "spawn", "posix_spawn", "system", "popen", "startfile")


@pytest.fixture
def hostile_directory(tmp_path: Path) -> Path:
    """A directory with modules that create a file when they run."""
    directory = tmp_path / "hostile"
    directory.mkdir()
    for name in MODULES:
        (directory / f"{name}.py").write_text(
            f"import os\nos.close(os.open({str(tmp_path / ('ran-' + name))!r}, os.O_CREAT | os.O_WRONLY))\n"
            f"raise ImportError('hostile')\n"
        )
    return directory


def ran(hostile_directory: Path) -> list[str]:
    return sorted(path.name for path in hostile_directory.parent.glob("ran-*"))


def test_modules_of_the_working_directory_do_not_run_while_btpy_attaches(hostile_directory: Path) -> None:
    with counted(17) as target:
        result = subprocess.run(
            [COMMAND, "doctor", str(target.pid)],
            cwd=hostile_directory,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (ran(hostile_directory), result.returncode) == ([], 0), result.stderr


def test_modules_of_the_working_directory_do_not_run_where_the_script_is_wrong(hostile_directory: Path) -> None:
    """The helper is started before the script has been read."""
    with counted(17) as target:
        result = subprocess.run(
            [COMMAND, str(target.pid), "-e", "nonsense {{{"],
            cwd=hostile_directory,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (ran(hostile_directory), result.returncode) == ([], 2), result.stderr


def test_modules_of_the_directory_of_a_tested_library_do_not_run(hostile_directory: Path) -> None:
    (hostile_directory / "mine.bt").write_text("Nowhere::step { @n = count() }\n")
    (hostile_directory / "mine.test.toml").write_text('[[run]]\njava = ["-version"]\nexpect = "mine.ndjson"\n')
    result = subprocess.run(
        [COMMAND, "test", "--record", "mine.bt"],
        cwd=hostile_directory,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PATH": f"{java_home(17) / 'bin'}:{os.environ['PATH']}"},
    )
    assert ran(hostile_directory) == [], result.stderr
    assert (hostile_directory / "mine.ndjson").exists(), result.stderr


def test_python_dash_m_leaves_the_working_directory_out(hostile_directory: Path) -> None:
    """Python imports a few modules of its library and btpy itself before btpy can change the path (`python -P -m btpy`
    avoids that).
    """
    late = ("lark", "hmac", "prompt_toolkit", "json")
    for path in hostile_directory.iterdir():
        if path.stem not in late:
            path.unlink()
    result = subprocess.run(
        [sys.executable, "-m", "btpy", "check", "-e", "a.B::c { @n = count() }"],
        cwd=hostile_directory,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran(hostile_directory), result.returncode) == ([], 0), result.stderr


def children_of(pid: int) -> list[int]:
    results: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        results += [int(child) for child in (task / "children").read_text().split()]
    return results


def _has_begun(command: Path) -> bool:
    return b"-I" in command.read_bytes().split(b"\0")


def test_helpers_get_a_listed_environment_and_work_in_the_root_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    attacher = attach._Attacher()
    with counted(17) as target:
        for name, value in HOSTILE.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("LANG", "C.UTF-8")
        monkeypatch.chdir(tmp_path)
        before = set(children_of(os.getpid()))
        attacher.begin()
        with Delegate(processes.describe(target.pid)):
            helpers = set(children_of(os.getpid())) - before - {target.pid}
            assert len(helpers) == 2
            for helper in helpers:
                command = Path(f"/proc/{helper}/cmdline")
                waited(partial(_has_begun, command), "the helper is still a fork")
                environ = Path(f"/proc/{helper}/environ").read_bytes().split(b"\0")
                names = {setting.partition(b"=")[0].decode() for setting in environ if setting}
                assert names <= {*children.LOCALE}, names
                assert os.readlink(f"/proc/{helper}/cwd") == "/"
                assert {b"-I", b"-S"} <= {*Path(f"/proc/{helper}/cmdline").read_bytes().split(b"\0")}
    assert attacher._process is not None
    attach._end(attacher._process)


def test_no_list_of_inherited_variables_lets_code_in() -> None:
    names = {*children.LOCALE, *children.PLACES, *children.CHOICES}
    assert not [name for name in names if name in HOSTILE or name.startswith(("PYTHON", "LD_", "GCONV", "_JAVA"))]


def test_a_program_is_not_taken_from_the_working_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "bin"):
        place.mkdir(exist_ok=True)
        (place / "java").write_text("#!/bin/sh\n")
        (place / "java").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for path in ("", ".", ":/nowhere", "bin", "/nowhere:"):
        assert children.program_path("java", path) is None, path
    assert children.program_path("java", f":{tmp_path / 'bin'}") == str(tmp_path / "bin" / "java")
    assert children.program_path("bin/java") == str(tmp_path / "bin" / "java")  # a path that the user wrote


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_one_module_starts_processes(path: Path) -> None:
    """Another module that needs a child calls :mod:`btpy.children`."""
    if path.name == "children.py":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [(node.module or "").partition(".")[0]]
            if node.module == "os":
                assert not [alias.name for alias in node.names if alias.name.startswith(STARTING)]
            assert not [alias.name for alias in node.names if alias.name.startswith("create_subprocess")]
        elif isinstance(node, ast.Attribute):
            names = []
            if isinstance(node.value, ast.Name) and node.value.id == "os":
                assert not node.attr.startswith(STARTING), f"os.{node.attr}"
            assert not node.attr.startswith(("create_subprocess", "subprocess_")), node.attr
        else:
            continue
        assert not STARTERS & {*names}, f"{path.name} imports {names}"


@needs_root
def test_a_normal_user_traces_in_a_hostile_directory(hostile_directory: Path) -> None:
    """The helper has only the rights of that user, and loads nothing from the directory either."""
    require("setpriv")
    for path in (hostile_directory, *hostile_directory.iterdir(), hostile_directory.parent):
        os.chown(path, NOBODY, NOBODY)
    with readable_cache(), passable(hostile_directory.parent), cell(17, prefix=AS_NOBODY) as target_cell:
        result = subprocess.run(
            [*AS_NOBODY, COMMAND, "doctor", str(target_cell.process.pid)],
            cwd=hostile_directory,
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert (ran(hostile_directory), result.returncode) == ([], 0), result.stdout + result.stderr
        target_cell.assert_undisturbed()
