"""``btpy trace``: the time in the calls of a method, as a tree that grows along the slow path.

First the method's own calls are timed. Next, btpy times the calls inside the slowest method whose calls it has not
timed yet. So at any moment it times only a few important calls. All calls of a root method are one tree.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command, Option, number, seconds
from btpy.cli.overrides import bounded
from btpy.cli.verbs import preset
from btpy.errors import BtpyError, NothingMatched, ProtocolError, ScriptError, TargetGone, UsageError

if TYPE_CHECKING:
    from btpy.api.results import Errors, MergedCalls
    from btpy.api.session import PulledSession
    from btpy.cli.settings import Settings
    from btpy.output.stream import Stream
    from btpy.output.trees import TreeWriter
    from btpy.output.writer import Context, Writer

_NO_MAPS = "call trees do not use maps"
_HERE = "the running btpy builds the trees, and decides what to time next"
_REFUSED = {
    **preset.REFUSED,
    **dict.fromkeys(("--until", "-i", "--interval"), _NO_MAPS),
    **dict.fromkeys(("-x", "--unattended", "--keep", "--ttl", "--name"), _HERE),
    "--record": f"{_HERE}: -o trees.ndjson keeps them",
    "--sample": "a tree needs all of its calls; choose trees with --when and --min",
    "--rate": "limit the number of trees with -n",
    "--only": "call trees are the only output",
    "--width": "call trees have no layout to widen",
    "--all": "a call tree comes from one JVM",
}
_REFUSED_KEYS = frozenset(name.lstrip("-").replace("-", "_") for name in _REFUSED)

COMMAND = Command(
    name="trace",
    usage=("trace PID|NAME 'Class::method' [--min 20ms] [-n 5] [--depth 5] [-d 30s]",),
    summary="draw where calls of a method spend their time, ever deeper",
    about=(
        "Draws where calls of a method spend their time: one tree for each method that the pattern matches, merged\n"
        "over its calls, every 10 s and at the end. First it times the calls that the method itself makes; then it\n"
        "times the calls inside the slowest of these, down to --depth, and announces each step. A row has the called\n"
        "method, its line in the method above, how often and how long; shares are of the time of the root's calls.\n"
        "Tasks that a call hands over to other threads stand below it: the pool, the time until a thread began, and\n"
        "`not critical` if the call did not wait for them. As JSON, and as -f chrome for ui.perfetto.dev, each call\n"
        "is a tree of its own; on the timeline an arrow leads to each task.\n"
        "The times include the cost of timing, about 0.2 us a call."
    ),
    options=(
        Option(("--min",), "draw calls that take longer (default: all)", "20ms"),
        Option(("-n", "--hits"), "end after this many calls (default 0: no limit)", "N"),
        Option(("--depth",), "look into calls down to this depth (default 5)", "N"),
        Option(("--jdk",), "look into classes of the JDK too"),
        Option(
            ("--flows",),
            "follow work through a framework, such as flows_reactor (default: flows, the JDK's; none: one thread)",
            "LIBRARY",
            repeat=True,
        ),
        preset.WHEN,
        preset.JSON,
        *(option for option in preset.RUNNING if option.key not in ("hits", *_REFUSED_KEYS)),
    ),
    refused=_REFUSED,
    positionals=(2, 2),
    examples=(
        ("trace OrderApp OrderService::place --min 20ms", "where slow orders lose their time"),
        ("trace OrderApp '+jakarta.servlet.http.HttpServlet::service' -n 10 --depth 8", "of requests, deep"),
        ("trace OrderApp OrderService::place -n 3 -o place.trace.json", "over threads, for ui.perfetto.dev"),
        ("trace OrderApp OrderService::place -n 0 --for 1h -o trees.ndjson", "all calls of an hour, to a file"),
    ),
)

_FORMATS = ("text", "ndjson", "json", "chrome")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_EVERY = 10.0  # seconds between drawings
_LEAST = 0.05  # the smallest share of a tree for which btpy times the inner calls
_JDK = ("java.", "javax.", "jdk.", "sun.", "com.sun.")

_FLOWS = "flows"
"""The library that follows work where the JDK hands it over. Putting in the libraries for frameworks takes a second or
two.
"""
_NONE = "none"
_ROOT = """\
@OnMethod({where}, location=ENTRY)
probe begin when depth == 0 {{ begin_flow(); flow.began = nanos; }}
@OnMethod({where}, location=EXIT)
probe root when depth == 0 {{
  let ended = nanos;
  let took = flow.began == null ? duration : (ended - flow.began) * 1ns;
  let drawn = {condition};
  if drawn {{
    for run in flow_runs() limit 256 {{
      emit("run", flow=flow.id, number=run.number, by=run.by, tid=run.tid, worker=run.thread,
           handed=run.handedOver, began=run.began, ended=run.ended, running=run.running);
    }}
  }}
  print(took, typeof(exception), drawn, ended, flow.id);
}}
"""
"""``took`` is no ``duration``, which begins after the handler of the entry: the tree covers all calls and tasks between
the two readings of the clock.
"""
_CALLS = """\
@OnMethod({where}, location=CALL(when=AFTER))
probe calls{number} when flow.id != null {{ print(duration, typeof(exception)); }}
"""


def run(arguments: Arguments, console: Console) -> int:
    point = preset.subject(arguments)
    where = f"class={preset.quoted(point.owner)}, method={preset.quoted(point.method)}"
    root = _ROOT.format(where=where, condition=_condition(arguments))
    script = _imports(arguments) + root + _CALLS.format(where=_with_lambdas(point.owner, point.method), number=0)
    settings = preset.settings_of(COMMAND.name, arguments)
    _check(settings)
    growing = _Growing(point, arguments, settings)
    return preset.start(COMMAND.name, script, arguments, settings._replace(hits=None), console, companion=growing)


def _imports(arguments: Arguments) -> str:
    """The imports of the libraries that follow a call to other threads."""
    flows = arguments.texts("flows") or [_FLOWS]
    return "".join(f"import btpy.{name};\n" for name in dict.fromkeys(flows) if name != _NONE)


def _with_lambdas(owner: str, method: str) -> str:
    """The method, and the lambdas in it, because tasks of other threads are often lambdas."""
    methods = preset.quoted(method)
    if _IDENTIFIER.fullmatch(method):
        methods = f'["{method}", "/lambda\\${re.escape(method)}\\$\\d+/"]'
    return f"class={preset.quoted(owner)}, method={methods}"


def _check(settings: Settings) -> None:
    """Raises UsageError for a destination that cannot show trees."""

    destination = settings.destination
    if destination.silent:
        raise UsageError(f"{destination.record} is a recording: {_REFUSED['--record']}")
    if destination.format.name not in _FORMATS:
        raise UsageError(
            f"{destination.format.name} cannot show a call tree, because it has no columns",
            help=[f"-f {' or '.join(_FORMATS)}"],
        )


def _condition(arguments: Arguments) -> str:
    parts = []
    least, when = arguments.text("min"), arguments.text("when")
    if least is not None:
        seconds("--min", least)
        parts.append(f"duration > {least}")
    if when is not None:
        parts.append(f"({when})")
    return " && ".join(parts) or "true"


class _Growing:
    """Chooses the calls to time while trees are drawn (:class:`btpy.cli.target_run.Companion`)."""

    def __init__(self, point: preset.Point, arguments: Arguments, settings: Settings) -> None:
        from btpy.model.patterns import MethodPattern

        self._point = point
        self._most = number("--hits", arguments.text("hits") or "0") or None
        self._depth = number("--depth", arguments.text("depth") or "5")
        self._with_jdk = arguments.switch("jdk")
        self._settings = settings
        self._looked_into: set[tuple[str, str]] = set()
        self._timed = [(point.owner, MethodPattern(point.method))]  # patterns of the methods whose calls are timed
        self._trees: TreeWriter
        self._looked_at = 0  # number of calls at the last decision
        self._next = time.monotonic() + _EVERY

    def writer(self, stream: Stream, context: Context, console: Console) -> Writer:
        from btpy.output.calltree import LEAST
        from btpy.output.trees import TreeWriter

        destination, color = self._settings.destination, self._settings.color
        inner = destination.writer(stream, context, console, color)
        style = destination.style(stream, console, color)
        least = 0 if console.verbosity > 0 else LEAST
        self._trees = TreeWriter(inner, stream, context, style, least=least, most=self._most)
        return self._trees

    def turn(self, session: PulledSession, console: Console) -> str:
        if self._trees.drawn == self._most:
            return "hits"
        if time.monotonic() >= self._next:
            self._trees.draw()
            self._next = time.monotonic() + _EVERY
        if self._trees.drawn != self._looked_at:
            from btpy.api.results import slowest
            from btpy.output.calltree import named

            self._looked_at = self._trees.drawn
            slow = slowest(self._trees.merged.roots, self._is_open, _LEAST, self._depth - 1)
            if slow is not None:
                root, row, share = slow
                sentence = f"{100 * share:.0f} % of {named(root.owner, root.name)} is {named(row.owner, row.name)}"
                self._look_into(row, sentence, session, console)
        return ""

    def _look_into(self, row: MergedCalls, sentence: str, session: PulledSession, console: Console) -> None:
        """Times the calls inside the slowest method."""
        from btpy.model.patterns import MethodPattern
        from btpy.model.points import Point
        from btpy.output.quantities import counted

        self._looked_into.add((row.owner, row.name))
        owner = f"+{row.owner}"
        where = _with_lambdas(owner, row.name)
        timed = [preset.quoted(timed_owner) for timed_owner, methods in self._timed if methods.matches(row.name)]
        if timed:  # two probes at a call would draw it twice, the one inside of the other
            where += f", exclude=[{', '.join(timed)}]"
        script = _CALLS.format(where=where, number=len(self._looked_into))
        try:
            earlier = session.scripts.program
            assert earlier is not None
            program = preset.compiled("trace", script, earlier.permissions, earlier)
            session.scripts.load(bounded(program, self._settings))
        except (TargetGone, ProtocolError):
            raise
        except BtpyError as error:
            already_timed = bool(timed) and isinstance(error, NothingMatched)
            if not already_timed:
                console.say(f"btpy: {sentence}, which cannot be traced deeper: {_reason(error)}")
            return
        self._timed.append((owner, MethodPattern(row.name)))
        assert session.deployment is not None
        (probe,) = session.deployment.program.own
        sites = [site for site in session.deployment.sites if site.probe == probe.id]
        places = len({site._replace(id=0, point=Point.CALL_RETURN) for site in sites})
        console.say(f"btpy: {sentence}: its calls are timed now, at {counted(places, 'place')}")

    def _is_open(self, row: MergedCalls) -> bool:
        in_jdk = row.owner.startswith(_JDK) and not self._with_jdk
        return not in_jdk and (row.owner, row.name) not in self._looked_into and "[" not in row.owner

    @property
    def drawn(self) -> str:
        from btpy.output.quantities import counted

        return counted(self._trees.drawn, "tree")

    def errors(self) -> Errors | None:
        return self._trees.errors()

    def explain(self) -> str:
        from btpy.output.quantities import counted

        if self._trees.drawn:
            missing = []
            if tasks := self._trees.tasks_left_out:
                missing.append(f"{counted(tasks, 'task')} of calls whose record was lost, or that had too many tasks")
            if calls := self._trees.calls_left_out:
                missing.append(f"{counted(calls, 'call')} too deep inside of other calls")
            return f"the trees lack {' and '.join(missing)}" if missing else ""
        if self._trees.called:
            times = self._trees.called
            return f"0 trees: {self._point} was called {times} times, never slow enough (--min, --when)"
        return f"0 trees: {self._point} was not called while attached"


def _reason(error: Exception) -> str:
    if isinstance(error, NothingMatched | ScriptError):
        return error.diagnostics[0].message
    return str(error)
