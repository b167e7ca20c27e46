"""Checked program + traced method → typed tree of one probe."""

from __future__ import annotations

from btpy.errors import ScriptError
from btpy.lang import typed_tree
from btpy.lang.builtins import FACTS, FUNCTIONS, PLACE_OF_POINT, WARMED, Place, fact_input
from btpy.lang.check.classes import ANY_METHOD, NOTHING_KNOWN, Classes, Subject
from btpy.lang.check.context import Context
from btpy.lang.check.elaborate import elaborate
from btpy.lang.check.expressions import value
from btpy.lang.check.statements import block
from btpy.lang.program import Probe, Program, TemplatePlace
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import BoundProbe, Shape
from btpy.model.attachments import (
    Attachment,
    BeginAttachment,
    ClassLoadAttachment,
    EndAttachment,
    ErrorAttachment,
    EventAttachment,
    LowMemoryAttachment,
    MethodAttachment,
    SampleAttachment,
    TimerAttachment,
)
from btpy.model.diagnostics import Diagnostic, Label, Severity
from btpy.model.templates import Template


def bind(
    checked: Program,
    probe: Probe,
    shape: Shape | None,
    classes: Classes = NOTHING_KNOWN,
    subject: Subject = ANY_METHOD,
) -> BoundProbe:
    """Types one probe for one shape (None for timer, begin and end). Raises ``ScriptError`` if the probe does not fit
    the method. ``classes``: the known classes of the traced program; ``subject``: the name of the method in messages.
    """
    errors: list[Diagnostic] = []
    attachment = probe.attachment
    places = (_place(attachment, shape),)
    if shape is not None:
        misfit = _misfit(probe, shape)
        if misfit is not None:
            raise ScriptError([misfit])

    def known_template(place: TemplatePlace, _: Template) -> int:
        return checked.template_ids[probe.id, place]

    def report(diagnostic: Diagnostic) -> None:
        if diagnostic.severity is Severity.ERROR:
            errors.append(diagnostic)

    pattern = attachment.thrown if isinstance(attachment, MethodAttachment) else None
    thrown = pattern is not None and (places[0] in (Place.THROW, Place.RAISE, Place.CATCH, Place.UNCAUGHT))
    maps = {map_.name: map_ for map_ in checked.maps}
    scoped = {variable.key: variable for variable in checked.scoped_variables}
    context = Context(
        value,
        block,
        probe,
        places,
        None,
        shape,
        maps,
        known_template,
        report,
        functions=checked.script_of(probe).functions,
        subscribers=checked.subscribers(probe),
        scoped=scoped,
        jfr_events=dict(checked.jfr_events),
        permissions=checked.permissions,
        classes=classes,
        subject=subject,
    )
    predicate, body = elaborate(context, thrown=thrown)
    if errors:
        raise ScriptError(errors)
    thrown_type = pattern.text if pattern is not None and thrown else None
    facts = FACTS.get(places[0])
    # The agent passes all facts, even those that the body does not use.
    inputs = tuple(context.inputs) if facts is None else tuple(map(fact_input, range(len(facts))))
    entries, locals_ = tuple(context.entries), tuple(context.locals)
    return BoundProbe(probe, shape, inputs, entries, thrown_type, predicate, body, locals_)


def warming(checked: Program) -> BoundProbe | None:
    """A body for the agent's thread. It calls once each function whose first call loads classes, so that threads of the
    target do not load them. None if the script calls no such function."""
    for probe in checked.own:
        calls = (node for node in nodes.walk(probe.tree) if isinstance(node, nodes.Call))
        names = dict.fromkeys(call.function.text for call in calls if call.function.text in WARMED)
        if names:
            body = tuple(
                typed_tree.Evaluate(typed_tree.BuiltinCall(FUNCTIONS[name].result, probe.span, name, ()))
                for name in names
            )
            return BoundProbe(probe, None, (), (), None, None, body, ())
    return None


_AGENT_PLACES: dict[type[Attachment], Place] = {
    TimerAttachment: Place.TIMER,
    SampleAttachment: Place.SAMPLE,
    BeginAttachment: Place.BEGIN,
    EndAttachment: Place.END,
    EventAttachment: Place.EVENT,
    ClassLoadAttachment: Place.CLASS_LOAD,
    LowMemoryAttachment: Place.LOW_MEMORY,
    ErrorAttachment: Place.FAILURE,
}


def _place(attachment: Attachment, shape: Shape | None) -> Place:
    """The place of a bound body."""
    if isinstance(attachment, MethodAttachment) and attachment.uncaught:
        return Place.UNCAUGHT
    return PLACE_OF_POINT[shape.point] if shape is not None else _AGENT_PLACES[type(attachment)]


def _misfit(probe: Probe, shape: Shape) -> Diagnostic | None:
    """Compares the parameters of the probe with those of the method. The planner chooses overloads by type. This
    function only compares the numbers of parameters.
    """
    if probe.formals is None:
        return None
    declared, actual = len(probe.formals), len(shape.parameters)
    if declared == actual or (probe.open_formals and declared < actual):
        return None
    last = probe.formals[-1].span if probe.formals else probe.span
    return Diagnostic(
        "BT113",
        f"the probe declares {_parameters(declared)}, the traced method has {actual}",
        Label(probe.formals[0].span.to(last) if probe.formals else probe.span),
        help=("write .. for the other parameters:  (String first, ..)",) if declared < actual else (),
        notes=("the method takes (" + ", ".join(map(str, shape.parameters)) + ")",),
    )


def _parameters(count: int) -> str:
    return f"{count} parameter" + ("" if count == 1 else "s")
