"""The directory of standing probes: one TOML file for each, which names the JVMs and the script.

jvms = ["OrderApp", "pod/prod/shop"]    # parts of the main class, the jar or -Dbtpy.name; container/ID, pod/NAME;
                                        # "*" is any JVM, the default with one of the next three
pods = "app=shop,tier!=test"            # the labels of their pods, as a selector of Kubernetes
annotations = "acme.com/probes=slow"    # the same for annotations
namespaces = ["prod"]                   # of their pods
script = "slow.bt"                      # beside this file, or the name of a library; default: the name of the TOML file
parameters = { slow = "250ms" }
budget = "1%"                           # of one core; default: the budget of the script, else 2%
expires = 2027-01-31T00:00:00Z          # the probes come out at this time
allow = ["core"]                        # as --allow
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from btpy import files
from btpy.api.jvms import JvmProcess
from btpy.api.libraries import Libraries, LibraryError
from btpy.api.programs import NOTHING_KNOWN, Program, check_source
from btpy.daemon.api_server import Access
from btpy.daemon.pods import Pods
from btpy.daemon.selectors import Selector
from btpy.dataclass import dataclass
from btpy.errors import BtpyError, UsageError
from btpy.model.permissions import Permissions
from btpy.model.secrets import Secrets
from btpy.model.secrets_file import configured
from btpy.model.source import Source, read_text

ENDING = ".toml"
MOST = 100
"""The largest number of files: a directory with more files is probably the wrong directory."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_BUDGET = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)%")
_MOST_BYTES = 64 * 1024
_KEYS = frozenset({"jvms", "pods", "annotations", "namespaces", "script", "parameters", "budget", "expires", "allow"})


@dataclass(frozen=True, slots=True)
class PodRule:
    """The pods of a rule. Without ``namespaces``, the rule selects pods of all namespaces. An annotation is selected
    like a label.
    """

    labels: Selector | None
    annotations: Selector | None
    namespaces: tuple[str, ...]

    def is_for(self, process: JvmProcess, pods: Pods) -> bool | None:
        """None: the API server has not answered yet."""
        if not pods.uid_of(process):
            return False
        if not pods.are_known:
            return None
        pod = pods.of(process)
        return (
            pod is not None
            and (not self.namespaces or pod.namespace in self.namespaces)
            and (self.labels is None or self.labels.selects(pod.labels))
            and (self.annotations is None or self.annotations.selects(pod.annotations))
        )


@dataclass(frozen=True, slots=True)
class StandingProbe:
    """``name``: the name of its file, without the ending. ``jvms``: as in the file; ``pods``: None if the file selects
    no pods. ``budget``: share of one core, None: as in the script. ``expires``: seconds since 1970, None: never.
    ``digest``: changes with every field, and with the texts of the script and its libraries."""

    name: str
    jvms: tuple[str, ...]
    pods: PodRule | None
    program: Program
    budget: float | None
    expires: float | None
    digest: str

    def is_for(self, process: JvmProcess, pods: Pods) -> bool | None:
        """Whether the rule names this JVM; None: the API server has not answered yet."""
        if not any(part == "*" or process.is_named(part) for part in self.jvms):
            return False
        return self.pods is None or self.pods.is_for(process, pods)

    @property
    def has_expired(self) -> bool:
        return self.expires is not None and time.time() >= self.expires


def read_directory(directory: Path) -> tuple[dict[str, StandingProbe], dict[str, BtpyError]]:
    """The standing probes by name, and the errors of the files that cannot be used, by name.

    Raises UsageError when the directory cannot be read, or when another user could write to it.
    """
    try:
        files.require_trusted(directory, named=True)
        paths = sorted(path for path in directory.iterdir() if path.suffix == ENDING)
    except OSError as cause:
        raise UsageError(f"cannot read {directory}: {(cause.strerror or str(cause)).lower()}") from cause
    if len(paths) > MOST:
        raise UsageError(f"{directory} has {len(paths)} files of standing probes, and at most {MOST} are taken")
    probes: dict[str, StandingProbe] = {}
    errors: dict[str, BtpyError] = {}
    for path in paths:
        try:
            probes[path.stem] = read(path)
        except BtpyError as error:
            errors[path.stem] = error
    return probes, errors


