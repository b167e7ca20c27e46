"""A script and its libraries → one script, with names resolved and parameters replaced by their values.

1. The linker reads the files, importers before imported files; a cycle is an error. A file is one module, however often
   it is
   imported.
2. Each module's parameters get their values: from the command line, or from the ``import``.
3. Names are settled. A parameter becomes a literal. Declarations of a library get its name as a prefix:
``jdbc.statement``, ``@jdbc.sql``, ``thread.jdbc.start``, so that later stages see one flat script.
4. The linker determines which probes run. ``import`` only makes names available. A probe of an imported library runs if
   ``@OnProbe`` subscribes to it, or if it writes a map or thread variable that an active probe reads. ``use`` runs all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, fields, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from btpy.dataclass import dataclass
from btpy.errors import ScriptError
from btpy.lang.builtins import (
    AGGREGATIONS,
    EMPTYING,
    FLOW_CHANGES,
    FLOW_RUNS,
    FUNCTIONS,
    LOCATIONS,
    QUANTIFIERS,
    VARIABLES,
)
from btpy.lang.link.libraries import Libraries, LibraryError, is_name
from btpy.lang.link.parameters import (
    Mistyped,
    constant,
    converted,
    declared,
    literal,
    settled,
    spelled,
)
from btpy.lang.program import Parameter, Program, Value
from btpy.lang.syntax import nodes, parser
from btpy.lang.syntax.nodes import LiteralKind, Tree
from btpy.model.diagnostics import Diagnostic, Label, Severity, did_you_mean, quote
from btpy.model.scopes import Scope
from btpy.model.source import Source, Span

_RESERVED = frozenset((*VARIABLES, *LOCATIONS, "BEFORE", "AFTER", "thread"))
_CALLED = frozenset((*FUNCTIONS, *AGGREGATIONS, *QUANTIFIERS))  # reserved for functions only
_FLOW = "flow"
"""The name of the flow of a thread, in the sets of state that probes read and write."""
_ARGUMENT = re.compile(r"arg\d+")


@dataclass(frozen=True, slots=True)
class LinkedProbe:
    """``prefix``: the name of its library, empty in the script itself. ``calls``: the functions that it calls,
    directly or not."""

    tree: nodes.Probe
    prefix: str
    calls: tuple[nodes.Function, ...]


@dataclass(frozen=True, slots=True)
class Linked:
    """``libraries`` by the bases of their sources. ``imports``: for the source of each library, the places that import
    it. ``imported``: prefixes of the libraries that are only imported, so their maps are not printed.
    """

    source: Source
    libraries: tuple[Source, ...]
    doc: str
    settings: tuple[nodes.Setting, ...]
    checks: tuple[nodes.StaticCheck, ...]
    parameters: tuple[Parameter, ...]
    functions: dict[str, nodes.Function]
    maps: tuple[nodes.MapDeclaration, ...]
    probes: tuple[LinkedProbe, ...]
    imports: tuple[tuple[Source, Span], ...]
    imported: frozenset[str]
    diagnostics: tuple[Diagnostic, ...]

    def came_by(self, source: Source) -> tuple[Label, ...]:
        """The imports that lead to a library's source, the nearest first."""
        chain: list[Label] = []
        places = {id(imported): place for imported, place in self.imports}
        while id(source) in places and len(chain) < len(places):
            place = places[id(source)]
            chain.append(Label(place, "imported here"))
            source = place.source
        return tuple(chain)


def link(
    source: Source,
    libraries: Libraries | None = None,
    arguments: Mapping[str, str] | None = None,
    earlier: Program | None = None,
) -> Linked:
    """``arguments``: the texts that the command line gives for parameters; ``earlier``: the program that the script
    extends, whose source positions and library names stay unchanged.

    Raises ScriptError where the script itself cannot be read, UsageError for a parameter without a fitting value.
    """
    linker = _Linker(libraries or Libraries(), arguments or {})
    return linker.link(source if earlier is None else linker.after(earlier, source))


def parameters(source: Source) -> tuple[Parameter, ...]:
    """The parameters that a script declares, without the faulty ones. Raises ScriptError if the script cannot be
    read."""
    items = parser.parse(source).items
    declarations = [declared(item, []) for item in items if isinstance(item, nodes.ScriptParameter)]
    return tuple(parameter for parameter in declarations if parameter is not None)


