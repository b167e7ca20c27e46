"""Syntax tree → checked program, and checked program + traced method → typed tree.

:func:`check` needs no JVM. It reads annotations, settles what each map holds, types every body against an unknown
method (so that only what is wrong in every method is refused) and fixes the templates of what bodies print.
:func:`bind` types one body against one method; what does not fit there is an error of that method alone.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace

from btpy.errors import ScriptError
from btpy.frozen import dataclass
from btpy.lang import program, typed_tree
from btpy.lang.builtins import (
    AGGREGATIONS,
    DEFAULT_MAP_KEYS,
    FACTS,
    FUNCTIONS,
    MAX_KEYS,
    MAX_STATEMENTS,
    PLACE_OF_POINT,
    VARIABLES,
    WARMED,
    WEIGHED,
    Place,
    fact_input,
)
from btpy.lang.check import events
from btpy.lang.check.aggregations import PLAIN, Definition, definition
from btpy.lang.check.attachments import Attached, Report, attach
from btpy.lang.check.classes import ANY_METHOD, NOTHING_KNOWN, Classes, Subject
from btpy.lang.check.context import MakeTemplate
from btpy.lang.check.elaborate import Body, elaborate, type_declarations
from btpy.lang.check.frameworks import APPLICATION, frameworks, split
from btpy.lang.check.map_declarations import DeclaredMap, apply, declared_maps
from btpy.lang.check.sampling import decide_together, firing, weight_text
from btpy.lang.check.sending import check_sending
from btpy.lang.check.settings import check_settings
from btpy.lang.check.shared import Shared
from btpy.lang.link.libraries import Libraries
from btpy.lang.link.linker import Linked, link
from btpy.lang.program import Given, Probe, Program, ThreadVariable
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
    ProbeAttachment,
    SampleAttachment,
    TimerAttachment,
)
from btpy.model.diagnostics import Diagnostic, Label, Severity
from btpy.model.maps import Map, MapKind, map_title
from btpy.model.permissions import DEFAULT_PERMISSIONS, Permissions
from btpy.model.sampling import Sampling
from btpy.model.source import Source, Span
from btpy.model.templates import Slot, Template, TemplateKind
from btpy.model.types import ANY, LONG, Kind, Type, joined


def check_source(
    source: Source,
    libraries: Libraries | None = None,
    arguments: Mapping[str, str] | None = None,
    permissions: Permissions = DEFAULT_PERMISSIONS,
    classes: Classes = NOTHING_KNOWN,
    earlier: Program | None = None,
) -> Program:
    """Parses, links and checks a script. ``arguments``: texts that the command line gives for its parameters;
    ``permissions``: what the user allows; ``classes``: what messages may tell of the traced program; ``earlier``: the
    program that the script extends.

    Raises ScriptError, and UsageError for a parameter without a fitting value.
    """
    program = check(link(source, libraries, arguments, earlier), permissions, classes, earlier)
    given = Given(tuple((arguments or {}).items()), (libraries or Libraries()).directories)
    return replace(program, given=given)


def check(
    linked: Linked,
    permissions: Permissions = DEFAULT_PERMISSIONS,
    classes: Classes = NOTHING_KNOWN,
    earlier: Program | None = None,
) -> Program:
    """The checked program; warnings are in it. Raises ``ScriptError`` with all errors and warnings.

    ``earlier``: the program that the script extends. A map or thread variable that one of its probes uses is the same
    in the script, and must hold the same; of one that only removed probes used, the script may make another.
    """
    diagnostics = list(linked.diagnostics)
    report = diagnostics.append
    settings = check_settings(linked.settings, report)
    others = split(str(settings.get("frameworks", "")))
    permissions = replace(permissions, frameworks=(*permissions.frameworks, *others))
    shared = Shared.of(earlier)
    drafts = _probes(linked, permissions, shared, report)
    functions = _typed_functions(linked)
    capacity = int(settings.get("max_map_keys", DEFAULT_MAP_KEYS))
    trees = [*(draft.probe.tree for draft in drafts), *functions]
    declared = declared_maps(linked.maps, report)
    maps = shared.maps_with(_maps([*shared.trees, *trees], capacity, declared, report), trees, declared, report)
    threads = shared.threads_with(trees, report)
    hosted = _subscribers(drafts)
    templates = list(shared.templates)
    sound = not any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)

    def typed(draft: _Draft) -> Body:
        make_template = _template_maker(draft.probe.id, templates)
        return _elaborate(linked, draft, hosted, maps, threads, make_template, report, classes)

    def sampled(draft: _Draft) -> Body:
        return _elaborate(linked, draft, hosted, maps, threads, lambda *_: 0, lambda _: None)

    # What is stored is known only when all bodies are typed, and reading a value shows its unit: those that do are
    # typed twice. Subscribers are typed where their host says `provide`.
    bodies = [draft for draft in drafts if not isinstance(draft.probe.attachment, ProbeAttachment)]
    readers = [draft for draft in bodies if _reads_state(draft.probe, *hosted.get(draft.probe.id, ()))]
    twice = {draft.probe.id for draft in readers}
    found = [sampled(draft) if draft.probe.id in twice else typed(draft) for draft in bodies]
    maps = shared.maps_typed(maps, _stored_types(found), trees, report if sound else lambda _: None)
    threads = shared.threads_typed(threads, [each for body in found for each in body.thread_samples], trees, report)
    estimated = _estimated(drafts, shared.probes)
    maps = {
        name: replace(
            each,
            estimated=estimated.get(name, each.estimated),
            imported=name.rpartition(".")[0] in linked.imported,
        )
        for name, each in maps.items()
    }
    for draft in readers:
        typed(draft)
    for draft in drafts:
        _count_statements(draft.probe.tree, report)
    check_sending([draft.probe for draft in drafts], shared.active, report)
    called = {function.name.span for draft in drafts for function in draft.probe.calls}
    uncalled = [function for function in functions if function.name.span not in called]
    type_declarations(uncalled, linked.checks, maps, linked.functions, report)
    ordered = _in_order(linked, diagnostics)
    if any(diagnostic.severity is Severity.ERROR for diagnostic in ordered):
        raise ScriptError(ordered)
    return Program(
        linked.source,
        (*shared.probes, *(draft.probe for draft in drafts)),
        shared.all_maps(maps),
        tuple(templates),
        linked.doc,
        tuple(settings.items()),
        tuple(ordered),
        permissions,
        linked.functions,
        linked.libraries,
        linked.parameters,
        shared.all_threads(threads),
        earlier,
        earlier.removed if earlier is not None else frozenset(),
    )


def _typed_functions(linked: Linked) -> list[nodes.Function]:
    """The functions that matter to the maps: those that are called, and all of the script itself."""
    called = {function.name.span for probe in linked.probes for function in probe.calls}
    return [
        function
        for function in linked.functions.values()
        if function.name.span in called or function.name.span.source is linked.source
    ]


def _in_order(linked: Linked, diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Each fault once, in the order of the text; those of libraries say how the library came in."""
    found: dict[tuple[str, Span, str], Diagnostic] = {}
    for each in diagnostics:
        found.setdefault((each.code, each.primary.span, each.message), each)
    ordered = sorted(found.values(), key=lambda each: (each.primary.span.source.base, each.primary.span.start))
    return [_with_imports(linked, each) for each in ordered]


