"""A session with a user: entries and answers. It does not need a terminal: the input is :mod:`btpy.repl.prompt`, or a
file of commands (``--repl-script``).

Only ``:quit`` ends the prompt. Errors are reported, and the user can enter the next line. After the target has ended,
the user can still read the last maps and events.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from btpy.api import map_expressions
from btpy.api.listings import RefusalReason
from btpy.api.probes import Probe
from btpy.api.programs import parameters
from btpy.api.results import MapContent
from btpy.api.scripts import source_of
from btpy.api.session import Session
from btpy.completion.classes import ClassIndex
from btpy.completion.inventory import Inventory
from btpy.completion.members import Members
from btpy.completion.metadata import Word
from btpy.completion.suggestions import Wanted
from btpy.dataclass import dataclass
from btpy.errors import BtpyError, ScriptError, TargetGone, UsageError
from btpy.model.attachments import EventAttachment
from btpy.model.diagnostics import Diagnostic, Label, Severity, did_you_mean
from btpy.model.maps import MapKind, map_title
from btpy.model.source import Source, Span
from btpy.output.quantities import counted, grouped, quantity
from btpy.repl import scripts
from btpy.repl.commands import Line, SessionMetadata, argument_words, command_words, parse
from btpy.repl.entry import Kind, as_script, kind_of, pattern_at, word_at
from btpy.repl.feed import Feed
from btpy.repl.keeping import KeptMaps
from btpy.repl.screen import Screen

_NO_BODY = re.compile(r"[+@]?[\w.$*?<>]+(::[\w.$*?<>]*)?")
_CHARTS = (MapKind.HIST, MapKind.LHIST)
_MOST_CHARTS = 5
"""The default number of keys that are drawn for a map of distributions."""

_UNIMPORTANT = (RefusalReason.NO_CODE, RefusalReason.UNMODIFIABLE)


@dataclass(frozen=True, slots=True)
class Frame:
    """The text of a view at one moment."""

    lines: Sequence[str]
    footer: str


class View(Protocol):
    def frame(self, columns: int, lines: int) -> Frame: ...

    def key(self, name: str) -> None: ...


class Terminal(Protocol):
    """The functions of a terminal that some commands need."""

    def watch(self, view: View, interval: float) -> None: ...

    def edit(self, text: str) -> str | None: ...

    def choose(self, question: str, answers: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Status:
    """For the toolbar."""

    target: str
    probes: str
    rate: str
    cost: str
    lost: int


class Repl:
    """``default``: the initial text of the next line. ``ended``: whether the user has left. ``failures``: the number of
    entries that failed. ``left_behind``: whether something stayed in the target; the user was told. ``parameters``:
    texts for parameters of later scripts, by name. ``quiet``: leaving is reported only if something stayed in the
    target. ``carry_out``: executes a command.
    """

    def __init__(
        self,
        name: str,
        session: Session,
        screen: Screen,
        carry_out: Callable[[Repl, Line], None],
        *,
        quiet: bool = False,
    ) -> None:
        self.name = name
        self.session = session
        self.screen = screen
        self._carry_out = carry_out
        self.quiet = quiet
        self.terminal: Terminal | None = None
        self.default = ""
        self.ended = False
        self.detached = False
        self.vi = False
        self.failures = 0
        self.left_behind = False
        self.began = time.monotonic()
        self.source_paths: list[Path] = []
        self.entered: list[str] = []
        self.parameters: dict[str, str] = {}
        self.feed = Feed(session, screen)
        self.inventory = Inventory(session.classes)
        self.metadata: SessionMetadata = _Known(self)
        self.maps = KeptMaps(session)
        self._entries = 0
        self.feed.start()
        self.maps.start()

    def enter(self, text: str, *, remember: bool = True) -> None:
        """Carries out an entry of any kind, and reports its errors."""
        entry = text.strip()
        kind = kind_of(entry)
        if kind is Kind.AGAIN:
            again = self._again(entry)
            if again is None:
                self.failures += 1
                self.screen.warning(f"no entry {entry} in the history; :history lists the entries with their numbers")
                return
            self.screen.note(again)
            entry, kind = again, kind_of(again)
        if remember and kind is not Kind.NOTHING:
            self.entered.append(entry)
        try:
            match kind:
                case Kind.COMMAND:
                    self._carry_out(self, parse(entry))
                case Kind.EXPRESSION:
                    self.evaluate(entry)
                case Kind.PROBES:
                    self.add(entry)
                case _:
                    pass
        except BtpyError as error:
            self.failures += 1
            if isinstance(error, TargetGone):
                self.feed.has_gone(str(error))
            self.screen.error(error)
        except Exception as error:
            self.failures += 1
            self.screen.warning(f"internal error, a bug in btpy: {type(error).__name__}: {error}")

    def _again(self, typed: str) -> str | None:
        if typed == "!!":
            return self.entered[-1] if self.entered else None
        at = int(typed[1:])
        return self.entered[at - 1] if 0 < at <= len(self.entered) else None

    def check(self, text: str) -> list[Diagnostic]:
        """The diagnostics of the text being typed, without a request to the target."""
        kind = kind_of(text)
        try:
            if kind is Kind.PROBES and _NO_BODY.fullmatch(text.strip()):
                return [_without_body(text)]
            if kind is Kind.PROBES and not self.left:
                source = Source("<repl>", as_script(text))
                parameters = self._parameters_of(source)
                diagnostics = self.session.check(source.text, name=source.name, parameters=parameters, match=False)
                return [diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR]
            if kind is Kind.EXPRESSION:
                map_expressions.parse(Source("<repl>", text.rstrip()))
        except ScriptError as error:
            return list(error.diagnostics)
        except UsageError:
            return []  # reported when the user enters the text
        return []

    def not_sent(self, text: str, diagnostics: Sequence[Diagnostic]) -> None:
        self.screen.diagnostics(diagnostics)
        self.screen.note("not sent: fix it, or press Ctrl-C to discard")

    @property
    def left(self) -> str:
        """The reason why the target can no longer be reached. Empty while it can be reached."""
        if self.detached:
            return "detached: the probes are removed and the classes restored"
        return self.feed.gone

    def refresh(self) -> None:
        """Reads the current figures from the target, if it still runs."""
        if not self.left:
            with contextlib.suppress(TargetGone):  # the feed reports that the target is gone
                self.session.refresh()

    def require_target(self) -> None:
        """Raises UsageError."""
        if self.left:
            raise UsageError(self.left, help=[":maps, :print @map, :last and :save still work; :quit ends btpy"])

    def source(self, text: str) -> Source:
        """The entry, with a name for messages: ``<repl:7>``."""
        self._entries += 1
        return Source(f"<repl:{self._entries}>", text)

    def add(self, text: str) -> None:
        self.require_target()
        source = self.source(as_script(text))
        self.announce(self.session.add(source.text, name=source.name, parameters=self._parameters_of(source)))

    def load(self, path: Path) -> None:
        """The script of a file."""
        self.require_target()
        self.announce(self.session.add(path, parameters=self._parameters_of(source_of(path, ""))))

    def replace(self, probes: Sequence[Probe], text: str) -> None:
        """Replaces probes by the new version of their text. If this fails, the old probes stay, and the error is
        reported.
        """
        source = self.source(text)
        old = probes[0] if len(probes) == 1 else probes
        try:
            parameters = self._parameters_of(source)
            self.announce(self.session.replace(old, text, name=source.name, parameters=parameters))
        except BtpyError as error:
            self.screen.error(error)
            self.screen.note("the new version was rejected: the probe is unchanged")

    def announce(self, probes: Sequence[Probe]) -> None:
        """One line for each probe, and notes about code that could not be woven."""
        deployment = self.session.deployment
        assert deployment is not None
        self.screen.diagnostics([*deployment.program.warnings, *deployment.warnings])
        refusals = [refusal for refusal in deployment.refusals if refusal.reason not in _UNIMPORTANT]
        for refusal in refusals[:5]:
            self.screen.warning(str(refusal))
        if len(refusals) > 5:
            self.screen.warning(f"… and {len(refusals) - 5} more that cannot be traced")
        live = scripts.shown(self.session)
        for probe in (probe for probe in probes if probe in live):
            methods = len(probe.methods)
            of = f" · {counted(methods, 'method')}" if methods else ""
            state = "enabled" if probe.enabled else "disabled"
            duration = f" in {deployment.weave_ns / 1e6:.0f} ms" if methods else ""
            place = scripts.where(self.session, probe)
            self.screen.say(f"#{probe.number} {probe.name} · {place}{of} · {state}{duration}")

    def _parameters_of(self, source: Source) -> dict[str, str]:
        """The texts that the user has set for parameters of the script. Raises ScriptError."""
        names = {parameter.name for parameter in parameters(source)} if self.parameters else set()
        return {name: text for name, text in self.parameters.items() if name in names}

    def evaluate(self, text: str) -> None:
        name = map_expressions.bare_map(text)
        if name is not None:
            self.print_map(name, {})
            return
        expression = map_expressions.parse(self.source(text))
        map_names = map_expressions.maps_in(expression)
        result = map_expressions.evaluate(expression, {name: self.content(name) for name in map_names})
        kind = result.unit.kind
        rows = sorted(result.values.items(), key=lambda row: -float("inf") if row[1] is None else row[1])
        columns = [
            (
                f"[{', '.join(self.feed.values.show(component) for component in key)}]" if key else "",
                "-" if value is None else quantity(value if isinstance(value, int) else float(f"{value:.6g}"), kind),
            )
            for key, value in reversed(rows)
        ]
        width = max((len(key) for key, _ in columns), default=0)
        self.screen.lines([f"{key:<{width}}  {value}".strip() for key, value in columns] or ["(empty)"])
        self.tell_age(map(map_title, map_names))

    def content(self, name: str) -> MapContent:
        """The current content of a map, or the last content if the target has ended. Raises UsageError."""
        title = map_title(name)
        kept_map = self.maps.read([title]).get(title)
        if kept_map is None:
            titles = list(self.session.maps)
            near = did_you_mean(f"@{name}", titles)
            names = (
                "there are " + ", ".join(titles) if titles else "no probe has a map yet:  … { @hits[cls] = count(); }"
            )
            raise UsageError(f"there is no map @{name}", help=[*near, names])
        return kept_map.content

    def tell_age(self, titles: Iterable[str]) -> None:
        """A note about maps that were last read before a target was killed."""
        kept_maps = [kept_map for kept_map in self.maps.read(titles).values() if not kept_map.last]
        if kept_maps and self.feed.gone_at is not None:
            age = max(0.0, self.feed.gone_at - min(kept_map.read_at for kept_map in kept_maps))
            self.screen.note(f"as last read, {age:.1f} s before the target was gone")

    def print_map(self, name: str, options: dict[str, str], *, plot: bool = False) -> None:
        from btpy.repl.tables import table_options

        content = self.content(name)
        many = content.map.kind in _CHARTS and "top" not in options and len(content.entries) > _MOST_CHARTS
        if many:
            options = {**options, "top": str(_MOST_CHARTS)}
        self.screen.lines(self.feed.maps.lines(content, table_options(content.map, options), plot=plot))
        if many:
            self.screen.note(f":print @{name} top=N draws N of them; :watch @{name} lists all")
        self.tell_age([map_title(name)])

    def status(self) -> Status:
        probes = len(scripts.shown(self.session))
        rate = self.feed.rate()
        target = self.session.target
        timed = any(account.cost.timed for account in self.session.figures.accounts.values())
        share = self.feed.cpu_share() if timed and not self.left else None
        state = " (gone)" if self.feed.gone and not self.detached else " (detached)" if self.detached else ""
        return Status(
            target=f"{target.main}:{target.pid}{state}",
            probes=counted(probes, "probe"),
            rate=f"{_short(rate)} ev/s",
            cost="" if share is None else f"{'<0.1' if share < 0.05 else f'{share:.1f}'}% cpu",
            lost=self.feed.all_lost(),
        )

    def help(self, text: str, cursor: int) -> None:
        """A description of the word at the cursor: of the language, a command, or a class or method of the target."""
        from btpy.repl.help import is_known, page

        word, pattern = word_at(text, cursor).lstrip(":"), pattern_at(text, cursor)
        if pattern and not is_known(word):
            self.enter(f":ls {pattern}", remember=False)
        else:
            self.screen.lines(page(word).split("\n"))

    def close(self) -> None:
        self.maps.close()
        self.inventory.close()
        self.session.close()
        self.feed.finish()


def _without_body(text: str) -> Diagnostic:
    entry = text.strip()
    start = text.index(entry)
    probe = entry if "::" in entry else f"{entry}::*"
    return Diagnostic(
        "BT001",
        "a pattern alone is not a probe",
        Label(Span(Source("<repl>", text), start, start + len(entry))),
        help=(
            f"add what the probe does:  {probe} @entry {{ print(method, args) }}",
            f"or look at it:  :ls {entry}",
        ),
    )


def _short(rate: float) -> str:
    if rate < 10:
        return f"{rate:.1f}".removesuffix(".0")
    return grouped(round(rate)) if rate < 10_000 else f"{rate / 1000:.0f}k"


class _Known(SessionMetadata):
    """The names that completion knows: names of the target from the inventory, and names of the session from its
    entries.
    """

    def __init__(self, repl: Repl) -> None:
        self._repl = repl
        self._libraries: list[Word] | None = None

    @property
    def classes(self) -> ClassIndex:
        return self._repl.inventory.classes

    def members(self, class_name: str) -> Members | None:
        return self._repl.inventory.members(class_name)

    @property
    def maps(self) -> Sequence[Word]:
        program = self._repl.session.scripts.program
        all_maps = program.maps if program is not None else ()
        return [Word(map_.title, f"{map_.kind.value}, {counted(map_.keys, 'key part')}") for map_ in all_maps]

    @property
    def scoped_variables(self) -> Sequence[Word]:
        program = self._repl.session.scripts.program
        variables = program.scoped_variables if program is not None else ()
        return [Word(variable.title, str(variable.type)) for variable in variables]

    @property
    def probes(self) -> Sequence[Word]:
        live = scripts.shown(self._repl.session)
        numbers = [Word(str(probe.number), probe.name) for probe in live]
        names = [Word(probe.name, f"#{probe.number}") for probe in live]
        return [*numbers, *names, *([Word("*", "all")] if live else [])]

    @property
    def commands(self) -> Sequence[Word]:
        return command_words()

    def arguments_of(self, command: str) -> Sequence[Word] | Wanted:
        return argument_words(command, self)

    @property
    def libraries(self) -> Sequence[Word]:
        if self._libraries is None:
            self._libraries = [
                Word(library.name, str(library.path.name)) for library in self._repl.session.libraries.all()
            ]
        return self._libraries

    @property
    def parameters(self) -> Sequence[Word]:
        return [Word(name, text) for name, text in self._repl.parameters.items()]

    @property
    def events(self) -> Sequence[Word]:
        live = [(probe.checked.attachment, probe.number) for probe in scripts.shown(self._repl.session)]
        return [Word(at.name, f"#{number}") for at, number in live if isinstance(at, EventAttachment) and at.name]
