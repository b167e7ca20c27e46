"""Kubernetes and etcd as one program, built from their Go modules into the cache.

The versions below pin all modules; Go checks them against its database of checksums. The modules of Kubernetes name
their own parts by a directory that a module does not contain, so each part is replaced by its published module.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.jdks import cache, locked

KUBERNETES = "v1.34.4"
"""The last minor version whose kubelet works with version 1 of control groups."""

_PARTS = f"v0{KUBERNETES.removeprefix('v1')}"
_ETCD = "v3.6.4"
_COBRA = "v1.9.1"
_SOURCES = Path(__file__).parent / "program"


def built() -> Path | None:
    """The directory with the programs ``kubernetes`` and ``pause``; None if the programs are not built and Go is not
    installed. Raises RuntimeError and CalledProcessError.
    """
    directory = cache() / f"kubernetes-{KUBERNETES}"
    go = shutil.which("go")
    with locked("kubernetes"):
        if (directory / "kubernetes").exists() or go is None:
            return directory if (directory / "kubernetes").exists() else None
        sources = directory / "sources"
        shutil.copytree(_SOURCES, sources, dirs_exist_ok=True)
        (sources / "go.mod").write_text(_module(go, sources))
        environment = {**os.environ, "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"}
        subprocess.run([go, "mod", "tidy"], check=True, cwd=sources, env=environment)
        versions = f"-s -w -X k8s.io/component-base/version.gitVersion={KUBERNETES}"
        for program, package in (("pause", "./pause"), ("kubernetes", ".")):
            build = [go, "build", "-trimpath", "-ldflags", versions, "-o", f"{program}.new", package]
            subprocess.run(build, check=True, cwd=sources, env=environment)
            (sources / f"{program}.new").rename(directory / program)
        shutil.rmtree(sources)
        return directory


def _module(go: str, directory: Path) -> str:
    """The text of go.mod."""
    (directory / "go.mod").write_text("module btpy.invalid/cluster\n")
    its_file = _printed(directory, go, "mod", "download", "-json", f"k8s.io/kubernetes@{KUBERNETES}")["GoMod"]
    description = _printed(directory, go, "mod", "edit", "-json", its_file)
    parts = [replacement["Old"]["Path"] for replacement in description["Replace"]]
    modules = {"k8s.io/kubernetes": KUBERNETES, "go.etcd.io/etcd/server/v3": _ETCD, "github.com/spf13/cobra": _COBRA}
    language = description["Go"]
    lines = ["module btpy.invalid/cluster", f"go {language}", f"godebug default=go{language.rpartition('.')[0]}"]
    lines += [f"require {path} {version}" for path, version in modules.items()]
    lines += [f"replace {part} => {part} {_PARTS}" for part in parts]
    return "\n".join(lines) + "\n"


def _printed(directory: Path, *command: str) -> Any:
    """The JSON that the command prints. Raises RuntimeError: the JSON has the reason if a download fails."""
    result = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {result.stdout}{result.stderr}")
    return json.loads(result.stdout)
