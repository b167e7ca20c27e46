"""The annotations that decide which hits of a probe fire: ``@Sample``, ``@Limit``, ``@Level``, ``@Disabled``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from btpy.dataclass import dataclass
from btpy.lang.builtins import ANNOTATIONS
from btpy.lang.check.attachments import Report
from btpy.lang.check.faults import FaultError, fault, repeated
from btpy.lang.program import Probe
from btpy.lang.syntax import nodes
from btpy.model.attachments import Attachment, MethodAttachment
from btpy.model.diagnostics import Diagnostic, Label, did_you_mean
from btpy.model.sampling import NO_LIMIT, Limit, SampleMode, Sampling

_MOST_RATE = 1_000_000
_MOST_EVERY = 1 << 28
_MOST_HITS = 1 << 40
_MOST_LEVEL = 100


@dataclass(frozen=True, slots=True)
class Firing:
    """``level``: None means that the probe starts disabled."""

    sampling: Sampling | None = None
    limit: Limit = NO_LIMIT
    level: int | None = 0


def firing(tree: nodes.Probe, attachment: Attachment, report: Report) -> Firing:
    """The values of the annotations; their faults go to ``report``."""
    settings = Firing()
    by_name: dict[str, nodes.Annotation] = {}
    for annotation in tree.annotations:
        name = annotation.name.text
        if name not in _READERS:
            continue
        try:
            if name in by_name:
                raise FaultError(repeated(f"`@{name}` is given twice", annotation.span, by_name[name].span))
            by_name[name] = annotation
            if name == "Sample" and not isinstance(attachment, MethodAttachment):
                raise fault("BT111", "`@Sample` works only with `@OnMethod`", Label(annotation.span, "no hits here"))
            settings = _READERS[name](settings, annotation)
        except FaultError as error:
            report(error.diagnostic)
    return settings


def decide_together(probes: Sequence[Probe], report: Report) -> list[Probe]:
    """Groups probes that sample the same methods by thread. The decision of the first probe is valid for the group."""
    first: dict[object, Probe] = {}
    decided: list[Probe] = []
    for probe in probes:
        sampling = probe.sampling
        if sampling is None or not sampling.by_thread:
            decided.append(probe)
            continue
        leader = first.setdefault(_methods_of(probe), probe)
        mine = replace(sampling, group=leader.id)
        if leader.sampling is not None and replace(mine, group=leader.sampling.group) != leader.sampling:
            report(
                Diagnostic(
                    "BT107",
                    "probes that sample the same methods by thread share one decision",
                    Label(_annotation(probe).span, "another decision"),
                    (Label(_annotation(leader).span, "decides first"),),
                    help=(f"write {_annotation(leader).span.text} at both probes",),
                )
            )
        decided.append(replace(probe, sampling=mine))
    return decided


def weight_text(sampling: Sampling | None) -> str:
    """The number of hits that a firing represents: ``1``, ``100``, ``?`` if the number changes."""
    if sampling is None:
        return "1"
    if sampling.adaptive or sampling.mode is SampleMode.MAX_RATE:
        return "?"
    return f"{sampling.number if sampling.mode is SampleMode.EVERY else 1 / sampling.number:.10g}"


def _methods_of(probe: Probe) -> object:
    attachment = probe.attachment
    assert isinstance(attachment, MethodAttachment)
    patterns = (attachment.classes, attachment.methods, attachment.exclude)
    texts = tuple(tuple(pattern.text for pattern in group) for group in patterns)
    signature = attachment.signature.text if attachment.signature else None
    formals = None if probe.formals is None else tuple(formal.type for formal in probe.formals)
    return texts, signature, formals, probe.open_formals


def _annotation(probe: Probe) -> nodes.Annotation:
    annotation = nodes.annotation_of(probe.tree, "Sample")
    assert annotation is not None  # only @Sample gives a probe a sampling
    return annotation


def _arguments(annotation: nodes.Annotation) -> dict[str, nodes.Expression]:
    rule = ANNOTATIONS[annotation.name.text]
    by_name: dict[str, nodes.Expression] = {}
    for argument in annotation.arguments:
        if argument.name is None:
            if len(rule.arguments) == 1 and not by_name:
                by_name[rule.arguments[0]] = argument.value
                continue
            raise fault(
                "BT107",
                f"the arguments of `@{rule.name}` must have names",
                Label(argument.span, "which one?"),
                help=(_EXAMPLES[rule.name],),
            )
        name = argument.name.text
        if name not in rule.arguments:
            raise fault(
                "BT107",
                f"`@{rule.name}` has no argument `{name}`",
                Label(argument.name.span),
                help=did_you_mean(name, rule.arguments),
                notes=("arguments: " + ", ".join(rule.arguments),) if rule.arguments else (),
            )
        if name in by_name:
            raise fault("BT102", f"`{name}` is given twice", Label(argument.name.span, "again here"))
        by_name[name] = argument.value
    return by_name


_EXAMPLES = {
    "Sample": "@Sample(every=100), @Sample(rate=0.01) or @Sample(max_rate=50)",
    "Limit": "@Limit(hits=20), @Limit(rate=5) or @Limit(for=30s)",
    "Level": "@Level(2)",
    "Disabled": "@Disabled",
}


def _sample(firing: Firing, annotation: nodes.Annotation) -> Firing:
    arguments = _arguments(annotation)
    modes = [mode for mode in SampleMode if mode.value in arguments]
    if len(modes) != 1:
        message = "`@Sample` needs a rate" if not modes else "`@Sample` has two rates"
        raise fault("BT103", message, Label(annotation.span), help=(_EXAMPLES["Sample"],))
    (mode,) = modes
    tree = arguments[mode.value]
    if mode is SampleMode.EVERY:
        number: float = _integer(tree, "every", 1, _MOST_EVERY)
    elif mode is SampleMode.MAX_RATE:
        number = _per_second(tree, "max_rate")
    else:
        value = tree.value if isinstance(tree, nodes.Literal) else None
        if not isinstance(value, int | float) or isinstance(value, bool) or not 1 / _MOST_EVERY < value <= 1:
            raise fault(
                "BT107",
                "`rate` of `@Sample` must be a share of all hits, above 0 and at most 1",
                Label(tree.span),
                help=("at most this number of hits per second:  @Sample(max_rate=50)",),
            )
        number = float(value)
    key = _one_of(arguments.get("key"), "key", ("probe", "thread"))
    adaptive = _flag(arguments.get("adaptive"), "adaptive")
    return replace(firing, sampling=Sampling(mode, number, key == "thread", adaptive, 0))


def _limit(firing: Firing, annotation: nodes.Annotation) -> Firing:
    arguments = _arguments(annotation)
    if not arguments:
        raise fault("BT103", "`@Limit` limits nothing", Label(annotation.span), help=(_EXAMPLES["Limit"],))
    hits = _integer(arguments["hits"], "hits", 1, _MOST_HITS) if "hits" in arguments else 0
    rate = _per_second(arguments["rate"], "rate") if "rate" in arguments else 0
    lifetime = 0
    if "for" in arguments:
        tree = arguments["for"]
        literal = tree if isinstance(tree, nodes.Literal) else None
        if literal is None or literal.kind is not nodes.LiteralKind.DURATION or not literal.value:
            raise fault("BT202", "`for` of `@Limit` must be a time", Label(tree.span), help=("@Limit(for=30s)",))
        lifetime = int(literal.value)
    return replace(firing, limit=Limit(hits, rate, lifetime))


def _level(firing: Firing, annotation: nodes.Annotation) -> Firing:
    arguments = _arguments(annotation)
    if "level" not in arguments:
        raise fault("BT103", "`@Level` needs a level", Label(annotation.span), help=("@Level(2)",))
    level = _integer(arguments["level"], "level", 0, _MOST_LEVEL)
    return firing if firing.level is None else replace(firing, level=level)


def _disabled(firing: Firing, annotation: nodes.Annotation) -> Firing:
    _arguments(annotation)
    return replace(firing, level=None)


_READERS = {"Sample": _sample, "Limit": _limit, "Level": _level, "Disabled": _disabled}


def _integer(tree: nodes.Expression, name: str, least: int, most: int) -> int:
    value = tree.value if isinstance(tree, nodes.Literal) and tree.kind is nodes.LiteralKind.INTEGER else None
    if isinstance(value, int) and least <= value <= most:
        return value
    raise fault("BT107", f"`{name}` must be a number from {least} to {most}", Label(tree.span))


def _per_second(tree: nodes.Expression, name: str) -> int:
    """``5`` or ``5/s``."""
    if isinstance(tree, nodes.Binary) and tree.operator.text == "/":
        if not isinstance(tree.right, nodes.Name) or tree.right.text != "s":
            raise fault(
                "BT107", f"`{name}` must be a number of times a second", Label(tree.span), help=(f"{name}=5/s",)
            )
        tree = tree.left
    return _integer(tree, name, 1, _MOST_RATE)


def _one_of(tree: nodes.Expression | None, name: str, allowed: tuple[str, ...]) -> str:
    if tree is None:
        return allowed[0]
    value = tree.value if isinstance(tree, nodes.Literal) else None
    if isinstance(value, str) and value in allowed:
        return value
    choices = " or ".join(f'"{choice}"' for choice in allowed)
    help_ = did_you_mean(value, allowed) if isinstance(value, str) else ()
    raise fault("BT107", f"`{name}` must be {choices}", Label(tree.span), help=help_)


def _flag(tree: nodes.Expression | None, name: str) -> bool:
    if tree is None:
        return False
    value = tree.value if isinstance(tree, nodes.Literal) else None
    if isinstance(value, bool):
        return value
    raise fault("BT201", f"`{name}` must be true or false", Label(tree.span))
