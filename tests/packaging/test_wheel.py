from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

from tests.jdks import java_home

ROOT = Path(__file__).parents[2]


def test_an_installed_wheel_traces_its_own_demonstration_without_a_jdk(tmp_path: Path) -> None:
    """Built, installed in an environment of its own, and run with a Java runtime from pip as the only Java there is."""
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True)
    (wheel,) = tmp_path.glob("btpy-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
        assert {"btpy/_agent/btpy-agent.jar", "btpy/_demo/shop.jar", "btpy/lang/grammar.lark"} <= packed
        assert {f"btpy/_probes/{path.name}" for path in (ROOT / "probes").glob("*.bt")} <= packed
    venv.create(tmp_path / "environment", with_pip=True)
    binaries = tmp_path / "environment" / "bin"
    subprocess.run([binaries / "python", "-m", "pip", "install", "--quiet", wheel], check=True)
    runtime_only = {
        "HOME": str(tmp_path),
        "PATH": "/nowhere",
        "JAVA_HOME": str(java_home(17)),
        "BTPY_DEMO_SECONDS": "5",
    }
    done = subprocess.run(
        [binaries / "btpy", "demo"], capture_output=True, text=True, env=runtime_only, cwd=tmp_path, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert not os.path.exists(java_home(17) / "bin" / "javac")
    assert "@latency  n=" in done.stdout
    assert "classes restored 3/3" in done.stderr
    listed = subprocess.run(
        [binaries / "btpy", "lib", "list"], capture_output=True, text=True, env=runtime_only, cwd=tmp_path, check=True
    )
    assert "btpy.exceptions  " in listed.stdout
