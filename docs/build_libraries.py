"""Writes docs/libraries.md from the first comments of the libraries: python docs/build_libraries.py"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

from btpy.lang.check.events import provided
from btpy.lang.link.libraries import Libraries, Library
from btpy.lang.link.parameters import declared, shown_default
from btpy.lang.syntax import nodes, parser
from btpy.model.source import Source

PAGE = Path(__file__).parent / "libraries.md"
_WIDTH = 100
_HEAD = """# Libraries

<!-- Written by docs/build_libraries.py from the first comments of probes/*.bt: do not edit -->
<!-- docs/build_outputs.py runs the libraries, and puts their output into these comments -->

For everybody with a service that is slow, fails or hangs. The page lists the libraries that btpy
ships, each with its output on a test program. `btpy PID NAME` runs a library, `btpy lib list PID`
says which libraries apply to a JVM, and `btpy help NAME` prints what stands here. The outputs were
made with `--budget off`, because the programs do all their work at once; long outputs and lines are
cut.
"""
_NOT_RUN = "<!-- not run: output on a program of tests/probes -->"


def page() -> str:
    libraries = [library for library in Libraries().all() if library.name.startswith("btpy.")]
    sections = [_section(library) for library in libraries]
    rows = [f"| [{name}](#{name}) | {_escaped(summary)} |" for name, summary, _ in sections]
    table = "\n".join(["| library | it tells about |", "|---|---|", *rows])
    return "\n\n".join([_HEAD.strip(), table, *(text for _, _, text in sections)]) + "\n"


def _section(library: Library) -> tuple[str, str, str]:
    """The name of a library, the first sentence of its comment, and its section of the page."""
    name = library.name.removeprefix("btpy.")
    script = parser.parse(Source(name, library.path.read_text(encoding="utf-8"), path=library.path))
    summary, *paragraphs = (script.doc or "").split("\n\n")
    samples, scripts, prose = [], [], []
    for paragraph in paragraphs:
        if not paragraph.startswith("    "):
            prose.append(_wrapped(paragraph))
        elif paragraph.startswith("    $"):
            samples.append(f"{_NOT_RUN}\n```text\n{textwrap.dedent(paragraph)}\n```")
        else:
            # The sentence before a script ends with a colon, so the script stays below it.
            scripts.append(f"{prose.pop()}\n\n```btpy\n{textwrap.dedent(paragraph)}\n```")
    parts = [f"## {name}", _wrapped(summary), *samples, *prose, *_parameters(script), *_probes(name, script), *scripts]
    return name, " ".join(summary.split()), "\n\n".join(parts)


def _parameters(script: nodes.Script) -> list[str]:
    parameters = [declared(item, []) for item in script.items if isinstance(item, nodes.ScriptParameter)]
    rows = []
    for parameter in parameters:
        if parameter is not None:
            default = shown_default(parameter)
            cell = f"<code>{_escaped(default)}</code>" if default else "required"
            rows.append(f"| <code>--{parameter.name}</code> | {cell} | {_escaped(parameter.help)} |")
    return ["\n".join(["| option | default | |", "|---|---|---|", *rows])] if rows else []


def _probes(name: str, script: nodes.Script) -> list[str]:
    rows = []
    for probe in script.items:
        if isinstance(probe, nodes.Probe) and probe.name is not None and (values := provided(probe)):
            notes = {
                annotation.name.text: argument.value.value
                for annotation in probe.annotations
                for argument in annotation.arguments
                if isinstance(argument.value, nodes.Literal)
            }
            cell = ", ".join(f"`{value}`" for value in values)
            doc, test_note = (_escaped(str(notes.get(note, ""))) for note in ("Doc", "Tested"))
            rows.append(f"| `{name}.{probe.name.text}` | {doc} | {cell} | {test_note} |")
    return ["\n".join(["| probe | it fires when | values | tested with |", "|---|---|---|---|", *rows])] if rows else []


def _wrapped(paragraph: str) -> str:
    text = _escaped(" ".join(paragraph.split()))
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _escaped(text: str) -> str:
    """The text as Markdown: marks outside of backticks are escaped."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*<|])", r"\\\1", part) for part in parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