def _with_imports(linked: Linked, diagnostic: Diagnostic) -> Diagnostic:
    sources = {id(label.span.source) for label in (diagnostic.primary, *diagnostic.secondary)}
    chain = [label for label in linked.came_by(diagnostic.primary.span.source) if id(label.span.source) not in sources]
    return replace(diagnostic, secondary=(*diagnostic.secondary, *chain)) if chain else diagnostic


def bind(
    checked: Program,
    probe: Probe,
    shape: Shape | None,
    classes: Classes = NOTHING_KNOWN,
    subject: Subject = ANY_METHOD,
) -> BoundProbe:
    """One probe against one shape (None: timer, begin and end). Raises ``ScriptError`` with what does not fit the
    method. ``classes``: what is known of the traced program; ``subject``: what messages call the method."""
    errors: list[Diagnostic] = []
    attachment = probe.attachment
    outermost = any(annotation.name.text == "Outermost" for annotation in probe.tree.annotations)
    places = (_place(attachment, shape),)
    if shape is not None:
        misfit = _misfit(probe, shape)
        if misfit is not None:
            raise ScriptError([misfit])
    mine: dict[int, list[int]] = {}  # by the probe that ships them: subscribers come and go
    for each in reversed(checked.templates):
        if (each.probe if each.host is None else each.host) == probe.id:
            mine.setdefault(each.probe, []).append(each.id)

    def next_template(probe: int, *_: object) -> int:
        return mine[probe].pop()

    def report(diagnostic: Diagnostic) -> None:
        if diagnostic.severity is Severity.ERROR:
            errors.append(diagnostic)

    pattern = attachment.thrown if isinstance(attachment, MethodAttachment) else None
    thrown = pattern is not None and (places[0] in (Place.THROW, Place.RAISE, Place.CATCH, Place.UNCAUGHT))
    maps = {each.name: each for each in checked.maps}
    threads = {each.name: each for each in checked.thread_variables}
    body = elaborate(
        probe,
        places,
        None,
        shape,
        maps,
        next_template,
        report,
        functions=checked.script_of(probe).functions,
        subscribers=checked.subscribers(probe),
        threads=threads,
        outermost=outermost,
        thrown=thrown,
        permissions=checked.permissions,
        classes=classes,
        subject=subject,
    )
    if errors:
        raise ScriptError(errors)
    thrown_type = pattern.text if pattern is not None and thrown else None
    told = FACTS.get(places[0])
    # The agent hands over all facts, whether the body uses them or not.
    inputs = body.inputs if told is None else tuple(map(fact_input, range(len(told))))
    return BoundProbe(probe, shape, inputs, body.entries, thrown_type, body.predicate, body.statements, body.locals_)


