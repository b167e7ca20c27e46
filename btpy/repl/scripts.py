"""Probes of a session as the prompt speaks of them: by what a person calls them, and as text to be edited and saved."""

from __future__ import annotations

from btpy.api.editing import excerpt, joined, with_arguments
from btpy.api.probes import Probe
from btpy.api.session import Session
from btpy.errors import UsageError
from btpy.model.attachments import BeginAttachment, MethodAttachment
from btpy.model.diagnostics import Severity, did_you_mean
from btpy.model.source import Source


def shown(session: Session) -> list[Probe]:
    """In the order of their numbers; without those that have run once and are over."""
    return [probe for probe in session.probes.values() if not isinstance(probe.checked.attachment, BeginAttachment)]


def named(session: Session, name: str) -> list[Probe]:
    """The probes that a number, ``#number``, a name or ``*`` means. Raises UsageError."""
    probes = shown(session)
    if name == "*":
        return probes
    plain = name.removeprefix("#")
    found = [probe for probe in probes if plain == str(probe.number)] or [
        probe for probe in probes if probe.name == name
    ]
    if found:
        return found
    known = [f"#{probe.number} {probe.name}" for probe in probes]
    near = did_you_mean(name, [probe.name for probe in probes])
    raise UsageError(
        f"there is no probe {name}",
        help=[*near, "there are " + ", ".join(known) if known else "no probes are live"],
    )


def where(session: Session, probe: Probe) -> str:
    """``PricingEngine.quote RETURN``; of a method that is not there yet, this is said; else what the person wrote:
    ``@OnTimer(5s)``."""
    if isinstance(probe.checked.attachment, MethodAttachment):
        return probe.where if probe.methods else f"{probe.where}, nothing loaded"
    annotations = probe.checked.tree.annotations
    return annotations[0].span.text.split("\n")[0] if annotations else probe.where


def edited(session: Session, probe: Probe) -> tuple[list[Probe], str]:
    """The probes that change together with a probe, and their text: the probe alone, unless its script has nothing
    else, or a library brought it."""
    mates = session.scripts.mates(probe)
    return ([probe], probe.text) if session.scripts.is_own(probe) and len(mates) > 1 else (mates, probe.script)


def saved(session: Session) -> str:
    """A script of all probes that are in. Scripts are as they were typed, unless some of their probes have gone; the
    given values of their parameters are the defaults. Raises UsageError where they cannot be one script."""
    texts: list[str] = []
    done: set[Probe] = set()
    for probe in shown(session):
        if probe in done:
            continue
        mates = session.scripts.mates(probe)
        done.update(mates)
        texts.append(_saved(session, mates))
    text = joined(texts)
    wrong = [diagnostic for diagnostic in session.check(text, match=False) if diagnostic.severity is Severity.ERROR]
    if wrong:
        raise UsageError(
            f"the probes cannot stand in one script: {wrong[0].message}",
            help=["take some out, :save the others, and load those again; :show N has the text of each"],
        )
    return text


def _saved(session: Session, mates: list[Probe]) -> str:
    script = session.scripts.source(mates[0])
    script = Source(script.name, with_arguments(script, session.scripts.arguments(mates[0])))
    if session.scripts.is_whole(mates[0]):
        return script.text
    own = dict.fromkeys(mate.text for mate in mates if session.scripts.is_own(mate))
    libraries = any(not session.scripts.is_own(mate) for mate in mates)
    return excerpt(script, "\n".join(own), using=libraries)
