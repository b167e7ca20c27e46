"""Static members. A body has no value that refers to a static member, so it cannot read or call one. It would need a
class loader to find the class by its name. Also, the first read of a static field or call of a static method
initialises the class, which runs application code at an unexpected moment.
"""

from __future__ import annotations

from btpy.lang.check.context import Context
from btpy.lang.check.faults import FaultError, fault
from btpy.lang.check.variables import is_known
from btpy.lang.hints import foreign_names
from btpy.lang.syntax import nodes
from btpy.model.diagnostics import Diagnostic, Label

_WHY = "looking the class up could load and initialise it in the traced program"


def refuse_static_field(context: Context, tree: nodes.Field) -> None:
    """Raises FaultError for ``com.acme.Limits.MAX`` and ``Limits.MAX``."""
    owner = _class(context, tree.target)
    if owner is not None:
        raise FaultError(is_static(owner, tree))


def is_static(owner: str, tree: nodes.Field) -> Diagnostic:
    """Says that the field is one of the class ``owner``."""
    name = tree.name.text
    if name == "class":
        return Diagnostic(
            "BT213",
            "a class is not a value here",
            Label(tree.name.span),
            help=(f'its name is a text:  "{owner}"', f"a test:  value instanceof {owner}    a name:  typeof(value)"),
        )
    by_name = f'compare a constant of an enum by its name:  x.status == "{name}"'
    return Diagnostic(
        "BT213",
        f"`{name}` is a static field of `{owner}`",
        Label(tree.name.span, "static: a body reads only values of the traced method"),
        help=foreign_names.advice_for_name(owner.rpartition(".")[2])
        or (f"its value, where the program reads it:   {_scope(owner)}::* @get({owner}::{name}) {{ print(retval) }}",),
        notes=(by_name, _WHY) if name.isupper() else (_WHY,),
    )


def refuse_static_call(context: Context, tree: nodes.MethodCall) -> None:
    """Raises FaultError for ``com.acme.Limits.current()``."""
    owner = _class(context, tree.target)
    if owner is None:
        return
    name = tree.method.text
    arguments = [argument.value.span.text for argument in tree.arguments]
    raise fault(
        "BT213",
        f"`{name}` is a static method of `{owner}`",
        Label(tree.method.span, "static: a body cannot call it"),
        help=foreign_names.advice_for_member(owner.rpartition(".")[2], name, *arguments[:1])
        or foreign_names.advice_for_name(owner.rpartition(".")[2])
        or (f"its result, when it returns:   {owner}::{name} @return {{ print(retval) }}",),
        notes=(_WHY,),
    )


def _class(context: Context, tree: nodes.Expression) -> str | None:
    """The class that the expression spells, if it is not a value."""
    names: list[str] = []
    at = tree
    while isinstance(at, nodes.Field):
        names.insert(0, at.name.text)
        at = at.target
    if not isinstance(at, nodes.Name) or is_known(context, at.text) or foreign_names.advice_for_name(at.text):
        return None
    packages, simple = [at.text, *names][:-1], [at.text, *names][-1]
    nested = any(package[:1].isupper() for package in packages)
    is_class = simple[:1].isupper() and (not simple.isupper() or (len(packages) > 0 and not nested))
    return ".".join((*packages, simple)) if is_class else None


def _scope(owner: str) -> str:
    """Classes that may access members of ``owner``."""
    return (owner.rpartition(".")[0] or "your.package") + ".**"