def warming(checked: Program) -> BoundProbe | None:
    """A body for the agent's thread that calls once what would load classes on threads of the target; None: nothing
    does."""
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
    """Where a body runs once it is bound."""
    if isinstance(attachment, MethodAttachment) and attachment.uncaught:
        return Place.UNCAUGHT
    return PLACE_OF_POINT[shape.point] if shape is not None else _AGENT_PLACES[type(attachment)]


def _misfit(probe: Probe, shape: Shape) -> Diagnostic | None:
    """Probe parameters against those of the method: the planner picks overloads by type, the numbers must agree."""
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
        help=("leave the rest open:  (String first, ..)",) if declared < actual else (),
        notes=("the method takes (" + ", ".join(map(str, shape.parameters)) + ")",),
    )


def _parameters(count: int) -> str:
    return f"{count} parameter" + ("" if count == 1 else "s")


# ---------------------------------------------------------------- probes


@dataclass(frozen=True, slots=True)
class _Draft:
    """``spelled``: the name of the probe in its script; one of another script may have it already."""

    probe: Probe
    spelled: str
    attached: Attached
    permissions: Permissions


def _with_application(attached: Attached, permissions: Permissions) -> Attached:
    """Puts the pattern of the classes of the application in the place of ``<app>``."""
    attachment = attached.attachment
    if not isinstance(attachment, MethodAttachment):
        return attached
    if all(pattern.text != APPLICATION for pattern in attachment.classes):
        return attached
    text = frameworks(permissions.frameworks).application
    classes = tuple(
        replace(pattern, text=text, written=APPLICATION) if pattern.text == APPLICATION else pattern
        for pattern in attachment.classes
    )
    return replace(attached, attachment=replace(attachment, classes=classes))


