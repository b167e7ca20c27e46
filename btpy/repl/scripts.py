"""Probes of a session at the prompt: by the names that users enter, and as text to edit and save."""

from __future__ import annotations

from btpy.api.editing import excerpt, joined, with_arguments
from btpy.api.probes import Probe
from btpy.api.session import Session
from btpy.errors import UsageError
from btpy.model.attachments import BeginAttachment, MethodAttachment
from btpy.model.diagnostics import Severity, did_you_mean
from btpy.model.source import Source


def shown(session: Session) -> list[Probe]:
    """The probes in the order of their numbers, without probes that ran once and have ended."""
    return [probe for probe in session.probes.values() if not isinstance(probe.checked.attachment, BeginAttachment)]


def named(session: Session, name: str) -> list[Probe]:
    """The probes that a number, ``#number``, a name or ``*`` means. Raises UsageError."""
    probes = shown(session)
    if name == "*":
        return probes
    bare_name = name.removeprefix("#")
    matches = [probe for probe in probes if bare_name == str(probe.number)] or [
        probe for probe in probes if probe.name == name
    ]
    if matches:
        return matches
    choices = [f"#{probe.number} {probe.name}" for probe in probes]
    near = did_you_mean(name, [probe.name for probe in probes])
    raise UsageError(
        f"there is no probe {name}",
        help=[*near, "there are " + ", ".join(choices) if choices else "no probes are live"],
    )


def where(session: Session, probe: Probe) -> str:
    """``PricingEngine.quote RETURN``, with a note if the method is not loaded yet; otherwise the text of the user:
    ``@OnTimer(5s)``.
    """
    if isinstance(probe.checked.attachment, MethodAttachment):
        return probe.where if probe.methods else f"{probe.where}, nothing loaded"
    annotations = probe.checked.tree.annotations
    return annotations[0].span.text.split("\n")[0] if annotations else probe.where


def edited(session: Session, probe: Probe) -> tuple[list[Probe], str]:
    """The probes that are edited together, and their text. A probe is edited alone if its script has other probes, too.
    The whole script is edited if it has no other probe, or if the probe comes from a library.
    """
    mates = session.scripts.mates(probe)
    return ([probe], probe.text) if session.scripts.is_own(probe) and len(mates) > 1 else (mates, probe.script)


def saved(session: Session) -> str:
    """A script with all active probes. Scripts are unchanged, unless some of their probes were removed. The given
    values of parameters become the defaults. Raises UsageError where they cannot be one script.
    """
    texts: list[str] = []
    saved_probes: set[Probe] = set()
    for probe in shown(session):
        if probe in saved_probes:
            continue
        mates = session.scripts.mates(probe)
        saved_probes.update(mates)
        texts.append(_saved(session, mates))
    text = joined(texts)
    wrong = [diagnostic for diagnostic in session.check(text, match=False) if diagnostic.severity is Severity.ERROR]
    if wrong:
        raise UsageError(
            f"the probes cannot stand in one script: {wrong[0].message}",
            help=["remove some probes, :save the rest, and enter those that you removed; :show N has the text of each"],
        )
    return text


def _saved(session: Session, mates: list[Probe]) -> str:
    script = session.scripts.source(mates[0])
    script = Source(script.name, with_arguments(script, session.scripts.arguments(mates[0])))
    if session.scripts.is_whole(mates[0]):
        return script.text
    texts = dict.fromkeys(mate.text for mate in mates if session.scripts.is_own(mate))
    libraries = any(not session.scripts.is_own(mate) for mate in mates)
    return excerpt(script, "\n".join(texts), using=libraries)
