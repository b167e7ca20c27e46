"""Libraries: the search path, the names of an import, and the probes that run."""

from __future__ import annotations

from pathlib import Path

import pytest

from btpy.errors import ScriptError, UsageError
from btpy.lang.check.checker import check_source
from btpy.lang.link.libraries import Libraries, LibraryError
from btpy.lang.program import Program
from btpy.lang.syntax.parser import parse
from btpy.model.attachments import MethodAttachment, ProbeAttachment
from btpy.model.diagnostics import Diagnostic, render
from btpy.model.source import Source, Span

SHOP = """\
// The shop.
param slow: duration = 5ms;
param pkg: string = "com.acme";
fn speed(long ns): string = ns < slow ? "ok" : "slow";
fn path(): string = @paths[tid];
@OnMethod(class=f"{pkg}.Endpoint", method="handle") probe begin { @paths[tid] = $path; }
@OnMethod(class=f"{pkg}.Endpoint", method="handle", location=EXIT) probe request {
  if exception != null { provide(path=path(), error=typeof(exception)); } else { provide(path=path(), took=duration); }
}
@OnMethod(class=f"{pkg}.Other", method="*") probe other { @others = count(); print(cls); }
@OnTimer(1s) { print(@others); }
"""


class Files:
    """A directory of scripts."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def write(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def source(self, text: str) -> Source:
        return Source("main.bt", text, path=self.write("main.bt", text))

    def check(self, text: str, *search: Path, **arguments: str) -> Program:
        return check_source(self.source(text), Libraries(search), arguments)

    def errors(self, text: str, *search: Path) -> list[Diagnostic]:
        with pytest.raises(ScriptError) as error:
            self.check(text, *search)
        return list(error.value.diagnostics)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return Files(tmp_path)


def names(program: Program) -> list[str]:
    return [probe.name for probe in program.probes]


def test_an_import_alone_runs_nothing(files: Files) -> None:
    files.write("shop.bt", SHOP)
    assert names(files.check("import shop; A::b { print(shop.speed(1), shop.slow) }")) == ["b"]


def test_a_use_runs_everything(files: Files) -> None:
    files.write("shop.bt", SHOP)
    program = files.check("use shop; A::b { print(1) }")
    assert names(program) == ["shop.begin", "shop.request", "shop.other", "shop.timer", "b"]
    assert [map_.title for map_ in program.maps] == ["shop.@paths", "shop.@others"]


def test_a_subscription_runs_its_probe_and_the_probes_it_needs(files: Files) -> None:
    files.write("shop.bt", SHOP)
    program = files.check("import shop; @OnProbe(shop.request) probe mine { print(event.path) }")
    assert names(program) == ["shop.begin", "shop.request", "mine"]
    assert program.probes[2].attachment == ProbeAttachment(1)
    assert program.subscribers(program.probes[1]) == (program.probes[2],)


def test_reading_a_map_runs_the_probes_that_write_it(files: Files) -> None:
    files.write("shop.bt", SHOP)
    assert names(files.check("import shop as s; @OnEnd { print(s.@others) }")) == ["s.other", "end"]
    assert names(files.check("import shop as s; A::b { print(s.path()) }")) == ["s.begin", "b"]


def test_a_used_library_uses_its_own(files: Files) -> None:
    files.write("a.bt", "use b; A::a { print(1) }")
    files.write("b.bt", "import c; A::b { print(c.x) }")
    files.write("c.bt", "param x = 1; A::c { print(2) }")
    assert names(files.check("use a; A::m { print(0) }")) == ["b.b", "a.a", "m"]
    assert names(files.check("import a; @OnEnd { print(0) }")) == ["end"]


def test_names_of_libraries_do_not_meet(files: Files) -> None:
    files.write("one.bt", "fn f(): int = 1; A::b { @m[f()] = count(); }")
    files.write("sub/one.bt", 'fn f(): string = "s"; A::b @exit { @m[f()] = sum(duration); }')
    program = files.check('use one; use "sub/one.bt" as two; fn f(): boolean = true; A::b { @m[f(), 1] = 5; }')
    assert [(map_.title, map_.kind.value, map_.keys) for map_ in program.maps] == [
        ("one.@m", "count", 1),
        ("two.@m", "sum", 1),
        ("@m", "value", 2),
    ]
    assert names(program) == ["one.b", "two.b", "b"]


def test_a_library_is_there_once(files: Files) -> None:
    files.write("c.bt", "param x: int = 1; A::c { @c = sum(x) }")
    files.write("a.bt", "import c(x=2); A::a { print(c.@c) }")
    program = files.check("use a; import c as other; @OnEnd { print(other.@c, other.x) }")
    assert names(program).count("other.c") + names(program).count("c.c") == 1
    (diagnostic,) = files.errors("use a; import c(x=3) as other; @OnEnd { print(other.@c) }")
    assert (diagnostic.code, diagnostic.message) == ("BT116", "`c` is imported twice with different values of `x`")


def test_parameters_reach_patterns_and_bodies(files: Files) -> None:
    files.write("shop.bt", SHOP)
    program = files.check(
        'param p = "org.x"; import shop(pkg=p, slow=1s); @OnProbe(shop.request) { print(shop.slow, event.took) }', p="z"
    )
    attachment = program.probes[0].attachment
    assert isinstance(attachment, MethodAttachment)
    assert [pattern.text for pattern in attachment.classes] == ["z.Endpoint"]


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("int", "-5", -5),
        ("int", "2_000", 2000),
        ("long", "9223372036854775807", (1 << 63) - 1),
        ("double", "-0.5e3", -500.0),
        ("boolean", "false", False),
        ("string", "", ""),
        ("string", "5", "5"),
        ("duration", "1.5ms", 1_500_000),
        ("duration", "-250us", -250_000),
        ("duration", "0", 0),
        ("bytes", "64KB", 65_536),
    ],
)
def test_parameters_of_the_command_line(files: Files, type_: str, text: str, value: object) -> None:
    program = files.check(f'param p: {type_}; A::b {{ print(p) }} @OnEnd {{ static_check(p == p, "x"); }}', p=text)
    assert program.parameters[0].type == type_
    spelled = {"duration": "ns", "bytes": "B"}.get(type_, "")
    constant = f'"{value}"' if type_ == "string" else str(value).lower() + spelled
    script = f'param p: {type_}; @OnEnd {{ static_check(p == {constant}, "another value"); }}'
    files.check(script, p=text)


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("int", "5s"),
        ("int", "3000000000"),
        ("int", "x"),
        ("double", "1,5"),
        ("boolean", "yes"),
        ("duration", "5"),
        ("duration", "5KB"),
        ("bytes", "5ms"),
        ("long", "9223372036854775808"),
    ],
)
def test_unfit_parameters_of_the_command_line(files: Files, type_: str, text: str) -> None:
    with pytest.raises(UsageError) as error:
        files.check(f'param p: {type_} "what it is"; A::b {{ print(p) }}', p=text)
    assert str(error.value).startswith("--p must be a")
    assert f"--p {type_.upper()}  what it is" in error.value.help


def test_a_parameter_without_default_must_be_given(files: Files) -> None:
    with pytest.raises(UsageError, match="the script needs --p and --q"):
        files.check("param p: string; param q: int; A::b { print(p, q) }")
    files.write("lib.bt", "param p: string; A::b { print(p) }")
    (diagnostic,) = files.errors("use lib; A::c { print(1) }")
    assert (diagnostic.code, diagnostic.message) == ("BT103", "`lib` needs a value for `p`")


def test_errors_in_a_library_name_its_file_and_the_import(files: Files) -> None:
    files.write("lib/one.bt", "import two;\nfn f(int n): int = two.g(n);\n")
    files.write("lib/two.bt", "fn g(int n): int = n > 1ms ? 1 : 2;\n")
    (diagnostic,) = files.errors('import "lib/one.bt";\nA::b { print(one.f(1)) }')
    assert render(diagnostic) == (
        "error[BT202]: this `int` has no unit\n"
        "  --> lib/two.bt:1:20\n"
        "   |\n"
        " 1 | fn g(int n): int = n > 1ms ? 1 : 2;\n"
        "   |                    ^   --- `duration`\n"
        "   |                    |\n"
        "   |                    `int`: type of the variable\n"
        "  ::: lib/one.bt:2:20\n"
        "   |\n"
        " 2 | fn f(int n): int = two.g(n);\n"
        "   |                    ----- called from here\n"
        "  ::: main.bt:2:14\n"
        "   |\n"
        " 2 | A::b { print(one.f(1)) }\n"
        "   |              ----- called from here\n"
        "   |\n"
        "   = help: give it one:  n * 1ms"
    )


def test_an_unreadable_library_names_the_script_that_imports_it(files: Files) -> None:
    files.write("bad.bt", "A::b { print( }")
    (diagnostic,) = files.errors("import bad;\nA::b { print(bad.x, bad.f(1), bad.@m) }")
    assert diagnostic.code == "BT002"
    assert [label.span.source.name for label in (diagnostic.primary, *diagnostic.secondary)][-1] == "main.bt"
    assert diagnostic.primary.span.source.name == "bad.bt"


def test_packed_places_tell_the_file(files: Files) -> None:
    files.write("shop.bt", SHOP)
    program = files.check("use shop; A::b { print(1) }")
    for source in program.sources:
        for start, end in ((0, 3), (7, 7), (len(source.text) - 2, len(source.text))):
            assert Span.unpack(program.sources, Span(source, start, end).packed) == Span(source, start, end)


def test_the_longest_place_is_in_range(files: Files) -> None:
    text = "A::b { print(1) }\n"
    files.write("long.bt", text + "//" + "x" * 600_000)
    files.write("more.bt", text + "//" + "x" * 500_000)
    files.check("use long; A::c { print(1) }")
    (diagnostic,) = files.errors("use long; use more; A::c { print(1) }")
    assert diagnostic.code == "BT008"


def test_libraries_that_import_each_other(files: Files) -> None:
    files.write("a.bt", "import b; A::a { print(b.x) }")
    files.write("b.bt", "import a; param x = 1;")
    (diagnostic,) = [error for error in files.errors("use a; A::m { print(1) }") if error.code == "BT115"]
    assert diagnostic.notes == ("a.bt imports b.bt imports a.bt",)
    (diagnostic,) = [error for error in files.errors("import main; A::m { print(1) }") if error.code == "BT115"]
    assert diagnostic.notes == ("main.bt imports main.bt",)


def test_settings_in_a_library(files: Files) -> None:
    files.write("a.bt", "config { depth = 3; }")
    (diagnostic,) = [error for error in files.errors("import a; @OnEnd { print(a.x) }") if error.code == "BT116"]
    assert (diagnostic.message, diagnostic.primary.span.source.name) == ("a library cannot have settings", "a.bt")


@pytest.mark.parametrize("what", ["the file", "its directory"])
def test_files_that_any_user_can_write_are_refused(files: Files, what: str) -> None:
    path = files.write("lib/open.bt", "param x = 1;")
    (path if what == "the file" else path.parent).chmod(0o777)
    (diagnostic,) = files.errors('import "lib/open.bt"; @OnEnd { print(open.x) }')
    assert diagnostic.code == "BT114"
    assert "can be written by anybody" in diagnostic.message


def test_the_search_path(files: Files, tmp_path: Path) -> None:
    for directory in ("first", "second"):
        files.write(f"{directory}/both.bt", f'param where = "{directory}";')
        files.write(f"{directory}/acme/{directory}.bt", "param x = 1;")
    search = (tmp_path / "first", tmp_path / "second")
    text = 'import both; @OnEnd { static_check(both.where == "first", "found in another place"); print(both.where) }'
    files.check(text, *search)
    files.check("import acme.second; @OnEnd { print(second.x) }", *search)
    listed = [library.name for library in Libraries(search).all()]
    assert listed[:3] == ["acme.first", "both", "acme.second"]
    assert "btpy.exceptions" in listed
    with pytest.raises(LibraryError, match="there is no library"):
        Libraries(search).find("btpy.both", quoted=False, beside=None)
    from_environment = Libraries.of({"BTPY_PATH": f"{search[0]}:{search[1]}", "XDG_CONFIG_HOME": "/none"})
    assert from_environment.directories == (*search, Path("/none/btpy/probes"))


def test_every_packaged_library_is_right(files: Files) -> None:
    results = [library for library in Libraries().all() if library.name.startswith("btpy.")]
    assert results
    for library in results:
        program = check_source(Source("main.bt", f"use {library.name};\n@OnEnd {{ print(elapsed); }}"))
        assert program.warnings == (), library.name
        assert parse(Source(library.name, library.path.read_text(encoding="utf-8"))).doc, library.name


def test_maps_of_the_subscribers_of_a_sampled_probe_are_estimates(files: Files) -> None:
    program = files.check(
        '@OnMethod(class="A", method="b") @Sample(every=10) probe host { provide(x=1); }'
        "@OnProbe(host) { @n = count(); print(event.x) }"
    )
    assert [map_.estimated for map_ in program.maps] == ["10"]


@pytest.mark.parametrize("by", ["calls", "took.avg"])
def test_a_table_of_a_library_is_ordered_by_its_own_maps(files: Files, by: str) -> None:
    body = "@calls[method] = count(); @took[method] = stats(duration);"
    text = f'a.B::c @exit {{ {body} }} @OnEnd {{ table(@calls, @took, by="{by}"); }}'
    files.write("lib.bt", text)
    program = files.check("use lib;")
    assert dict(program.templates[0].options)["by"] == f"lib.{by}"


def test_a_directory_that_cannot_be_looked_at_has_no_libraries(tmp_path: Path) -> None:
    """For example: the directory belongs to the client, btpy runs on another host, and its user there cannot enter
    it."""
    assert not [
        library for library in Libraries((tmp_path / ("x" * 300),)).all() if library.path.is_relative_to(tmp_path)
    ]