@dataclass(slots=True, eq=False)
class _Module:
    """One file. ``imports``: by alias; None if the library could not be read, so that all names in it are accepted.
    ``given``: the values that imports give its parameters, with their places."""

    prefix: str
    source: Source
    script: nodes.Script
    imports: dict[str, _Module | None] = field(default_factory=dict)
    statements: list[tuple[nodes.Import, _Module]] = field(default_factory=list)
    parameters: dict[str, Parameter] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    given: dict[str, tuple[nodes.Argument, nodes.Literal]] = field(default_factory=dict)
    functions: dict[str, nodes.Function] = field(default_factory=dict)
    probes: list[nodes.Probe] = field(default_factory=list)
    checks: list[nodes.StaticCheck] = field(default_factory=list)
    maps: list[nodes.MapDeclaration] = field(default_factory=list)
    names: dict[str, Span] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    unsettled: set[str] = field(default_factory=set)  # parameters that are declared wrongly

    def qualified(self, name: str) -> str:
        return f"{self.prefix}.{name}" if self.prefix else name

    @property
    def probe_names(self) -> list[str]:
        return [probe.name.text for probe in self.probes if probe.name is not None]


class _Linker:
    def __init__(self, libraries: Libraries, arguments: Mapping[str, str]) -> None:
        self._libraries = libraries
        self._arguments = arguments
        self._diagnostics: list[Diagnostic] = []
        self._modules: dict[Path, _Module | None] = {}  # None: the file could not be read
        self._order: list[_Module] = []  # importers before imported files
        self._imports: list[tuple[Source, Span]] = []
        self._end = 0
        self._prefixes: set[str] = set()
        self._earlier_files: dict[Path, Source] = {}  # files of other scripts, whose positions stay valid

    def after(self, earlier: Program, source: Source) -> Source:
        """The source, with a base behind all sources of the program. Raises ScriptError if there is no room."""
        last = max(earlier.sources, key=lambda source: source.base)
        placed = replace(source, base=last.base + len(last.text) + 1)
        if placed.base + len(placed.text) > parser.MAX_LENGTH:
            message = "the scripts of this session are too long together"
            place = Label(Span(placed, 0, 0))
            raise ScriptError([Diagnostic("BT008", message, place, help=("detach, and attach again",))])
        self._earlier_files = {source.path.resolve(): source for source in earlier.sources if source.path is not None}
        self._prefixes = {probe.name.rpartition(".")[0] for probe in earlier.active}
        return placed

    def link(self, source: Source) -> Linked:
        main = _Module("", source, parser.parse(source))
        self._end = source.base + len(source.text) + 1
        if source.path is not None:
            self._modules[source.path.resolve()] = main
        self._load(main, (main,))
        modules = self._importers_first(main)
        for module in modules:
            self._declare(module)
        main.values = settled(main.parameters.values(), self._arguments)
        for module in modules:
            if module is not main:
                self._settle(module)
            self._pass_on(module)
        for module in modules:
            resolver = _Resolver(module, self._diagnostics)
            module.probes = [resolver.tree(probe) for probe in module.probes]
            module.functions = {name: resolver.tree(function) for name, function in module.functions.items()}
            module.checks = [resolver.tree(check) for check in module.checks]
            module.maps = [
                replace(declaration, name=replace(declaration.name, text=module.qualified(declaration.name.text)))
                for declaration in map(resolver.tree, module.maps)
            ]
        functions = {
            module.qualified(name): function for module in modules for name, function in module.functions.items()
        }
        self._refuse_recursion(functions)
        probes, used = _running(modules, functions)
        imported = frozenset(module.prefix for module in modules if module not in used)
        self._unused(main, probes)
        sources = [module.source for module in self._order]
        return Linked(
            source,
            tuple(sorted(sources, key=lambda source: source.base)),
            main.script.doc,
            tuple(
                setting
                for item in main.script.items
                if isinstance(item, nodes.Config)
                for setting in _Resolver(main, self._diagnostics).tree(item).settings
            ),
            tuple(check for module in modules for check in module.checks),
            tuple(main.parameters.values()),
            functions,
            tuple(map_ for module in modules for map_ in module.maps),
            tuple(probes),
            tuple(self._imports),
            imported,
            tuple(self._diagnostics),
        )

    def _load(self, module: _Module, importers: tuple[_Module, ...]) -> None:
        for item in module.script.items:
            if not isinstance(item, nodes.Import):
                continue
            alias = item.alias.text if item.alias is not None else _own_name(item)
            if not is_name(alias) or "." in alias:
                self._report(
                    "BT114", f"`{alias}` cannot be the name of a library here", item.library.span, ("add: as name",)
                )
                continue
            place = item.alias.span if item.alias is not None else item.library.span
            if not self._define(module, alias, place):
                continue
            module.imports[alias] = None
            imported = self._import(item, module, alias, importers)
            if imported is not None:
                module.imports[alias] = imported
                module.statements.append((item, imported))

    def _import(
        self, item: nodes.Import, importer: _Module, alias: str, importers: tuple[_Module, ...]
    ) -> _Module | None:
        beside = importer.source.path.parent if importer.source.path is not None else None
        quoted = item.library.span.text.startswith('"')
        try:
            path = self._libraries.find(item.library.text, quoted=quoted, beside=beside)
            if path in self._modules:
                loaded_module = self._modules[path]
                if loaded_module in importers:
                    cycle = [*importers[importers.index(loaded_module) :], loaded_module]
                    chain = " imports ".join(module.source.name for module in cycle)
                    self._report("BT115", "libraries import each other", item.library.span, notes=(chain,))
                    return None
                return loaded_module
            source = Source(self._libraries.shown(path), self._libraries.read(path), self._end, path)
        except LibraryError as error:
            self._report("BT114", str(error), item.library.span, error.help)
            return None
        elsewhere = self._earlier_files.get(path.resolve())
        if elsewhere is not None and elsewhere.text == source.text:
            source = elsewhere
        else:
            self._end += len(source.text) + 1
        if self._end > parser.MAX_LENGTH:
            self._report("BT008", "the script and its libraries are too long together", item.library.span)
            return None
        self._imports.append((source, item.library.span))
        prefix = self._prefix(alias)
        module = _Module(prefix, source, nodes.Script((), ""))
        self._modules[path] = module
        self._order.append(module)
        try:
            module.script = parser.parse(source)
        except ScriptError as error:
            self._modules[path] = None
            import_label = Label(item.library.span, "imported here")
            self._diagnostics += [
                replace(diagnostic, secondary=(*diagnostic.secondary, import_label)) for diagnostic in error.diagnostics
            ]
            return None
        for declaration in module.script.items:
            if isinstance(declaration, nodes.Config):
                self._report(
                    "BT116",
                    "a library cannot have settings",
                    Span(source, declaration.span.start, declaration.span.start + len("config")),
                    ("settings belong to the script; a library takes parameters:  param name = 5;",),
                )
        self._load(module, (*importers, module))
        return module

    def _prefix(self, alias: str) -> str:
        name, number = alias, 1
        while name in self._prefixes:
            number += 1
            name = f"{alias}_{number}"
        self._prefixes.add(name)
        return name

    def _importers_first(self, main: _Module) -> list[_Module]:
        finished: list[_Module] = []

        def visit(module: _Module) -> None:
            if module not in visited_modules:
                visited_modules.append(module)
                for _, imported in module.statements:
                    visit(imported)
                finished.append(module)

        visited_modules: list[_Module] = []
        visit(main)
        return finished[::-1]

    def _declare(self, module: _Module) -> None:
        for item in module.script.items:
            match item:
                case nodes.ScriptParameter():
                    parameter = declared(item, self._diagnostics)
                    if self._define(module, item.name.text, item.name.span):
                        if parameter is not None:
                            module.parameters[item.name.text] = parameter
                        else:
                            module.unsettled.add(item.name.text)
                case nodes.Function():
                    if self._define(module, item.name.text, item.name.span, called=True):
                        module.functions[item.name.text] = item
                case nodes.MapDeclaration():
                    module.maps.append(item)
                case nodes.StaticCheck():
                    module.checks.append(item)
                case nodes.PointProbe():
                    module.probes.append(nodes.expand(item))
                case nodes.Probe():
                    module.probes.append(nodes.with_span(item))
                case _:
                    pass

    def _define(self, module: _Module, name: str, place: Span, *, called: bool = False) -> bool:
        if name in _RESERVED or (called and name in _CALLED) or _ARGUMENT.fullmatch(name):
            self._report("BT102", f"`{name}` is a built-in name", place, ("choose another name",))
            return False
        first = module.names.setdefault(name, place)
        if first is not place:
            self._diagnostics.append(_already_defined(name, place, first))
        return first is place

    def _settle(self, module: _Module) -> None:
        """Gives the parameters of a library their values."""
        for name, parameter in module.parameters.items():
            entry = module.given.get(name)
            if entry is None:
                if parameter.default is not None:
                    module.values[name] = parameter.default
                continue
            argument, value = entry
            try:
                module.values[name] = converted(parameter.type, value)
            except Mistyped as wrong:
                self._diagnostics.append(
                    Diagnostic(
                        "BT201",
                        f"`{name}` must be {wrong}",
                        Label(argument.value.span),
                        (Label(parameter.span, "declared here"),),
                    )
                )

    def _pass_on(self, module: _Module) -> None:
        """Collects the values that a module gives to the parameters of its imports."""
        resolver = _Resolver(module, self._diagnostics)
        for item, imported in module.statements:
            names = set()
            for argument in item.arguments:
                name = argument.name.text if argument.name is not None else ""
                if name not in imported.parameters:
                    self._diagnostics.append(
                        Diagnostic(
                            "BT107",
                            f"`{item.library.text}` has no parameter `{name}`" if name else "parameters have names",
                            Label(argument.name.span if argument.name is not None else argument.span),
                            help=did_you_mean(name, imported.parameters),
                            notes=("parameters: " + (quote(imported.parameters) or "none"),),
                        )
                    )
                    continue
                value = constant(resolver.tree(argument.value))
                if value is None:
                    self._report(
                        "BT107",
                        f"`{name}` is not given a constant",
                        argument.value.span,
                        ("a literal, or a parameter of this script",),
                    )
                    continue
                names.add(name)
                first = imported.given.setdefault(name, (argument, value))
                if first[0] is not argument and (first[1].kind, first[1].value) != (value.kind, value.value):
                    self._diagnostics.append(
                        Diagnostic(
                            "BT116",
                            f"`{item.library.text}` is imported twice with different values of `{name}`",
                            Label(argument.span, "another value"),
                            (Label(first[0].span, "first imported with this"),),
                            notes=("each library is loaded once, even where several files import it",),
                        )
                    )
            for name, parameter in imported.parameters.items():
                if parameter.default is None and name not in names and name not in imported.given:
                    self._diagnostics.append(
                        Diagnostic(
                            "BT103",
                            f"`{item.library.text}` needs a value for `{name}`",
                            Label(item.library.span),
                            (Label(parameter.span, "declared without a default"),),
                            help=(f"write import {item.library.span.text}({name}=…)",),
                        )
                    )

    def _refuse_recursion(self, functions: dict[str, nodes.Function]) -> None:
        """Removes recursive functions from ``functions``, and reports each cycle once."""
        calls = {
            name: [call for call in _calls(function) if call.function.text in functions]
            for name, function in functions.items()
        }
        state: dict[str, bool] = {}  # False: being followed

        def follow(name: str, path: tuple[str, ...]) -> None:
            state[name] = False
            for call in calls[name]:
                called = call.function.text
                if called not in state:
                    follow(called, (*path, called))
                elif not state[called]:
                    circle = (*path[path.index(called) :], called)
                    self._diagnostics.append(
                        Diagnostic(
                            "BT407",
                            f"`{called}` calls itself",
                            Label(call.function.span, " → ".join(circle)),
                            (Label(functions[called].name.span, "defined here"),),
                            notes=("a probe must end, so functions cannot be recursive",),
                        )
                    )
                    broken.update(circle)
            state[name] = True

        broken: set[str] = set()
        for name in functions:
            if name not in state:
                follow(name, (name,))
        for name in broken:
            functions[name] = replace(
                functions[name], body=nodes.Literal(functions[name].span, LiteralKind.NULL, None), result=None
            )

    def _unused(self, main: _Module, probes: list[LinkedProbe]) -> None:
        """Warns about unused declarations of the script, unless the script is a library."""
        path = main.source.path
        if not main.probes or (
            path is not None and any(path.resolve() == library.path.resolve() for library in self._libraries.all())
        ):
            return
        kinds = {**dict.fromkeys(main.parameters, "parameter"), **dict.fromkeys(main.functions, "function")}
        activating = self._activating(main)
        needed = {
            linked.prefix for linked in probes
        }  # a library that hands flows over is needed even if nothing names it
        kinds |= {
            alias: "library"
            for alias, library in main.imports.items()
            if library is not None and alias not in activating and library.prefix not in needed
        }
        for name, kind in kinds.items():
            if name not in main.used:
                problem = "never called" if kind == "function" else "never used"
                self._diagnostics.append(
                    Diagnostic(
                        "BT118",
                        f"the {kind} `{name}` is {problem}",
                        Label(main.names[name]),
                        severity=Severity.WARNING,
                    )
                )

    @staticmethod
    def _activating(module: _Module) -> set[str]:
        return {
            item.alias.text if item.alias is not None else _own_name(item)
            for item in module.script.items
            if isinstance(item, nodes.Import) and item.activates
        }

    def _report(
        self, code: str, message: str, place: Span, help: tuple[str, ...] = (), notes: tuple[str, ...] = ()
    ) -> None:
        self._diagnostics.append(Diagnostic(code, message, Label(place), help=help, notes=notes))


