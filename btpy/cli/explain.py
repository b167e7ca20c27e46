"""``btpy explain``: the meaning of a diagnostic code."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command, Option
from btpy.cli.printing import print_lines, print_text
from btpy.errors import UsageError

if TYPE_CHECKING:
    from btpy.explanations import Explanation

COMMAND = Command(
    name="explain",
    usage=("explain [CODE] [--json]", "explain safe-calls"),
    summary="explain a diagnostic code",
    about="Explains a code such as BT201, with an example that causes it and an example that does not.\n"
    "Without a code: lists all.\nsafe-calls: the methods of the traced program that a script may call.",
    options=(Option(("--json",), "one JSON object a line"),),
    positionals=(0, 1),
    examples=(
        ("explain BT301", "why a pattern matches nothing"),
        ("explain", "all codes"),
    ),
)


_SAFE_CALLS = """\
Methods that a script may call. They run no code of the application, do no I/O, do not wait, and change nothing.
  plain   the agent calls the method. A test reads the class files of JDK 8 to 25: the method and all methods that it
          calls are known, take no monitor, change no object of the application, and take time and memory that are
          linear in the length of their arguments
  =       the agent does not call the method: it computes the result from the fields of the object, within a bound
To allow any other method:  --allow call:com.acme.Foo.bar

"""
_REFUSED_CALLS = """
Methods that look harmless and need --allow call:CLASS.METHOD:
"""


def run(arguments: Arguments, console: Console) -> int:
    from btpy.explanations import explanations

    all_explanations = explanations()
    words = arguments.positionals
    if words == ["safe-calls"]:
        print_text(_safe_calls())
        return 0
    selection = [_find(words[0], all_explanations)] if words else list(all_explanations.values())
    ascii_only = not console.unicode
    if arguments.switch("json"):
        rows = ({"type": "explanation", "v": 1, **explanation._asdict()} for explanation in selection)
        print_lines((json.dumps(row, ensure_ascii=False) for row in rows), ascii_only=ascii_only)
    elif words:
        print_text(selection[0].page, ascii_only=ascii_only)
    else:
        titles = (f"{explanation.code}  {explanation.title}" for explanation in selection)
        print_lines(titles, ascii_only=ascii_only)
    return 0


def _safe_calls() -> str:
    from btpy.api.reference import refused_methods, safe_methods

    owners: dict[str, list[str]] = {}
    for method in (method for methods in safe_methods().values() for method in methods):
        owner = method.owner + (" and its subtypes" if method.subtypes else "")
        parameters = ", ".join(name.rpartition(".")[2] for name in method.parameters or ())
        mark = "=" if method.substituted else ""
        owners.setdefault(owner, []).append(f"{mark}{method.name}({parameters})")
    allowed = (f"{owner}: {', '.join(signatures)}" for owner, signatures in owners.items())
    refused = (f"{method.owner}.{method.name}(): {method.reason}" for method in refused_methods())
    return f"{_SAFE_CALLS}{_wrapped(allowed)}{_REFUSED_CALLS}{_wrapped(refused)}"


def _wrapped(lines: Iterable[str]) -> str:
    return "".join(f"{textwrap.fill(line, 100, subsequent_indent='    ')}\n" for line in lines)


def _find(word: str, by_code: dict[str, Explanation]) -> Explanation:
    code = word.upper().strip("[]")
    code = code if code.startswith("BT") else f"BT{code}"
    if code in by_code:
        return by_code[code]
    from difflib import get_close_matches

    near = get_close_matches(code, by_code, 3)
    raise UsageError(
        f"there is no code {word}",
        help=[*([f"did you mean {' or '.join(near)}?"] if near else []), "btpy explain lists all codes"],
    )
