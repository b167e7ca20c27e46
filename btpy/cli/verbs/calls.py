"""``btpy trace``: what the calls of a method spend their time in, as a tree that grows along the slow path.

First the method's own calls are timed. Of each tree that was drawn, what took most and has not been looked into gets
its calls timed too, for the trees that follow: so few calls are timed at any time, and those that matter.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from btpy.cli.options import Arguments, Command, Option, number, seconds
from btpy.cli.permissions import ALLOW, NO_REDACT
from btpy.cli.verbs import preset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from btpy.cli.console import Console
    from btpy.cli.signals import Signals
    from btpy.events.calltree import Call, Row
    from btpy.events.records import Record
    from btpy.jvm.processes import JvmProcess
    from btpy.lang.program import Permissions, Program
    from btpy.session.session import Session

COMMAND = Command(
    name="trace",
    usage=("trace PID|NAME 'Class::method' [--min 20ms] [-n 5] [--depth 5] [-d 30s]",),
    summary="draw call trees of slow calls, deeper with each",
    about=(
        "Draws what calls of a method spend their time in. The first tree shows the calls that the method itself\n"
        "makes; then what took most is looked into, tree by tree, as deep as --depth, and each step is announced.\n"
        "Times hold what timing costs, about 0.2 us a call."
    ),
    options=(
        Option(("--min",), "draw calls that take longer (default: all)", "20ms"),
        Option(("-n", "--hits"), "end after so many trees (default 5)", "N"),
        Option(("--depth",), "look into calls as deep as this (default 5)", "N"),
        Option(("--jdk",), "look into classes of the JDK too"),
        preset.WHEN,
        preset.JSON,
        Option(("-d", "--for"), "end after this time", "30s"),
        ALLOW,
        NO_REDACT,
        Option(("-q", "--quiet"), "trees only"),
        Option(("-v", "--verbose"), "calls that took next to nothing too"),
        Option(("--color",), "auto (default), always or never", "WHEN", choices=("auto", "always", "never")),
        Option(("--no-unicode",), "write ASCII only"),
    ),
    positionals=(2, 2),
    examples=(
        ("trace OrderApp OrderService::place --min 20ms", "where slow orders lose their time"),
        ("trace OrderApp '+jakarta.servlet.http.HttpServlet::service' -n 10 --depth 8", "of requests, deep"),
    ),
)

_POLL = 0.1
_LEAST = 0.05  # share of a tree that is worth looking into
_JDK = ("java.", "javax.", "jdk.", "sun.", "com.sun.")

_ROOT = """\
@OnMethod({where}, location=ENTRY)
probe begin when depth == 0 {{ thread.traced = 1; }}
@OnMethod({where}, location=EXIT)
probe root when depth == 0 {{
  thread.traced = null;
  print(duration, typeof(exception), {condition});
}}
"""
_CALLS = """\
@OnMethod({where}, location=CALL(when=AFTER))
probe calls{number} when thread.traced != null {{ print(duration, typeof(exception)); }}
"""


def run(arguments: Arguments, console: Console) -> int:
    from btpy.cli.console import wants_color
    from btpy.cli.permissions import permissions
    from btpy.jvm import attach, processes

    point = preset.subject(arguments)
    where = f"class={preset.quoted(point.owner)}, method={preset.quoted(point.method)}"
    console.verbosity = -1 if arguments.switch("quiet") else arguments.count("verbose")
    console.unicode = console.unicode and not arguments.switch("no_unicode")
    console.color = wants_color(arguments.text("color"), 2)
    script = _ROOT.format(where=where, condition=_condition(arguments)) + _CALLS.format(where=where, number=0)
    growing = _Growing(arguments, console, permissions(arguments))
    process = processes.find(arguments.positionals[0])
    if process.obstacle is not None:
        raise process.obstacle
    attach.prepare()
    preset.show(script, console)
    try:
        return growing.run(process, script, point)
    except KeyboardInterrupt:
        console.warning("interrupted: the agent puts the classes back by itself")
        raise


def _condition(arguments: Arguments) -> str:
    parts = [f"duration > {arguments.text('min')}"] if arguments.text("min") is not None else []
    if arguments.text("min") is not None:
        seconds("--min", arguments.text("min") or "")
    parts += [f"({arguments.text('when')})"] if arguments.text("when") is not None else []
    return " && ".join(parts) or "true"


class _Growing:
    """One run."""

    def __init__(self, arguments: Arguments, console: Console, allowed: Permissions) -> None:
        from btpy.cli.console import wants_color
        from btpy.events.calltree import CallTrees
        from btpy.output.stream import Stream
        from btpy.output.style import Style

        limit = arguments.text("for")
        self._limit = None if limit is None else seconds("--for", limit)
        self._most = number("--hits", arguments.text("hits") or "5") or None
        self._depth = number("--depth", arguments.text("depth") or "5")
        self._with_jdk = arguments.switch("jdk")
        self._as_json = arguments.switch("json")
        self._console = console
        self._allowed = allowed
        self._stream = Stream.stdout(ascii_only=not console.unicode)
        self._style = Style(console.unicode, wants_color(arguments.text("color"), self._stream.descriptor))
        self._trees = CallTrees()
        self._looked_into: set[tuple[str, str]] = set()
        self._drawn = self._called = 0
        self._exiting = False

    def run(self, process: JvmProcess, script: str, point: preset.Point) -> int:
        """The exit code. Raises BtpyError."""
        from btpy.cli.report import banner, receipt_words
        from btpy.cli.signals import Signals
        from btpy.errors import TargetGone
        from btpy.jvm.connecting import Connecting

        program = self._program(script, None)
        with Connecting(process) as connecting, Signals(to_file=False) as signals:
            from btpy.cli.tracing import what_is_left
            from btpy.live.preview import expected_range
            from btpy.session.session import Session

            with Session.connected(connecting) as session:
                deployment = session.load(program, allow=self._allowed.allow)
                target = session.target
                milliseconds = deployment.weave_ns / 1e6
                self._console.say(
                    banner(
                        len(program.probes),
                        deployment.methods,
                        deployment.classes,
                        target.main,
                        target.pid,
                        milliseconds,
                        places=len(deployment.sites),
                        nanos=expected_range(program),
                    )
                )
                signals.ask()
                self._follow(session, signals)
                receipt = session.detach()
                if not self._drawn:
                    self._say_why_none(point)
                lost = sum(tally.dropped for tally in receipt.tallies)
                if lost:
                    self._console.warning(
                        f"{lost} calls came too fast and are missing in the trees (--depth 1, --when)"
                    )
                if self._exiting:
                    raise TargetGone(f"the JVM {target.pid} has ended", help=["btpy ps lists those that run"])
                self._console.say(" · ".join(receipt_words(what_is_left(receipt))))
                receipt.require_clean(target.pid)
        return 0

    def _program(self, script: str, earlier: Program | None) -> Program:
        from btpy.lang.checker import check_source
        from btpy.lang.source import Source

        return check_source(Source("<trace>", script), permissions=self._allowed, earlier=earlier)

    def _follow(self, session: Session, signals: Signals) -> None:
        from btpy.session.session import Records
        from btpy.wire.messages import Exiting

        deadline = None if self._limit is None else time.monotonic() + self._limit
        while signals.stop is None and (deadline is None or time.monotonic() < deadline):
            tree = None
            for item in session.items(_POLL):
                if isinstance(item, Records):
                    for drawn in self._roots(item.records, session):
                        tree = drawn
                        if self._drawn == self._most:
                            return
                if isinstance(item, Exiting):  # it waits for this side to have taken everything
                    self._exiting = True
                    return
                if signals.stop is not None:
                    return
            if tree is not None:
                self._look_deeper(tree, session)

    def _roots(self, records: Iterable[Record], session: Session) -> Iterable[Call]:
        """Puts the calls together; draws and yields what is whole."""
        from btpy.events.calltree import Call

        assert session.program is not None
        names = [probe.name for probe in session.program.probes]
        for record in records:
            site = session.sites[record.site]
            took, failed, *wanted = record.values
            assert isinstance(took, int)
            threw = str(failed or "")
            if names[record.probe] != "root":
                caller = site.class_name, site.method
                call = Call(site.target_class, site.member, site.line, record.nanos, took, threw, caller)
                self._trees.ended(record.tid, call)
                continue
            self._called += 1
            tree = self._trees.root(record.tid, Call(site.class_name, site.method, 0, record.nanos, took, threw))
            if wanted == [True]:
                self._draw(tree, record.thread)
                yield tree

    def _draw(self, tree: Call, thread: str) -> None:
        from btpy.output.calltree import LEAST, tree_json, tree_lines

        self._drawn += 1
        if self._as_json:
            import json

            lines = [json.dumps({"type": "tree", "thread": thread, **tree_json(tree)}, ensure_ascii=False)]
        else:
            lines = [*tree_lines(tree, thread, self._style, 0 if self._console.verbosity > 0 else LEAST), ""]
        self._stream.write("".join(line + "\n" for line in lines))
        self._stream.flush()

    def _look_deeper(self, tree: Call, session: Session) -> None:
        """Has the calls timed in what took most, if there is anything left that is worth it."""
        from btpy.errors import BtpyError, ProtocolError, TargetGone
        from btpy.events.calltree import slowest
        from btpy.lang.program import Point
        from btpy.output.calltree import named

        row = slowest(tree, self._is_open, _LEAST, self._depth - 1)
        if row is None:
            return
        self._looked_into.add((row.owner, row.name))
        share = 100 * row.took / tree.took
        what = f"{share:.0f} % of {named(tree.owner, tree.name)} is {named(row.owner, row.name)}"
        where = f'class="+{row.owner}", method="{row.name}"'
        script = _CALLS.format(where=where, number=len(self._looked_into))
        try:
            deployment = session.load(self._program(script, session.program), allow=self._allowed.allow)
        except (TargetGone, ProtocolError):
            raise
        except BtpyError as error:
            self._console.say(f"btpy: {what}, which cannot be looked into: {_reason(error)}")
            return
        (probe,) = deployment.program.own
        timed = len(
            {site._replace(id=0, point=Point.CALL_RETURN) for site in deployment.sites if site.probe == probe.id}
        )
        self._console.say(f"btpy: {what}: its calls are timed now, at {timed} places")

    def _is_open(self, row: Row) -> bool:
        in_jdk = row.owner.startswith(_JDK) and not self._with_jdk
        return not in_jdk and (row.owner, row.name) not in self._looked_into and "[" not in row.owner

    def _say_why_none(self, point: preset.Point) -> None:
        if self._called:
            self._console.say(f"0 trees: {point} was called {self._called} times, never slow enough (--min, --when)")
        else:
            self._console.say(f"0 trees: {point} was not called while attached")


def _reason(error: Exception) -> str:
    from btpy.errors import NothingMatched, ScriptError

    if isinstance(error, NothingMatched | ScriptError):
        return error.diagnostics[0].message
    return str(error)