def _already_defined(name: str, place: Span, first: Span) -> Diagnostic:
    return Diagnostic(
        "BT102",
        f"`{name}` is already defined",
        Label(place, "the second definition"),
        (Label(first, "the first"),),
        help=("choose another name",),
    )


def _own_name(item: nodes.Import) -> str:
    name = item.library.text
    return Path(name).stem if item.library.span.text.startswith('"') else name.rpartition(".")[2]


_Node = TypeVar("_Node", bound=Tree)


class _Resolver:
    """Resolves the names in the trees of one module."""

    def __init__(self, module: _Module, diagnostics: list[Diagnostic]) -> None:
        self._module = module
        self._diagnostics = diagnostics

    def tree(self, tree: _Node) -> _Node:
        return cast(_Node, self._rewritten(tree))

    def _rewritten(self, tree: Tree) -> Tree:
        match tree:
            case nodes.Name():
                return self._name(tree)
            case nodes.Field(target=nodes.Name(text="flow")):  # all libraries share these variables
                return nodes.ScopedVariable(tree.span, tree.name.text, Scope.FLOW, None)
            case nodes.Field(target=nodes.Name(text=name)) if name in self._module.imports:
                return self._member(tree, name)
            case nodes.MethodCall(target=nodes.Name(text=name)) if name in self._module.imports:
                return self._library_call(tree, name)
            case nodes.Call():
                return self._call(tree)
            case nodes.MapReference():
                return self._map(tree)
            case nodes.ScopedVariable():
                return self._parts(replace(tree, name=self._module.qualified(tree.name)))
            case (
                nodes.Assign(target=nodes.MapReference(library=nodes.Identifier()))
                | nodes.Step(target=nodes.MapReference(library=nodes.Identifier()))
            ):
                self._read_only(cast(nodes.MapReference, tree.target))
            case nodes.Annotation():
                return self._annotation(tree)
            case nodes.Let() | nodes.Formal() | nodes.Quantified() | nodes.For():
                self._refuse_shadowing(tree)
            case _:
                pass
        return self._parts(tree)

    def _parts(self, tree: Tree) -> Tree:
        return _changed(tree, self._part)

    def _part(self, part: object) -> object:
        if isinstance(part, Tree):
            return self._rewritten(part)
        if isinstance(part, tuple):
            after = tuple(self._part(element) for element in part)
            return after if any(a is not b for a, b in zip(part, after, strict=True)) else part
        return part

    def _name(self, tree: nodes.Name) -> Tree:
        name, module = tree.text, self._module
        if name in module.parameters:
            module.used.add(name)
            return self._value_of(module, name, tree.span)
        if name in module.unsettled:
            return _anything(tree.span)
        if name in module.imports:
            module.used.add(name)
            self._report(
                "BT108", f"`{name}` is a library, not a value", tree.span, (f"its names follow a dot:  {name}.…",)
            )
            return _anything(tree.span)
        return tree

    @staticmethod
    def _value_of(module: _Module, name: str, span: Span) -> nodes.Literal:
        value = module.values.get(name)
        return _anything(span) if value is None else literal(module.parameters[name].type, value, span)

    def _member(self, tree: nodes.Field, alias: str) -> Tree:
        """``library.parameter``."""
        self._module.used.add(alias)
        library, name = self._module.imports[alias], tree.name.text
        if library is None:
            return _anything(tree.span)
        if name in library.parameters:
            return self._value_of(library, name, tree.span)
        help_: tuple[str, ...] = did_you_mean(name, library.parameters)
        if name in library.functions:
            help_ = (f"it is a function:  {alias}.{name}(…)",)
        elif name in library.probe_names:
            help_ = (f"it is a probe:  @OnProbe({alias}.{name})",)
        self._report("BT101", f"`{alias}` has no parameter `{name}`", tree.name.span, help_, _members(alias, library))
        return _anything(tree.span)

    def _library_call(self, tree: nodes.MethodCall, alias: str) -> Tree:
        self._module.used.add(alias)
        library, name = self._module.imports[alias], tree.method.text
        arguments = cast("tuple[nodes.Argument, ...]", self._part(tree.arguments))
        if library is None:
            return _anything(tree.span)
        if name not in library.functions:
            help_ = did_you_mean(name, library.functions)
            self._report(
                "BT101", f"`{alias}` has no function `{name}`", tree.method.span, help_, _members(alias, library)
            )
            return _anything(tree.span)
        function = nodes.Identifier(tree.target.span.to(tree.method.span), library.qualified(name))
        return nodes.Call(tree.span, function, arguments)

    def _call(self, tree: nodes.Call) -> Tree:
        name, module = tree.function.text, self._module
        if name in module.functions:
            module.used.add(name)
            tree = replace(tree, function=replace(tree.function, text=module.qualified(name)))
        elif name in EMPTYING:
            for argument in tree.arguments:
                if isinstance(argument.value, nodes.MapReference) and argument.value.library is not None:
                    self._read_only(argument.value)
        return self._parts(tree)

    def _map(self, tree: nodes.MapReference) -> Tree:
        module: _Module | None = self._module
        if tree.library is not None:
            alias = tree.library.text
            if alias not in self._module.imports:
                help_ = did_you_mean(alias, self._module.imports)
                self._report("BT101", f"unknown library `{alias}`", tree.library.span, help_)
                return _anything(tree.span)
            self._module.used.add(alias)
            module = self._module.imports[alias]
            if module is None:
                return _anything(tree.span)
        assert module is not None
        rewritten = self._parts(tree)
        assert isinstance(rewritten, nodes.MapReference)
        name = module.qualified(tree.name)
        return rewritten if name == tree.name else replace(rewritten, name=name)

    def _read_only(self, tree: nodes.MapReference) -> None:
        self._report(
            "BT116",
            "the maps of a library are read-only",
            tree.span,
            ("keep values in a map of your own:  @name[key] = …",),
        )

    def _refuse_shadowing(self, tree: nodes.Let | nodes.Formal | nodes.Quantified | nodes.For) -> None:
        match tree:
            case nodes.Let() | nodes.Formal():
                names: tuple[nodes.Identifier, ...] = (tree.name,)
            case nodes.Quantified():
                names = (tree.variable,)
            case nodes.For():
                names = tree.variables
        module = self._module
        for name in names:
            if name.text in module.parameters or name.text in module.imports:
                self._diagnostics.append(_already_defined(name.text, name.span, module.names[name.text]))

    def _annotation(self, tree: nodes.Annotation) -> Tree:
        if tree.name.text == "OnProbe" and len(tree.arguments) == 1:
            (argument,) = tree.arguments
            return replace(tree, arguments=(replace(argument, value=self._subscribed(argument.value)),))
        return _changed(self._parts(tree), self._folded)

    def _folded(self, part: object) -> object:
        """In arguments of annotations, f-strings of constants become strings, and constant calculations become
        numbers.
        """
        match part:
            case nodes.FormattedString():
                texts = [element if isinstance(element, str) else _text_of(element) for element in part.parts]
                if all(text is not None for text in texts):
                    return nodes.Literal(part.span, LiteralKind.STRING, "".join(map(str, texts)))
                wrong = next(element for element, text in zip(part.parts, texts, strict=True) if text is None)
                self._report(
                    "BT107",
                    "a pattern can hold only text and parameters",
                    wrong.span if isinstance(wrong, Tree) else part.span,
                    ('param package: string = "com.acme";   class=f"{package}.**"',),
                )
                return nodes.Literal(part.span, LiteralKind.STRING, "*")
            case nodes.Literal(kind=LiteralKind.LONG):
                return replace(part, kind=LiteralKind.INTEGER)
            case nodes.Binary():
                return constant(part) or _changed(part, self._folded)
            case Tree():
                return _changed(part, self._folded)
            case tuple():
                after = tuple(self._folded(element) for element in part)
                return after if any(a is not b for a, b in zip(part, after, strict=True)) else part
            case _:
                return part

    def _subscribed(self, value: nodes.Expression) -> nodes.Expression:
        """The qualified name of the probe that ``@OnProbe`` names; empty if an error was reported."""
        unknown = nodes.Name(value.span, "")
        match value:
            case nodes.Field(target=nodes.Name(text=alias), name=name):
                if alias not in self._module.imports:
                    help_ = did_you_mean(alias, self._module.imports) or (f"write import btpy.{alias};",)
                    self._report("BT101", f"unknown library `{alias}`", value.target.span, help_)
                    return unknown
                self._module.used.add(alias)
                library = self._module.imports[alias]
                if library is None:
                    return unknown
                if name.text in library.probe_names:
                    return nodes.Name(value.span, library.qualified(name.text))
                help_ = did_you_mean(name.text, library.probe_names)
                notes = ("probes: " + (quote(library.probe_names) or "none"),)
                self._report("BT101", f"`{alias}` has no probe `{name.text}`", name.span, help_, notes)
                return unknown
            case nodes.Name(text=own):
                if own in self._module.probe_names:
                    return nodes.Name(value.span, self._module.qualified(own))
                names = [*self._module.probe_names, *self._module.imports]
                self._report("BT101", f"unknown probe `{own}`", value.span, did_you_mean(own, names))
                return unknown
            case _:
                self._report(
                    "BT107", "`@OnProbe` takes the name of a probe", value.span, ("write @OnProbe(library.probe)",)
                )
                return unknown

    def _report(
        self, code: str, message: str, place: Span, help: tuple[str, ...] = (), notes: tuple[str, ...] = ()
    ) -> None:
        self._diagnostics.append(Diagnostic(code, message, Label(place), help=help, notes=notes))


