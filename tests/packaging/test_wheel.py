from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email.message import Message
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from btpy import distribution
from tests.jdks import java_home
from tests.wheels import pure_wheel

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pure_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def test_an_installed_wheel_traces_its_own_demonstration_without_a_jdk(wheel: Path, tmp_path: Path) -> None:
    """Builds the wheel, installs it in a new environment, and runs it with a Java runtime from pip as the only Java."""
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
        assert {"btpy/_agent/btpy-agent.jar", "btpy/_demo/shop.jar", "btpy/lang/syntax/grammar.lark"} <= packed
        assert {f"btpy/_probes/{path.name}" for path in (ROOT / "probes").glob("*.bt")} <= packed
    venv.create(tmp_path / "environment", with_pip=False)  # to install pip would take as long as to install the wheel
    binaries = tmp_path / "environment" / "bin"
    pip = [sys.executable, "-m", "pip", "--python", str(binaries / "python")]
    subprocess.run([*pip, "install", "--quiet", "--no-compile", str(wheel)], check=True)
    runtime_only = {
        "HOME": str(tmp_path),
        "PATH": "/nowhere",
        "JAVA_HOME": str(java_home(17)),
        "BTPY_DEMO_SECONDS": "5",
    }
    result = subprocess.run(
        [binaries / "btpy", "demo"], capture_output=True, text=True, env=runtime_only, cwd=tmp_path, timeout=120
    )
    assert result.returncode == 0, result.stderr
    assert not os.path.exists(java_home(17) / "bin" / "javac")
    assert "@latency  n=" in result.stdout
    assert "classes restored 3/3" in result.stderr
    listed = subprocess.run(
        [binaries / "btpy", "lib", "list"], capture_output=True, text=True, env=runtime_only, cwd=tmp_path, check=True
    )
    assert "btpy.exceptions  " in listed.stdout
    version = subprocess.run(
        [binaries / "btpy", "--version"], capture_output=True, text=True, env=runtime_only, cwd=tmp_path, check=True
    )
    assert version.stdout == f"btpy {PROJECT['version']} (pure Python)\n"


def test_the_metadata_names_the_project_and_links_to_pages_outside_the_source_tree(wheel: Path) -> None:
    facts = metadata(wheel)
    assert facts["Name"] == distribution.NAME == PROJECT["name"]
    assert facts["Version"] == distribution.version()
    assert facts["License-Expression"] == "Apache-2.0"
    assert facts["Author-email"]
    assert "Topic :: Software Development :: Debuggers" in facts.get_all("Classifier", [])
    assert "java" in facts["Keywords"].split(",")
    urls = dict(line.split(", ", 1) for line in facts.get_all("Project-URL", []))
    assert urls.keys() == {"Homepage", "Documentation", "Source", "Issues", "Security contact"}
    text = facts.get_payload()
    assert isinstance(text, str)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 10
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def test_every_link_of_readme_leads_to_a_file() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert [link for link in links if not link.startswith("https://") and not (ROOT / link).exists()] == []


def test_the_lock_files_satisfy_the_project() -> None:
    """Every dependency has one pinned version that its bounds allow, and hashes."""
    extras = PROJECT["optional-dependencies"]
    names = ("dev", "docs", "spark", "clickhouse", "peers", "release")
    requirements = {"runtime": [], **{name: extras[name] for name in names}}
    for name, packages in requirements.items():
        lines = (ROOT / f".ci/{name}.lock").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
        pinned = {line.partition("==")[0]: line.partition("==")[2].split()[0] for line in lines}
        assert all("--hash=sha256:" in line for line in lines)
        for text in [*PROJECT["dependencies"], *packages]:
            requirement = Requirement(text)
            assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), (name, text)


def test_no_message_tells_a_user_to_install_the_package_of_a_stranger() -> None:
    """`btpy` on the Python Package Index is an unrelated project, whose code would run."""
    wrong = re.compile(r"(pip install|pipx install|uv tool install|uvx)( '| \"| )btpy(?!-jvm-tracer)[\['\" \n]")
    places = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), ROOT / "docs/man/btpy.1"]
    places += [*(ROOT / "btpy").rglob("*.py"), *(ROOT / "btpy").rglob("*.toml")]
    assert [path.name for path in places if wrong.search(path.read_text(encoding="utf-8"))] == []


def test_a_source_distribution_is_small_and_builds_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (sdist,) = tmp_path.glob("btpy_jvm_tracer-*.tar.gz")
    with tarfile.open(sdist) as archive:
        top_level = {name.split("/")[1] for name in archive.getnames()}
    (tmp_path / "source").mkdir()
    subprocess.run(["tar", "--extract", "--file", sdist, "--directory", tmp_path / "source"], check=True)
    assert not top_level & {"tests", "benchmarks", "docs", ".ci"}
    (source,) = (tmp_path / "source").iterdir()
    for jar in (source / "btpy/_agent/btpy-agent.jar", source / "btpy/_demo/shop.jar"):
        jar.unlink()  # so that the build compiles both jars again
    assert pure_wheel(source, tmp_path).read_bytes() == wheel.read_bytes()
