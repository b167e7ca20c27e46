"""Typed trees as text, and shapes of methods to bind against."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from btpy.lang import program, typed_tree
from btpy.lang.inputs import Input
from btpy.lang.program import Program
from btpy.lang.typed_tree import BoundProbe, OperationShape, Shape, Variable
from btpy.model.attachments import MethodAttachment
from btpy.model.patterns import OperationPattern
from btpy.model.points import Point
from btpy.model.templates import Slot, Template
from btpy.model.types import Kind, Type, from_descriptor

OBJECT = "Ljava/lang/Object;"


def shape(
    point: Point = Point.RETURN,
    parameters: str = "",
    returns: str = "V",
    names: str = "",
    *,
    static: bool = False,
    owner: str = "com.acme.Foo",
    operation: OperationShape | None = None,
    variables: str = "",
    absent: str = "",
) -> Shape:
    """``parameters``: descriptors with blanks between them; ``names``: their names in the same form, ``-`` for a
    parameter without a name. ``variables``: names and descriptors in turn, for slots 1, 3, 5 …
    """
    descriptors = parameters.split()
    arguments = [None if name == "-" else name for name in names.split()] or [None] * len(descriptors)
    return Shape(
        point,
        static,
        Type(Kind.OBJECT, class_name=owner),
        tuple(from_descriptor(descriptor) for descriptor in descriptors),
        tuple(_erased(descriptor) for descriptor in descriptors),
        tuple(arguments),
        from_descriptor(returns),
        _erased(returns),
        operation=operation,
        variables=tuple(
            Variable(name, from_descriptor(descriptor), _erased(descriptor), 1 + 2 * index)
            for index, (name, descriptor) in enumerate(pairwise(variables.split()))
        ),
        absent_variables=tuple(absent.split()),
    )


def pairwise(words: list[str]) -> list[tuple[str, str]]:
    return list(zip(words[::2], words[1::2], strict=True))


def operation(
    target: str = "", arguments: str = "", value: str = "V", *, element_size: int = 0, dimensions: int = 0
) -> OperationShape:
    """An operation from descriptors. Without ``target`` it is a static call or field."""
    descriptors = arguments.split()
    return OperationShape(
        from_descriptor(target) if target else None,
        tuple(from_descriptor(descriptor) for descriptor in descriptors),
        tuple(_erased(descriptor) for descriptor in descriptors),
        None if value == "V" else from_descriptor(value),
        _erased(value),
        element_size,
        dimensions,
    )


def _erased(descriptor: str) -> str:
    return OBJECT if descriptor[0] in "L[" else descriptor


def show_type(type_: Type) -> str:
    return f"{type_}?" if type_.nullable else str(type_)


def show_input(given: Input) -> str:
    descriptor = "Object" if given.descriptor == OBJECT else given.descriptor
    return f"{given.kind.value}{given.index}:{descriptor}"


def show(node: object) -> str:
    """``(Node:type parts…)`` without places."""
    if isinstance(node, typed_tree.Constant):
        return f"{node.value!r}:{show_type(node.type)}"
    if isinstance(node, typed_tree.InputValue):
        return f"<{show_input(node.input)}>:{show_type(node.type)}"
    if isinstance(node, typed_tree.Node):
        parts = [
            show(getattr(node, field.name))
            for field in fields(node)
            if field.name not in ("type", "span") and getattr(node, field.name) != ""
        ]
        return f"({type(node).__name__}:{show_type(node.type)} {' '.join(parts)})"
    if isinstance(node, tuple):
        return "[" + " ".join(map(show, node)) + "]"
    if is_dataclass(node):
        parts = [show(getattr(node, field.name)) for field in fields(node)]
        return f"({type(node).__name__} {' '.join(parts)})"
    return str(getattr(node, "value", node))


def show_template(template: Template) -> str:
    parts = []
    for part in template.parts:
        if isinstance(part, Slot):
            label = f"{part.label}=" if part.label else ""
            where = part.value if isinstance(part.value, int) else part.value.value
            rest = "…" if part.rest else ""
            format_ = f":{part.format}" if part.format else ""
            parts.append(f"{{{label}{where}{rest}{format_} {show_type(part.type)}}}")
        else:
            parts.append(repr(part))
    extra = f" {template.name!r}" if template.name else ""
    extra += f" maps {' '.join(map(str, template.maps))}" if template.maps else ""
    extra += "".join(f" {key}={value!r}" for key, value in template.options)
    return f"template {template.id} of probe {template.probe}: {template.kind.value}{extra} " + " ".join(parts)


def show_program(checked: Program) -> str:
    rows = [f"probe {probe.id} {probe.name}: {_attachment(probe)}" for probe in checked.probes]
    rows += [
        f"map {map_.id} @{map_.name}: {map_.kind.value} of {show_type(map_.type)}, {map_.keys} keys, "
        f"precision {map_.precision}, capacity {map_.capacity}"
        for map_ in checked.maps
    ]
    rows += [show_template(template).rstrip() for template in checked.templates]
    rows += [f"setting {name} = {value!r}" for name, value in checked.settings]
    return "\n".join(rows) + "\n"


def _attachment(probe: program.Probe) -> str:
    attachment = probe.attachment
    if not isinstance(attachment, MethodAttachment):
        return show(attachment)
    texts = {
        "classes": " ".join(class_.text for class_ in attachment.classes),
        "methods": " ".join(method.text for method in attachment.methods),
        "exclude": " ".join(pattern.text for pattern in attachment.exclude),
        "signature": attachment.signature.text if attachment.signature else "",
        "loader": attachment.loader.text if attachment.loader else "",
        "points": " ".join(point.name for point in attachment.points),
        "thrown": attachment.thrown.text if attachment.thrown else "",
        "pending": attachment.pending or "",
        "max": attachment.max_methods,
        "operation": _operation_text(attachment.operation),
    }
    return ", ".join(f"{key} {value}" for key, value in texts.items() if value != "")


def _operation_text(pattern: OperationPattern | None) -> str:
    if pattern is None:
        return ""
    parts = {"owner": pattern.owner, "member": pattern.member, "signature": pattern.signature}
    texts = [f"{name}={part.text}" for name, part in parts.items() if part is not None]
    lines = [f"lines={pattern.lines[0]}..{pattern.lines[1]}"] if pattern.lines is not None else []
    return " ".join([*texts, *lines]) or "any"


def show_bound(bound_probe: BoundProbe) -> str:
    rows = ["inputs " + " ".join(map(show_input, bound_probe.inputs))]
    rows += [
        f"entry {entry.index} [{' '.join(map(show_input, entry.inputs))}] {show(entry.value)}"
        for entry in bound_probe.entries
    ]
    if bound_probe.thrown is not None:
        rows.append(f"thrown {bound_probe.thrown}")
    if bound_probe.predicate is not None:
        rows.append(f"when {show(bound_probe.predicate)}")
    if bound_probe.locals_:
        rows.append("locals " + " ".join("Object" if local == OBJECT else local for local in bound_probe.locals_))
    return "\n".join(row.rstrip() for row in [*rows, *map(show, bound_probe.body)]) + "\n"