def _probes(linked: Linked, permissions: Permissions, shared: Shared, report: Report) -> list[_Draft]:
    drafts: list[_Draft] = []
    taken = {probe.name for probe in shared.active}
    names: dict[str, nodes.Identifier | None] = {}
    own_numbers: dict[str, int] = {}
    numbers: dict[str, int] = {}
    for each in linked.probes:
        tree = each.tree
        attached = attach(tree, report)
        if attached is None:
            continue
        attached = _with_application(attached, permissions)
        chosen = tree.name or attached.name
        if chosen is not None:
            name = _qualified(each.prefix, chosen.text)
        else:
            name = _unlike(_plain_name(each.prefix, attached), names, own_numbers)
        first = names.get(name)
        if chosen is not None and first is not None:
            report(
                Diagnostic(
                    "BT102",
                    f"two probes are called `{chosen.text}`",
                    Label(chosen.span, "the second"),
                    (Label(first.span, "the first"),),
                )
            )
        names[name] = chosen
        _check_formals(tree, attached, report)
        formals = tuple(program.Formal(_spelled(each.type), each.name.text, each.span) for each in tree.formals or ())
        probe = Probe(
            len(shared.probes) + len(drafts),
            _unlike(name, taken, numbers),
            attached.attachment,
            None if tree.formals is None else formals,
            tree.open_formals,
            tree,
            tree.span,
            each.calls,
            attached.doc,
            attached.unit,
        )
        fires = firing(tree, attached.attachment, report)
        if fires.sampling is not None:
            probe = replace(probe, sampling=replace(fires.sampling, group=probe.id))
        taken.add(probe.name)
        drafts.append(_Draft(replace(probe, limit=fires.limit, level=fires.level), name, attached, permissions))
    decided = decide_together([draft.probe for draft in drafts], report)
    drafts = [replace(draft, probe=probe) for draft, probe in zip(drafts, decided, strict=True)]
    return _subscribed(drafts, report)


def _subscribed(drafts: list[_Draft], report: Report) -> list[_Draft]:
    """Tells the subscribers among the drafts whose events they get."""
    hosts = {draft.spelled: draft for draft in drafts}
    settled = []
    for draft in drafts:
        name = draft.attached.host
        if name is not None:
            host = hosts.get(name.text)
            if host is not None:
                problem = events.unfit_host(name, host.probe)
                if problem is not None:
                    report(problem)
                draft = replace(draft, probe=replace(draft.probe, attachment=ProbeAttachment(host.probe.id)))
        settled.append(draft)
    return settled