_CHILDREN: dict[type[Tree], tuple[str, ...]] = {}
"""For each class of nodes, the fields that can contain names to resolve."""


def _changed(tree: Tree, change: Callable[[object], object]) -> Tree:
    """``tree`` with ``change`` applied to its parts; the same object if nothing changed."""
    node = type(tree)
    names = _CHILDREN.get(node)
    if names is None:
        leaf = issubclass(node, nodes.Identifier | nodes.TypeName | nodes.Literal)
        field_names = [field.name for field in fields(node) if field.name not in ("span", "function", "operator")]
        names = _CHILDREN[node] = () if leaf else tuple(field_names)
    changed: dict[str, Any] = {}
    for name in names:
        before = getattr(tree, name)
        if isinstance(before, Tree | tuple):
            after = change(before)
            if after is not before:
                changed[name] = after
    return replace(tree, **changed) if changed else tree


def _anything(span: Span) -> nodes.Literal:
    """A placeholder for a name that could not be resolved. It causes no further errors."""
    return nodes.Literal(span, LiteralKind.NULL, None)


def _text_of(part: nodes.Interpolation) -> str | None:
    value = part.value
    if part.format or not isinstance(value, nodes.Literal) or value.value is None:
        return None
    if value.kind in (LiteralKind.DURATION, LiteralKind.SIZE):
        return spelled("duration" if value.kind is LiteralKind.DURATION else "bytes", value.value)
    return value.value if isinstance(value.value, str) else spelled("", value.value)


