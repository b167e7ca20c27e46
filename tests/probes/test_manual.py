"""The headers of the libraries, which are their manual pages."""

from __future__ import annotations

import re

import pytest

from btpy.cli import run, run_script
from btpy.lang.check.checker import check_source
from btpy.lang.link.libraries import Libraries, Library
from btpy.lang.link.linker import parameters
from btpy.lang.link.parameters import declared
from btpy.lang.manual import manual
from btpy.lang.syntax import nodes
from btpy.lang.syntax.parser import parse
from btpy.model.source import Source
from docs.build_libraries import PAGE, page
from docs.build_outputs import WORKLOADS, output

LIBRARIES = [library for library in Libraries().all() if library.name.startswith("btpy.")]
libraries = pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)


def source(library: Library) -> Source:
    return Source(library.name, library.path.read_text(encoding="utf-8"), path=library.path)


def indented(library: Library) -> list[list[str]]:
    """The paragraphs of a header that show scripts or output."""
    header = library.path.read_text(encoding="utf-8").split("\n\n", 1)[0]
    paragraphs = "\n".join(line.removeprefix("//") for line in header.splitlines()).split("\n\n")
    return [[line[5:] for line in paragraph.splitlines()] for paragraph in paragraphs if paragraph.startswith("     ")]


@libraries
def test_no_parameter_has_the_name_of_an_option(library: Library) -> None:
    """btpy would read the name as the option, so users could set the parameter only with -P."""
    options = {option.key for command in (run_script.COMMAND, run.COMMAND) for option in command.options}
    assert [parameter.name for parameter in parameters(source(library)) if parameter.name in options] == []


@libraries
def test_the_scripts_of_a_header_compile(library: Library) -> None:
    name = library.name.removeprefix("btpy.")
    scripts = [lines for lines in indented(library) if not lines[0].startswith("$")]
    assert scripts
    for lines in scripts:
        assert f"import btpy.{name}" in lines[0]
        assert check_source(Source(f"{name}.bt", "\n".join(lines)), Libraries()).warnings == ()


@libraries
def test_the_samples_in_a_header_fit_a_terminal(library: Library) -> None:
    (sample,) = [lines for lines in indented(library) if lines[0].startswith("$")] or [[]]
    assert max(map(len, sample), default=0) < 80


def test_the_generator_makes_the_output_of_each_library_that_shows_one() -> None:
    shown = {library.name.removeprefix("btpy.") for library in LIBRARIES if "\n//     $ btpy" in source(library).text}
    assert shown == WORKLOADS.keys()


def test_the_output_in_a_header_is_what_the_library_prints() -> None:
    (library,) = [library for library in LIBRARIES if library.name == "btpy.dns"]
    assert shape(output("dns")) == shape(indented(library)[0])


def shape(lines: list[str]) -> set[tuple[str, ...]]:
    """The words of each line, without durations."""
    return {tuple(re.sub(r"^[\d.]+(ns|us|ms|s)$", "…", word) for word in line.split()) for line in lines}


@libraries
def test_the_header_tells_the_overhead(library: Library) -> None:
    assert "\n// Overhead: " in library.path.read_text(encoding="utf-8").split("\n\n", 1)[0]


@libraries
def test_others_can_build_on_it(library: Library) -> None:
    script = parse(source(library))
    parameters = [declared(item, []) for item in script.items if isinstance(item, nodes.ScriptParameter)]
    assert None not in parameters
    assert [parameter.name for parameter in parameters if parameter is not None and not parameter.help] == []
    if any(isinstance(item, nodes.Probe) for item in script.items):
        assert "provides event." in manual(source(library))


def test_the_page_of_libraries_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make man"


@libraries
def test_the_page_shows_the_output_of_a_library(library: Library) -> None:
    name = library.name.removeprefix("btpy.")
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {name}\n")[1].split("\n## ")[0]
    for lines in indented(library):
        assert "\n".join(lines).rstrip() in section
