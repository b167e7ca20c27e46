"""The wheel with packages that mypyc has compiled behaves like the pure one. Building takes minutes: ``-m proof``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.live.scripts import counted
from tests.maven import WIREMOCK, artifact

ROOT = Path(__file__).parents[2]
COMPILED = ("classfile", "weave", "plan", "events", "wire")

pytestmark = pytest.mark.proof


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory into which the compiled wheel was unpacked, as an installation does."""
    subprocess.run(["make", "-C", str(ROOT), "compiled"], check=True, capture_output=True)
    (wheel,) = (ROOT / "dist/compiled").glob("*.whl")
    directory = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory)
    return directory


def python(packages: Path, directory: Path, *arguments: str) -> str:
    """Standard output of ``python ARGUMENTS`` in ``directory``, which imports btpy from ``packages``."""
    environment = {**os.environ, "PYTHONPATH": str(packages), "BTPY_TRUST": str(ROOT.stat().st_uid)}
    result = subprocess.run(
        [sys.executable, *arguments], cwd=directory, env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr
    return result.stdout


def test_the_compiled_wheel_says_so_and_traces(site: Path, tmp_path: Path) -> None:
    assert python(site, tmp_path, "-m", "btpy", "--version").endswith("(compiled)\n")
    with counted(17) as target:
        script = "Counted::step { print(arg0); @n = count(); } @OnTimer(50ms) { exit(0); }"
        python(site, tmp_path, "-m", "btpy", str(target.pid), "-e", script)


def test_it_weaves_the_same_bytes(site: Path, tmp_path: Path) -> None:
    script = "**::* @exit { @t[method] = hist(duration); print(args); }"
    jars: list[bytes] = []
    for packages in (site, ROOT):
        jar = tmp_path / f"{len(jars)}.jar"
        python(packages, tmp_path, "-m", "btpy", "weave", "-e", script, "--cp", str(artifact(WIREMOCK)), "-o", str(jar))
        jars.append(jar.read_bytes())
    assert jars[0] == jars[1]


def test_the_tests_of_compiled_modules_pass(site: Path, tmp_path: Path) -> None:
    """Runs in a copy without the sources of btpy, which Python would import from the working directory."""
    for name in ("tests", "probes", "examples", "docs", "agent-java", "benchmarks"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    rooms = [f"tests/{name}" for name in COMPILED]
    origin = "import btpy.classfile.reader as reader; print(reader.__file__)"
    assert python(site, tmp_path, "-c", origin).endswith(".so\n")
    python(
        site, tmp_path, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "-m", "not (proof or replaces)", *rooms
    )