def _members(alias: str, library: _Module) -> tuple[str, ...]:
    """The names that a library offers, for a note."""
    names = [
        *(f"{alias}.{name}" for name in library.parameters),
        *(f"{alias}.{name}()" for name in library.functions),
    ]
    return ("it has: " + quote(names, 12),) if names else (f"it has probes only: {quote(library.probe_names)}",)


@dataclass(slots=True)
class _Touched:
    """The state that a tree reads and writes, the functions that it calls, and the probes that it subscribes to, by
    name.
    """

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)


def _calls(tree: Tree) -> Iterator[nodes.Call]:
    return (node for node in nodes.walk(tree) if isinstance(node, nodes.Call))


def _touched(tree: Tree, functions: Mapping[str, nodes.Function]) -> _Touched:
    touched = _Touched()
    targets: set[int] = set()
    whole: set[int] = set()
    for node in nodes.walk(tree):
        match node:
            case nodes.Assign() | nodes.Step():
                targets.add(id(node.target))
            case nodes.Delete():
                targets.add(id(node.map))
            case nodes.Call():
                if node.function.text in functions:
                    touched.calls.add(node.function.text)
                elif node.function.text in FLOW_CHANGES:
                    touched.writes.add(_FLOW)
                elif node.function.text == FLOW_RUNS:
                    touched.reads.add(_FLOW)
                elif node.function.text in EMPTYING:
                    whole.update(id(argument.value) for argument in node.arguments)
            case nodes.Annotation() if node.name.text == "OnProbe":
                touched.hosts.update(
                    argument.value.text for argument in node.arguments if isinstance(argument.value, nodes.Name)
                )
            case nodes.MapReference():
                (touched.writes if id(node) in targets else touched.reads).add("@" + node.name)
                if id(node) in whole:
                    touched.writes.add("@" + node.name)
            case nodes.ScopedVariable():
                (touched.writes if id(node) in targets else touched.reads).add(node.key)
                if node.scope is Scope.FLOW:
                    touched.reads.add(_FLOW)
            case _:
                pass
    return touched


