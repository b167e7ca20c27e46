"""``--push``: sends btpy to hosts that do not have this version. The client sends the installed package and the pure
Python packages that it needs, as an archive that a plain Python 3.11 runs.

The command on the host is a line of Python that reads the next steps from standard input: first a check of the version
of Python, in the oldest syntax, which starts a newer Python if necessary; then :mod:`btpy.api.push_node`.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator
from importlib import import_module, resources
from pathlib import Path

from btpy.dataclass import dataclass
from btpy.distribution import NAME, version

COMMAND = """{python} -I -S -c "exec(eval(open(0,'rb',0,closefd=False).readline()))\""""
"""The command works in any kind of shell. An unbuffered file reads no byte after the line."""

_CHOOSE = """
import os, subprocess, sys
code = "exec(eval(open(0,'rb',0,closefd=False).readline()))"
if sys.version_info >= (3, 11):
    exec(code)
for name in ["python3.%d" % minor for minor in (14, 13, 12, 11)]:
    for directory in os.environ.get("PATH", "").split(":"):
        path = os.path.join(directory, name)
        if not os.path.isabs(path) or not os.access(path, os.X_OK):
            continue
        check = [path, "-I", "-S", "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        if subprocess.call(check, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0:
            os.execv(path, [path, "-I", "-S", "-c", code])
sys.exit("btpy: this host has Python %s, and btpy needs Python 3.11 or later" % sys.version.split()[0])
"""

_RUN = """
import sys
sys.path.insert(0, unpack({digest!r}, {size}))
from btpy.cli.main import main
sys.exit(main(["node"]))
"""

_PURE_PACKAGES = ("wcwidth",)
_LEFT_OUT = ("_demo", "_probes", "__pycache__")
_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Copy:
    """``steps``: the lines for standard input of the command. Then the host asks for ``data`` unless it already has the
    copy.
    """

    steps: bytes
    data: bytes


def copy() -> Copy:
    """The copy of this btpy."""
    data = _archive()
    digest = hashlib.sha256(data).hexdigest()
    source = Path(str(resources.files("btpy.api") / "push_node.py")).read_text(encoding="utf-8")
    source += _RUN.format(digest=digest, size=len(data))
    return Copy(f"{_CHOOSE!a}\n{source!a}\n".encode(), data)


def _archive() -> bytes:
    """A zip archive of the files; the same files give the same bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(_files()):
            archive.writestr(zipfile.ZipInfo(name, _DATE), data, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def _files() -> Iterator[tuple[str, bytes]]:
    yield f"{NAME.replace('-', '_')}-{version()}.dist-info/METADATA", f"Name: {NAME}\nVersion: {version()}\n".encode()
    for package in ("btpy", *_PURE_PACKAGES):
        root = Path(str(import_module(package).__file__)).parent
        for path in root.rglob("*"):
            parts = path.relative_to(root).parts
            if path.is_file() and path.suffix != ".so" and not any(part in _LEFT_OUT for part in parts):
                yield f"{package}/{'/'.join(parts)}", path.read_bytes()
