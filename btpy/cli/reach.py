"""The hosts or pods of a run, and the user's own command that reaches them: ``ssh`` or ``kubectl``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from btpy import children
from btpy.api.hosts import MOST_HOSTS, Reach, host_names
from btpy.cli.options import Arguments, Command, Option, parse
from btpy.errors import AttachError, UsageError

POD_OPTIONS = (
    Option(("-l", "--selector"), "the pods with these labels, such as app=shop", "SELECTOR"),
    Option(("--field-selector",), "the pods with these fields", "SELECTOR"),
    Option(("-n", "--namespace"), "the namespace of the pods", "NAMESPACE"),
    Option(("-A", "--all-namespaces"), "the pods of all namespaces"),
    Option(("-c", "--container"), "the container of each pod", "CONTAINER"),
    Option(("--image",), "run btpy from this image, in a debug container beside the container of the JVM", "IMAGE"),
)
"""These options have the names and meanings that kubectl gives them."""

_PODS = Command(
    name="--pods",
    usage=("--pods '[POD…] [-l SELECTOR] [-n NAMESPACE]' NAME FILE.bt",),
    summary="",
    about="",
    options=POD_OPTIONS,
    positionals=(0, MOST_HOSTS),
)
_HELP = ["--pods '-l app=shop -n prod'", "other options of kubectl:  --kubectl 'kubectl --context NAME'"]
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")  # names of Kubernetes, RFC 1123
_COLUMNS = (
    "NAMESPACE:.metadata.namespace,NAME:.metadata.name,PHASE:.status.phase,FIRST:.spec.containers[0].name,"
    r"DEFAULT:.metadata.annotations.kubectl\.kubernetes\.io/default-container"
)
_MAX_LIST = 16 << 20  # the maximum number of bytes of a list of pods
_LIST_SECONDS = 30


def reached(arguments: Arguments) -> tuple[list[str], Reach]:
    """The names of the hosts or pods, and the way to them. Raises UsageError, AttachError."""
    pods = arguments.text("pods")
    if pods is not None:
        return _pods(pods, _command("--kubectl", arguments.text("kubectl") or "kubectl", "install kubectl"))
    hosts = arguments.text("hosts")
    assert hosts is not None
    names = host_names(hosts)
    ssh = _command("--ssh", arguments.text("ssh") or "ssh", "install an OpenSSH client")
    return names, Reach([*ssh, "-T", "-o", "BatchMode=yes", "--"], program="ssh")


def _command(option: str, text: str, remedy: str) -> list[str]:
    """The words of a command, its program as an absolute path. Raises UsageError."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{option} {text!r}: {error}") from None
    name = words[0] if words else ""
    program = children.program_path(name)
    if program is None:
        needing = {"--ssh": "--hosts", "--kubectl": "--pods"}[option]
        raise UsageError(f"{needing} needs {option[2:]}, and there is no {name!r} on the PATH", help=[remedy])
    return [program, *words[1:]]


def _pods(text: str, kubectl: Sequence[str]) -> tuple[list[str], Reach]:
    """The running pods that the text selects. Raises UsageError, AttachError."""
    try:
        words = shlex.split(text)
        selected = parse(_PODS, words)
    except (ValueError, UsageError) as error:
        raise UsageError(f"--pods {text!r}: {error}", help=_HELP) from None
    if not words or not all(map(_LABEL.fullmatch, selected.positionals)):
        raise UsageError(f"--pods {text!r} names no pod", help=_HELP)
    everywhere = selected.switch("all_namespaces")
    flags = _flags(selected, "selector", "field_selector", "namespace") + ["--all-namespaces"] * everywhere
    listing = [*kubectl, "get", "pods", *flags, f"--request-timeout={_LIST_SECONDS}s", "--no-headers"]
    listing += ["-o", f"custom-columns={_COLUMNS}", *selected.positionals]
    status, data = children.output_of(listing, _MAX_LIST)
    if status:
        raise AttachError(f"kubectl could not list the pods (status {status})", help=_HELP)
    commands = {}
    for line in data.decode("utf-8", "replace").splitlines():
        namespace, name, phase, first, default = (*line.split(), "", "", "", "", "")[:5]
        if not _LABEL.fullmatch(namespace) or not _LABEL.fullmatch(name):
            raise AttachError(f"kubectl lists {line[:80]!r}, which is not a pod")
        if phase == "Running":
            enter = _entering(selected, default if _LABEL.fullmatch(default) else first)
            command = [*kubectl, *enter, f"--namespace={namespace}", name, "--"]
            commands[f"{namespace}:{name}" if everywhere else name] = command
    if not commands:
        raise AttachError(f"--pods {text!r}: no such pod runs", help=[shlex.join(["kubectl", "get", "pods", *words])])
    if len(commands) > MOST_HOSTS:
        raise UsageError(f"--pods selects {len(commands)} pods, but at most {MOST_HOSTS} are possible")
    return list(commands), Reach(commands=commands, program="kubectl", passes_end=selected.text("image") is None)


def _entering(selected: Arguments, container: str) -> list[str]:
    """The command of kubectl that runs a command in a pod. ``container``: the container that kubectl takes by
    default."""
    image = selected.text("image")
    if image is None:
        return ["exec", "-i", *_flags(selected, "container")]
    target = selected.text("container") or container
    return ["debug", "-i", "--quiet", "--profile=general", f"--image={image}", f"--target={target}"]


def _flags(selected: Arguments, *keys: str) -> list[str]:
    """The flags as ``--key=value``, so that kubectl does not read a value that begins with a hyphen as an option."""
    return [f"--{key.replace('_', '-')}={value}" for key in keys for value in selected.texts(key)]