def _running(modules: list[_Module], functions: dict[str, nodes.Function]) -> tuple[list[LinkedProbe], list[_Module]]:
    """The probes that run, and the modules whose probes all run: the script itself and the libraries that it uses.
    Probes of a library come after those of the libraries that it imports; probes of the script come last."""
    activation = _Activation(modules, _reaches(modules, functions))
    activation.run()
    probes = [
        LinkedProbe(probe, module.prefix, tuple(functions[name] for name in activation.reaches[id(probe)].calls))
        for module, probe in activation.probes
        if id(probe) in activation.active
    ]
    return probes, activation.used


@dataclass(frozen=True, slots=True)
class _Reach:
    """The state that a probe uses, itself and through the functions that it calls (``calls``, in a stable order)."""

    touched: _Touched
    calls: tuple[str, ...]


def _reaches(modules: list[_Module], functions: dict[str, nodes.Function]) -> dict[int, _Reach]:
    """The state that the probes reach, by the identity of each probe."""
    by_function = {name: _touched(function, functions) for name, function in functions.items()}
    reaches = {}
    for module in modules:
        for probe in module.probes:
            touched = _touched(probe, functions)
            calls = _called(touched.calls, by_function)
            for name in calls:
                touched.reads |= by_function[name].reads
                touched.writes |= by_function[name].writes
            reaches[id(probe)] = _Reach(touched, calls)
    return reaches