def read(path: Path) -> StandingProbe:
    """The standing probe in a file. Raises UsageError, and ScriptError for its script."""
    if not _NAME.fullmatch(path.stem):
        raise UsageError(f"{path.name}: a name has up to 40 letters, digits, dots, hyphens and underscores")
    data = _content(path)
    try:
        entries = tomllib.loads(data.decode())
    except ValueError as cause:  # also for invalid UTF-8
        raise UsageError(f"{path.name} is not TOML: {cause}") from cause
    unknown = sorted(entries.keys() - _KEYS)
    if unknown:
        raise UsageError(f"{path.name}: unknown key {unknown[0]!r}", help=[f"one of {', '.join(sorted(_KEYS))}"])
    source = _script(path, entries.get("script", f"{path.stem}.bt"))
    parameters = _parameters(path, entries.get("parameters", {}))
    allow = _texts(path, "allow", entries.get("allow", []))
    permissions = Permissions(frozenset(allow), True, (), Secrets.of(()).with_(configured(os.environ)))
    program = check_source(source, Libraries.of(os.environ, [path.parent]), parameters, permissions, NOTHING_KNOWN)
    if not program.own:
        raise UsageError(f"{source.name} has no probes")
    pods = _pods(path, entries)
    jvms = _texts(path, "jvms", entries.get("jvms", [] if pods is None else "*"))
    if not jvms or "" in jvms:
        raise UsageError(f'{path.name} does not say which JVMs it is for:  jvms = ["OrderApp"]')
    return StandingProbe(
        name=path.stem,
        jvms=jvms,
        pods=pods,
        program=program,
        budget=_budget(path, entries.get("budget")),
        expires=_expires(path, entries.get("expires")),
        digest=_digest(data, source, program),
    )


def _pods(path: Path, entries: Mapping[str, Any]) -> PodRule | None:
    """Raises UsageError also where btpy cannot ask the API server."""
    if entries.keys().isdisjoint(("pods", "annotations", "namespaces")):
        return None
    rule = PodRule(
        _selector(path, "pods", entries.get("pods")),
        _selector(path, "annotations", entries.get("annotations")),
        _texts(path, "namespaces", entries.get("namespaces", [])),
    )
    if rule == PodRule(None, None, ()):
        raise UsageError(f'{path.name} does not say which pods it is for:  namespaces = ["prod"]')
    try:
        Access.of(os.environ)
    except UsageError as error:
        raise UsageError(f"{path.name}: {error}", help=error.help) from None
    return rule


def _selector(path: Path, key: str, value: Any) -> Selector | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise UsageError(f'{path.name}: {key} must be a text:  {key} = "app=shop"')
    try:
        return Selector.of(value)
    except UsageError as error:
        raise UsageError(f"{path.name}: {key}: {error}", help=error.help) from None


def _digest(data: bytes, source: Source, program: Program) -> str:
    digest = hashlib.sha256(data)
    for text in (source.text, *(library.text for library in program.libraries)):
        digest.update(b"\0" + text.encode(errors="surrogatepass"))
    return digest.hexdigest()[:8]


def _content(path: Path) -> bytes:
    try:
        with files.open_trusted(path, named=True) as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as cause:
        raise UsageError(f"cannot read {path.name}: {(cause.strerror or str(cause)).lower()}") from cause
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{path.name} is larger than {_MOST_BYTES // 1024} KiB")
    return data


def _script(path: Path, name: Any) -> Source:
    """A file beside ``path``, or a library by its name."""
    if not isinstance(name, str) or "/" in name or name.startswith("."):
        raise UsageError(f"{path.name}: script is the name of a file beside it, or of a library")
    if not name.endswith(".bt"):
        search = Libraries.of(os.environ)
        try:
            library = search.named(name)
            return Source(search.shown(library), search.read(library), path=library)
        except LibraryError as error:
            raise UsageError(f"{path.name}: {error}", help=error.help) from None
    script = path.with_name(name)
    try:
        with files.open_trusted(script, named=True) as file:
            return Source(name, read_text(file), path=script)
    except OSError as cause:
        raise UsageError(f"{path.name}: cannot read {name}: {(cause.strerror or str(cause)).lower()}") from cause
    except ValueError as cause:
        raise UsageError(f"{path.name}: {name} is {cause}") from cause


def _texts(path: Path, key: str, value: Any) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"{path.name}: {key} must be a list of texts")
    return tuple(texts)


def _parameters(path: Path, value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(isinstance(text, str | int | float) for text in value.values()):
        raise UsageError(f'{path.name}: parameters are texts or numbers:  parameters = {{ slow = "250ms" }}')
    return {name: str(text).lower() if isinstance(text, bool) else str(text) for name, text in value.items()}


def _budget(path: Path, value: Any) -> float | None:
    if value is None:
        return None
    match = _BUDGET.fullmatch(value) if isinstance(value, str) else None
    if match is None or not 0 < float(match[1]) <= 100:
        raise UsageError(f'{path.name}: budget must be a share of one core:  budget = "1%"')
    return float(match[1]) / 100


def _expires(path: Path, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.timestamp()  # a time without a time zone is local time
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day).timestamp()
    raise UsageError(f"{path.name}: expires must be a date or a time:  expires = 2027-01-31T00:00:00Z")