def _qualified(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _spelled(type_: nodes.TypeName) -> str:
    return type_.name + "[]" * type_.dimensions


def _plain_name(prefix: str, attached: Attached) -> str:
    """What a probe without a name is called, if nothing else is."""
    attachment = attached.attachment
    if isinstance(attachment, MethodAttachment):
        pattern = attachment.methods[0].text
        base = pattern if pattern.isidentifier() else {"<init>": "init", "<clinit>": "clinit"}.get(pattern, "probe")
    else:
        base = attached.places[0].value.removeprefix("@On").lower()
    return _qualified(prefix, base)


def _unlike(name: str, taken: Container[str], numbers: dict[str, int]) -> str:
    """The name, with a number where it is taken. ``numbers``: by name, from where on they are free."""
    number = numbers.get(name, 1)
    found = name if number == 1 else f"{name}_{number}"
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    numbers[name] = number
    return found


def _check_formals(tree: nodes.Probe, attached: Attached, report: Report) -> None:
    if tree.formals is None:
        return
    if not isinstance(attached.attachment, MethodAttachment):
        span = tree.formals[0].span.to(tree.formals[-1].span) if tree.formals else tree.span
        report(Diagnostic("BT113", f"a probe at {attached.places[0].value} has no parameters", Label(span)))
        return
    seen: dict[str, nodes.Identifier] = {}
    for formal in tree.formals:
        first = seen.setdefault(formal.name.text, formal.name)
        if first is not formal.name:
            report(
                Diagnostic(
                    "BT102",
                    f"two parameters are called `{formal.name.text}`",
                    Label(formal.name.span, "the second"),
                    (Label(first.span, "the first"),),
                )
            )
        name = formal.name.text
        if name in _RESULTS and not VARIABLES[name].places.isdisjoint(attached.places):
            report(
                Diagnostic(
                    "BT102",
                    f"`{name}` is a parameter of the method here",
                    Label(formal.name.span, f"hides the built-in `{name}`"),
                    help=(f"`{name}` needs no parameter: leave it out, and use it in the body",),
                    notes=("the list gives its own names to the parameters of the method, in their order",),
                    severity=Severity.WARNING,
                )
            )


_RESULTS = ("duration", "retval", "exception")
"""What a place gives besides the parameters; elsewhere they are asked for by parameters of the probe."""


def _count_statements(tree: nodes.Probe, report: Report) -> None:
    statements = (
        nodes.Let,
        nodes.Assign,
        nodes.Step,
        nodes.Delete,
        nodes.Return,
        nodes.ExpressionStatement,
        nodes.If,
        nodes.For,
    )
    found = [node for node in nodes.walk(tree.body) if isinstance(node, statements)]
    if len(found) > MAX_STATEMENTS:
        report(
            Diagnostic(
                "BT406",
                f"this probe has {len(found)} statements",
                Label(found[MAX_STATEMENTS].span, f"number {MAX_STATEMENTS + 1}"),
                notes=(f"a firing runs at most {MAX_STATEMENTS}",),
            )
        )


_Hosted = Mapping[int, Sequence[Probe]]
"""By the id of a probe, those whose bodies run where it says ``provide``."""


def _subscribers(drafts: list[_Draft]) -> _Hosted:
    hosted: dict[int, list[Probe]] = {}
    for draft in drafts:
        if isinstance(draft.probe.attachment, ProbeAttachment):
            hosted.setdefault(draft.probe.attachment.host, []).append(draft.probe)
    return hosted


def _elaborate(
    linked: Linked,
    draft: _Draft,
    hosted: _Hosted,
    maps: dict[str, Map],
    threads: Mapping[str, ThreadVariable],
    make_template: MakeTemplate,
    report: Report,
    classes: Classes = NOTHING_KNOWN,
) -> Body:
    attached = draft.attached
    return elaborate(
        draft.probe,
        attached.places,
        attached.location,
        None,
        maps,
        make_template,
        report,
        functions=linked.functions,
        subscribers=tuple(hosted.get(draft.probe.id, ())),
        threads=threads,
        outermost=attached.outermost,
        permissions=draft.permissions,
        classes=classes,
    )


def _template_maker(host: int, templates: list[Template]) -> MakeTemplate:
    def make_template(
        probe: int,
        kind: TemplateKind,
        parts: tuple[str | Slot, ...],
        name: str,
        maps: tuple[int, ...],
        options: tuple[tuple[str, object], ...],
    ) -> int:
        template = Template(len(templates), probe, kind, parts, name, maps, options, host if host != probe else None)
        templates.append(template)
        return template.id

    return make_template


# ---------------------------------------------------------------- maps


@dataclass(frozen=True, slots=True)
class _Use:
    """One appearance of a map; ``definition`` where it is assigned."""

    reference: nodes.MapReference
    definition: Definition | None
    call: nodes.Call | None


def _maps(
    trees: Sequence[nodes.Tree], capacity: int, declared: Mapping[str, DeclaredMap], report: Report
) -> dict[str, Map]:
    """All maps that are assigned somewhere: kind and number of keys are those of the first assignment."""
    uses = [use for tree in trees for use in _uses(tree, report)]
    first: dict[str, _Use] = {}
    for use in uses:
        if use.definition is not None:
            first.setdefault(use.reference.name, use)
    maps: dict[str, Map] = {}
    for name, use in first.items():
        held = use.definition or PLAIN
        type_ = LONG if held.kind is MapKind.COUNT else ANY
        keys = len(use.reference.keys)
        maps[name] = Map(len(maps), name, held.kind, keys, type_, held.precision, capacity, held.parameters)
        if len(use.reference.keys) > MAX_KEYS:
            report(Diagnostic("BT103", f"a map has at most {MAX_KEYS} keys", Label(use.reference.span)))
        if name in declared:
            maps[name] = apply(declared[name], maps[name], use.reference, report)
    for use in uses:
        defining = first.get(use.reference.name)
        if defining is None or defining is use:
            continue
        if use.definition is not None and use.definition != defining.definition:
            report(_conflict(use, defining))
        elif use.definition is None and not use.reference.keys:
            continue  # all of the map, or a value that elaboration refuses
        elif len(use.reference.keys) != len(defining.reference.keys):
            report(_other_keys(use, defining))
    return maps


def _uses(tree: nodes.Tree, report: Report) -> Iterator[_Use]:
    assigned: dict[int, _Use] = {}
    for node in nodes.walk(tree):
        if isinstance(node, nodes.Assign | nodes.Step) and isinstance(node.target, nodes.MapReference):
            assigned[id(node.target)] = _assignment(node, node.target, report)
        elif isinstance(node, nodes.MapReference):
            yield assigned.get(id(node)) or _Use(node, None, None)


def _assignment(node: nodes.Assign | nodes.Step, target: nodes.MapReference, report: Report) -> _Use:
    value = node.value if isinstance(node, nodes.Assign) and node.operator.text == "=" else None
    if not isinstance(value, nodes.Call) or value.function.text not in AGGREGATIONS:
        return _Use(target, PLAIN, None)
    return _Use(target, definition(value, report), value)


def _stored(use: _Use) -> str:
    if use.call is not None:
        return f"`{use.call.function.text}`"
    return "a plain value"


def _conflict(use: _Use, defining: _Use) -> Diagnostic:
    name = map_title(use.reference.name)
    assert use.definition is not None
    assert defining.definition is not None
    if use.definition.kind is defining.definition.kind:
        message = f"`{name}` is defined in two ways"
        if use.definition.kind is MapKind.HIST:
            message = f"`{name}` has two precisions"
    else:
        message = f"`{name}` cannot hold both {_stored(defining)} and {_stored(use)}"
    here = use.call.function.span if use.call is not None else use.reference.span
    there = defining.call.function.span if defining.call is not None else defining.reference.span
    return Diagnostic(
        "BT203",
        message,
        Label(here, f"{_stored(use)} here"),
        (Label(there, f"{_stored(defining)} here"),),
        help=("take two maps",),
    )


def _other_keys(use: _Use, defining: _Use) -> Diagnostic:
    name, count, first = map_title(use.reference.name), len(use.reference.keys), len(defining.reference.keys)
    return Diagnostic(
        "BT204",
        f"`{name}` has {_keys(first)}, here {count}",
        Label(use.reference.span, _keys(count)),
        (Label(defining.reference.span, f"first assigned with {_keys(first)}"),),
    )


def _keys(count: int) -> str:
    return "no key" if count == 0 else "1 key" if count == 1 else f"{count} keys"


def _reads_state(*probes: Probe) -> bool:
    """Whether a body of these, or a function that they call, reads a map or a variable of a thread."""
    for tree in (tree for probe in probes for tree in (probe.tree, *probe.calls)):
        assigned: set[int] = set()
        for node in nodes.walk(tree):
            if isinstance(node, nodes.ThreadVariable):
                return True
            if isinstance(node, nodes.Assign | nodes.Step):
                assigned.add(id(node.target))
            elif isinstance(node, nodes.MapReference) and id(node) not in assigned:
                return True
    return False


def _stored_types(bodies: Sequence[Body]) -> dict[int, Type]:
    """The type of what each map holds, from all values that are put into it."""
    types: dict[int, Type] = {}
    for map_id, sample in (each for body in bodies for each in body.samples):
        plain = LONG if sample.kind is Kind.INT else replace(sample, nullable=False)
        types[map_id] = plain if map_id not in types else joined(types[map_id], plain)
    return types


def resampled(program: Program, sampling: Sampling) -> Program:
    """The program with another sampling for all its method probes, whatever their ``@Sample`` says."""
    probes = tuple(
        replace(probe, sampling=replace(sampling, group=probe.id))
        if isinstance(probe.attachment, MethodAttachment)
        else probe
        for probe in program.probes
    )
    estimated = _estimated([], probes)
    maps = tuple(replace(each, estimated=estimated.get(each.name)) for each in program.maps)
    return replace(program, probes=probes, maps=maps)


def _estimated(drafts: list[_Draft], before: Sequence[Probe]) -> dict[str, str]:
    """The maps whose samples a sampled probe weighs, and by how much. ``before``: the probes of other scripts, of which
    the weights do not matter to maps that the drafts leave alone."""
    weights: dict[str, set[str]] = {}
    probes = [*before, *(draft.probe for draft in drafts)]
    for probe in probes:
        attachment = probe.attachment
        host = probes[attachment.host] if isinstance(attachment, ProbeAttachment) else probe
        weight = weight_text(host.sampling)
        trees: tuple[nodes.Tree, ...] = (probe.tree, *probe.calls)
        for node in (node for tree in trees for node in nodes.walk(tree)):
            match node:
                case nodes.Assign(target=nodes.MapReference() as target, value=nodes.Call() as call):
                    if call.function.text in WEIGHED:
                        weights.setdefault(target.name, set()).add(weight)
                case _:
                    pass
    return {
        name: "?" if "?" in found else "…".join(sorted(found, key=float))
        for name, found in weights.items()
        if found != {"1"}
    }