def _called(names: Iterable[str], by_function: dict[str, _Touched]) -> tuple[str, ...]:
    """The functions of these names and those that they call, in a stable order."""
    reached: dict[str, None] = {}
    queue = sorted(names)
    while queue:
        name = queue.pop(0)
        if name not in reached:
            reached[name] = None
            queue += sorted(by_function[name].calls)
    return tuple(reached)


class _Activation:
    """Finds the probes that run (``active``, by identity), beginning with those of the script.

    ``modules``: the script, then its libraries. ``probes``: all probes, those of libraries first. ``used``: the modules
    whose probes all run.
    """

    def __init__(self, modules: list[_Module], reaches: dict[int, _Reach]) -> None:
        self.reaches = reaches
        self.probes = [(module, probe) for module in reversed(modules) for probe in module.probes]
        self.active: set[int] = set()
        self.used = [modules[0]]
        self._main = modules[0]
        self._pending: list[tuple[_Module, nodes.Probe]] = []
        self._visited: list[_Module] = []

    def run(self) -> None:
        for probe in self._main.probes:
            self._activate(self._main, probe)
        self._use_libraries(self._main)
        hosts = {module.qualified(probe.name.text): (module, probe) for module, probe in self.probes if probe.name}
        of_libraries = [(module, probe) for module, probe in self.probes if module is not self._main]
        while self._pending:
            module, probe = self._pending.pop()
            self._use_libraries(module)
            touched = self.reaches[id(probe)].touched
            for host in touched.hosts & hosts.keys():
                self._activate(*hosts[host])
            for library, writer in of_libraries:
                if not touched.reads.isdisjoint(self.reaches[id(writer)].touched.writes):
                    self._activate(library, writer)

    def _activate(self, module: _Module, probe: nodes.Probe) -> None:
        if id(probe) not in self.active:
            self.active.add(id(probe))
            self._pending.append((module, probe))

    def _use_libraries(self, module: _Module) -> None:
        """Activates the libraries that an active module uses."""
        if module in self._visited:
            return
        self._visited.append(module)
        for item, library in module.statements:
            if item.activates:
                self.used.append(library)
                for probe in library.probes:
                    self._activate(library, probe)
                self._use_libraries(library)
