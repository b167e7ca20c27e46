"""The package that pip installs: its name, its version, and the command that adds an extra to it.

The command and the import are both called ``btpy``. The distribution has another name, because ``btpy`` on the Python
Package Index belongs to an unrelated project: every message that tells a user what to install takes the name from here.
"""

from __future__ import annotations

NAME = "btpy-jvm-tracer"


def version() -> str:
    """The version of the installed distribution, such as ``0.1.0``."""
    from importlib import metadata  # this import takes longer than all of `btpy --help`

    return metadata.version(NAME)


def build() -> str:
    """The kind of the installed wheel: ``compiled`` (by mypyc, for one platform) or ``pure Python``. The two kinds are
    made from the same sources.
    """
    from importlib.util import find_spec

    reader = find_spec("btpy.classfile.reader")
    origin = reader.origin if reader is not None else None
    return "pure Python" if origin is None or origin.endswith(".py") else "compiled"


def install_command(extra: str) -> str:
    """The shell command that installs btpy with one of the extras that pyproject.toml names, such as ``arrow``."""
    return f"pip install '{NAME}[{extra}]'"
