"""The user's settings for every script: ``--allow``, ``--secret``, ``--no-redact``, ``--frameworks``, ``--with``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from btpy.cli.options import Arguments, Option
from btpy.errors import UsageError

if TYPE_CHECKING:
    from btpy.model.permissions import Permissions

CAPABILITIES = {
    "core": "the basic classes of the JDK, which the JVM itself needs",
    "lost-parameter-names": "classes that lose their parameter names",
    "annotated-records": "records with annotated types, which the JDK may break",
    "little-metaspace": "a JVM that may run out of metaspace",
    "little-heap": "a JVM that may run out of heap",
    "little-memory": "a process that may reach a limit of memory or threads",
    "heap-dump": "heap_dump()",
    "sensitive": "--no-redact",
    "call:CLASS.METHOD": "a call of that method",
}
ALLOW = Option(("--allow",), f"allow what is refused by default: {', '.join(CAPABILITIES)}", "WHAT", repeat=True)
FRAMEWORKS = Option(
    ("--frameworks",),
    "classes that app_frame() skips in addition to the JDK, frameworks and drivers that btpy knows: globs with commas",
    "GLOBS",
    repeat=True,
)
SECRET = Option(
    ("--secret",),
    "hide more secrets than btpy knows: names of values, with commas (customerNumber,*code), or a regular"
    " expression for texts ('/AC-[0-9]{6}/')",
    "WHAT",
    repeat=True,
)
WITH = Option(
    ("--with",),
    "add these parts of the thread's context to every event, with commas: trace (ids of trace and span; also"
    " exemplars in exported histograms), mdc:KEY, baggage:KEY",
    "WHAT",
    repeat=True,
)
NO_REDACT = Option(("--no-redact",), "show passwords, tokens and other secrets (needs --allow sensitive)")

_CALL = re.compile(r"call:[\w$]+(\.[\w$]+)+")


def permissions(arguments: Arguments) -> Permissions:
    """Raises UsageError for a capability that does not exist."""
    from btpy.model.permissions import Permissions

    names = arguments.texts("allow")
    for capability in names:
        if capability not in CAPABILITIES and not _CALL.fullmatch(capability):
            raise UsageError(f"--allow {capability}: unknown permission", help=_help(capability))
    redact = not arguments.switch("no_redact")
    if not redact and "sensitive" not in names:
        raise UsageError(
            "--no-redact shows passwords and tokens of the traced program",
            help=["if that is what you want:  --no-redact --allow sensitive"],
        )
    if not redact and arguments.texts("secret"):
        raise UsageError(
            "--secret and --no-redact contradict each other",
            help=["--secret hides further values; leave out --no-redact"],
        )
    import os

    from btpy.api.programs import split
    from btpy.model.carried import carried
    from btpy.model.secrets import NO_SECRETS, Secrets
    from btpy.model.secrets_file import configured

    context = carried(arguments.texts("with")) if "with" in arguments.given else ()
    others = tuple(glob for text in arguments.texts("frameworks") for glob in split(text))
    secrets = Secrets.of(arguments.texts("secret")).with_(configured(os.environ)) if redact else NO_SECRETS
    return Permissions(frozenset(names), redact, others, secrets, context)


def _help(word: str) -> list[str]:
    from difflib import get_close_matches

    if word.startswith("call"):
        return ["for example --allow call:com.acme.shop.Order.getTotal"]
    near = get_close_matches(word, CAPABILITIES, 1)
    return (
        [f"did you mean {near[0]}?"]
        if near
        else [f"{name}: {description}" for name, description in CAPABILITIES.items()]
    )
