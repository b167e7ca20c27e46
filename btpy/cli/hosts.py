"""``btpy --hosts HOSTS NAME FILE``: one script in the JVMs of several hosts, through the user's own ssh. Each host can
fail, stall or vanish alone. The client merges their results, as for several JVMs of one machine.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from btpy.api.hosts import (
    STATUS_NOT_FOUND,
    HostEnded,
    HostItem,
    HostLine,
    HostPushed,
    HostReady,
    Hosts,
    HostSilent,
    Pushing,
    Reach,
    Report,
)
from btpy.api.merged_maps import Shares
from btpy.api.programs import Program, outline_of, scripts_to_json
from btpy.api.recordings import ChunkWriter, Ending, Entry, Playback, Recorded, ShownMaps
from btpy.api.results import MapContent, ProbeAccount
from btpy.api.stop_condition import StopCondition
from btpy.cli.canary import Canary, Withdrawn, canary_of
from btpy.cli.console import Console
from btpy.cli.exporting import all_exports, report_when_due
from btpy.cli.merged_maps import Contributor, FinalMaps
from btpy.cli.options import Arguments, Option, number
from btpy.cli.overrides import bounded, checked
from btpy.cli.played_target import PlayedTarget, PlayTerms
from btpy.cli.reach import reached
from btpy.cli.settings import Settings
from btpy.cli.signals import Signals
from btpy.distribution import version
from btpy.errors import AttachError, BtpyError, OutputError, ProtocolError, TargetGone, UsageError
from btpy.model.outline import Outline
from btpy.output import formats
from btpy.output.quantities import counted, grouped
from btpy.output.stream import ReaderGone, Stream

if TYPE_CHECKING:
    from btpy.present.export import Exporter

FAN_OUT = 32

_SENT = (
    *("all", "for", "sample", "max_methods", "max_classes", "missing", "pending", "budget", "level", "attach"),
    *("quiet", "verbose"),
)
"""The options that each host gets unchanged."""

_OWN = (
    *("hosts", "pods", "kubectl", "remote_btpy", "remote_python", "push", "ssh", "fan_out"),
    *("canary", "then", "settle", "max_errors"),
    *("e", "I", "P", "hits", "until", "interval", "rate", "format", "output", "append", "rotate", "compress", "width"),
    *("only", "csv_safe", "utc", "record", "prometheus"),
    *("prometheus_token_file", "prometheus_cert_file", "prometheus_key_file", "prometheus_client_ca_file"),
    *("allow", "secret", "no_redact", "frameworks", "with", "color", "no_unicode"),
)
"""The options that the client needs, or sends with the script."""

_POLL = 0.1  # seconds between checks of the clock and of signals
_UNTIL_INTERVAL = 0.25  # seconds between two readings of maps on a host, for --until
_KEPT_INTERVAL = 2.0  # seconds between two readings of maps that are kept in case that the host vanishes
_STATUS_OF_SSH = 255  # the exit status of ssh itself, when it has no connection
_ENDING_SECONDS = 15.0  # seconds to wait for hosts that do not answer at the end


def run(
    compile_: Callable[[], Program],
    arguments: Arguments,
    settings: Settings,
    console: Console,
    options: Sequence[Option],
) -> int:
    """The exit code. ``options``: the options of the command. Raises BtpyError."""
    _refuse(arguments, settings, options)
    fan_out = number("--fan-out", arguments.text("fan_out") or str(FAN_OUT))
    program = bounded(checked(compile_, console), settings)
    settings.destination.check(program, console, several=True)
    names, reach = reached(arguments)
    words = _words(arguments, settings, options)
    request = {"btpy": version(), "arguments": words, "scripts": scripts_to_json(program)}
    requests = {name: json.dumps({**request, "host": name}).encode() + b"\n" for name in names}
    command = f"{arguments.text('remote_btpy') or 'btpy'} node"
    canary = canary_of(arguments, names, settings.budget)
    pushing = Pushing(arguments.text("remote_python") or "python3") if arguments.switch("push") else None
    hosts = Hosts(requests, reach, command, fan_out=max(1, fan_out), pushing=pushing)
    try:
        return HostsRun(hosts, reach, names, program, settings, console, canary).run()
    finally:
        hosts.close()


def _refuse(arguments: Arguments, settings: Settings, options: Sequence[Option]) -> None:
    """Raises UsageError for options that work on one machine only."""
    where = "--hosts" if "hosts" in arguments.given else "--pods"
    others = sorted(arguments.given - {*_SENT, *_OWN})
    if others:
        option = next(option for option in options if option.key == others[0])
        raise UsageError(f"{option.names[-1]} does not work with {where}", help=["run btpy there itself"])
    destination = settings.destination
    if not destination.silent:
        name = destination.format.name
        formats.check_several(
            destination.format, f"record each, and replay:  -o run.btz, then btpy replay run-HOST-PID.btz -f {name}"
        )


def _words(arguments: Arguments, settings: Settings, options: Sequence[Option]) -> list[str]:
    """The command line for each host."""
    interval = _UNTIL_INTERVAL if settings.until is not None else settings.interval or _KEPT_INTERVAL
    words = [f"--interval={interval}s", f"--hits={settings.hits or 0}", "--color=never"]
    for option in options:
        if option.key in _SENT:
            name = option.names[-1]
            if option.metavar:
                words += [f"{name}={text}" for text in arguments.texts(option.key)]
            else:
                words += [name] * arguments.count(option.key)
    if not arguments.switch("verbose") and not arguments.switch("quiet"):
        words.append("--quiet")  # otherwise each host would write a banner and a summary of each JVM
    return [*words, "--", arguments.positionals[0], "-"]


class _Target:
    """A JVM on a host. ``ending``: the message of its end, once it has arrived; ``read``: the time when its maps were
    read last.
    """

    def __init__(self, host: str, playback: Playback, record: Path | None, compress: bool) -> None:
        self.host = host
        self.playback = playback
        self.played: PlayedTarget | None = None  # set once its probes are in
        self.ending: Ending | None = None
        self.read: float | None = None
        self._written_at = 0
        self._file: ChunkWriter | None = None
        if record is not None:
            name = f"{record.stem}-{host}-{playback.started.pid}{record.suffix}"
            self._file = ChunkWriter.create(record.with_name(name), compress=compress)

    @property
    def accounts(self) -> tuple[ProbeAccount, ...]:
        return self.playback.accounts if self.ending is None else self.ending.accounts

    @property
    def source(self) -> tuple[str, int]:
        return self.host, self.playback.started.pid

    def record(self, entry: Entry) -> None:
        """Raises OutputError."""
        if self._file is not None:
            self._file.add(entry.code, entry.payload)
            self._written_at = entry.wall_nanos

    def flush(self) -> None:
        """Raises OutputError."""
        if self._file is not None and self._file.waiting:
            self._file.write(self._written_at)

    def close(self) -> None:
        """Raises OutputError."""
        if self._file is not None:
            self._file.close()
        if self.played is not None:
            self.played.close()


class HostsRun:
    """A run from the first connection to the summary. ``names``: the hosts, in order. ``canary``: the state of a run in
    stages.
    """

    def __init__(
        self,
        hosts: Hosts,
        reach: Reach,
        names: Sequence[str],
        program: Program,
        settings: Settings,
        console: Console,
        canary: Canary | None = None,
    ) -> None:
        self._hosts = hosts
        self._program = reach.program
        self._what = reach.what
        self._names = names
        self._canary = canary
        self._settings = settings
        self._console = console
        self._destination = settings.destination
        self._until = None if settings.until is None else StopCondition(settings.until, program)
        self._shape = _shape(outline_of(program))
        self._targets: dict[tuple[str, int], _Target] = {}
        self._problems: dict[str, str] = {}  # by host
        self._statuses: dict[str, int] = {}
        self._ready: set[str] = set()  # hosts whose probes are in
        self._together: FinalMaps | None = None
        self._latest = Shares()
        self._reason = ""  # the reason why the client has asked for the end
        self._patience_ends = float("inf")
        self._is_told = False  # whether the user has seen that the first probes are in
        self._exporters: tuple[Exporter, ...] = ()
        self._stream: Stream
        self._terms: PlayTerms

    def run(self) -> int:
        """The exit code. Raises BtpyError; KeyboardInterrupt at the second Ctrl-C."""
        destination = self._destination
        with (
            Signals(to_file=destination.is_file) as signals,
            destination.open(self._console) as self._stream,
            all_exports(destination, self._console) as self._exporters,
            contextlib.ExitStack() as closing,
        ):
            closing.callback(self._close)
            self._terms = PlayTerms(
                destination,
                self._stream,
                _silent_console(),
                self._settings.color,
                hits=self._settings.hits or 0,
                rate=self._settings.rate,
                exporters=self._exporters,
                several=True,
                of_hosts=True,
            )
            signals.ask()
            first = self._names if self._canary is None else self._canary.begun
            of = "" if len(first) == len(self._names) else f"the first {len(first)} of "
            self._console.say(f"btpy: connecting to {of}{counted(len(self._names), self._what)}. Ctrl-C to end.")
            self._hosts.begin(first)
            try:
                self._follow(signals)
            except OutputError as error:
                if isinstance(error, ReaderGone):
                    self._console.say(f"btpy: {error}")
                self._stop("error")
                self._follow(signals)
                raise
            except KeyboardInterrupt:
                self._console.warning("interrupted: btpy on each host takes the probes out by itself")
                raise
            return self._end()

    def _close(self) -> None:
        for target in self._targets.values():
            with contextlib.suppress(OutputError):
                target.close()

    def _follow(self, signals: Signals) -> None:
        """Runs until every host has ended."""
        interval = self._settings.interval or None
        due = float("inf") if interval is None else time.monotonic() + interval
        while self._hosts.remaining or self._may_begin_more:
            for report in self._hosts.turn(_POLL):
                self._take(report)
            now = time.monotonic()
            if interval is not None and now >= due:
                due = now + interval
                self._show_maps()
            report_when_due(self._exporters, self._read_for_export, self._console)
            self._stream.flush()
            for target in self._targets.values():
                target.flush()
            self._announce()
            self._watch_stage(now)
            if not self._reason and (reason := self._why_over(signals)):
                self._stop(reason)
            if now >= self._patience_ends:
                self._give_up()

    def _read_for_export(self, due: Sequence[Exporter]) -> None:
        for target in self._targets.values():
            if target.played is not None and target.ending is None:
                target.played.read_for_export(due)

    @property
    def _may_begin_more(self) -> bool:
        return self._canary is not None and self._canary.goes_on and not self._reason

    def _watch_stage(self, now: float) -> None:
        """Begins the next stage when the present stage has kept its bounds, or ends the run everywhere."""
        canary = self._canary
        if canary is None or self._reason:
            return
        begun_count = len(canary.begun)
        words = canary.turn(now)
        if canary.breaches:
            self._stop("canary")
            for breach in canary.breaches:
                console = self._console.of(breach.host) if breach.host else self._console
                console.error(BtpyError(f"{canary.rollout.name}: {breach.words}"))
        if words:
            self._console.say(f"btpy: {words}")
        self._hosts.begin(canary.begun[begun_count:])

    def _announce(self) -> None:
        """Reports once that every host traces or has failed."""
        traced = {target.host for target in self._targets.values() if target.played is not None}
        if self._is_told or not traced or not self._ready | self._statuses.keys() >= set(self._names):
            return
        self._is_told = True
        jvms = counted(sum(target.played is not None for target in self._targets.values()), "JVM")
        self._console.say(f"btpy: tracing {jvms} on {counted(len(traced), self._what)}. Ctrl-C to end.")

    def _why_over(self, signals: Signals) -> str:
        """The reason why all hosts must end; empty: there is none."""
        if signals.stop is not None:
            return "interrupt"
        until = self._until
        if until is None or not until.begin_look():
            return ""
        titles = set(until.titles)
        maps = [content.map for content in self._latest.unmerged if content.map.title in titles]
        return "until" if maps and until.holds(self._latest.merged(maps)) else ""

    def _stop(self, reason: str) -> None:
        self._reason = reason
        self._patience_ends = time.monotonic() + _ENDING_SECONDS
        self._hosts.stop()

    def _give_up(self) -> None:
        """Gives up the hosts that do not answer at the end."""
        for host in self._hosts.remaining:
            self._problems[host] = f"did not end within {_ENDING_SECONDS:.0f} s"
            self._console.of(host).warning(
                f"the {self._what} {self._problems[host]}; "
                "its btpy takes the probes out when it sees that the client is gone"
            )
            for report in self._hosts.leave(host):
                self._take(report)

    def _take(self, report: Report) -> None:
        """Raises OutputError."""
        console = self._console.of(report.host)
        if isinstance(report, HostItem):
            try:
                self._show_item(report)
            except ProtocolError as error:
                self._problems[report.host] = str(error)
                console.error(error)
                for last in self._hosts.leave(report.host):
                    self._take(last)
        elif isinstance(report, HostLine):
            console.notice(report.line)
        elif isinstance(report, HostPushed):
            console.detail(f"{report.size / 1e6:.1f} MB of btpy sent" if report.size else "btpy was sent before")
        elif isinstance(report, HostReady):
            self._ready.add(report.host)
            if self._canary is not None:
                self._canary.settled(report.host)
        elif isinstance(report, HostSilent):
            change = f"has not answered for {report.seconds:.0f} s" if report.seconds else "answers again"
            console.warning(f"the {self._what} {change}")
            if self._canary is not None:
                self._canary.silent(report)
        else:
            self._left(report)

    def _show_item(self, arrival: HostItem) -> None:
        """Raises ProtocolError, OutputError."""
        key = (arrival.host, arrival.playback.started.pid)
        target = self._targets.get(key)
        if target is None:
            destination = self._destination
            target = _Target(arrival.host, arrival.playback, destination.record, destination.compress)
            self._targets[key] = target
        target.record(arrival.entry)
        if arrival.item is None:
            return
        if target.played is None:
            self._begin(target)
        self._show(target, arrival.entry.wall_nanos, arrival.item)

    def _begin(self, target: _Target) -> None:
        """Raises ProtocolError."""
        if _shape(target.playback.outline) != self._shape:
            raise ProtocolError(f"the {self._what} runs another script")
        if self._canary is not None:
            self._canary.traced(target.host)
        target.played = PlayedTarget(target.playback, target.host, self._terms)
        if self._together is None:
            self._together = FinalMaps(target.played.context, self._terms.writer)
        start_entry = target.playback.started
        self._console.of(target.host).detail(f"{start_entry.main} ({start_entry.pid}), JDK {start_entry.java_version}")

    def _show(self, target: _Target, wall_nanos: int, item: Recorded) -> None:
        """Raises ProtocolError, OutputError."""
        played = target.played
        assert played is not None
        if self._canary is not None:
            self._canary.item(*target.source, item)
        if isinstance(item, ShownMaps):
            target.read = time.monotonic()
            played.keep(item.contents)
            self._latest.put(target.source, item.contents, target.playback.stacks)
            if self._settings.interval:
                played.showing.maps(played.own(item.contents))
        elif isinstance(item, Ending):
            is_own_end = item.reason == "interrupt" and self._reason
            target.ending = replace(item, reason=self._reason) if is_own_end else item
            played.show(wall_nanos, target.ending)
            self._share(target, item.contents if item.left is not None else None)
        else:
            played.show(wall_nanos, item)

    def _share(self, target: _Target, contents: Sequence[MapContent] | None) -> None:
        """Adds the maps of a target at its end. None: the target could not send them, so the latest contents count."""
        played, together = target.played, self._together
        assert played is not None
        assert together is not None
        if contents is None:
            contents = list(played.latest.values())
            if target.read is not None and any(content.entries for content in contents):
                age = time.monotonic() - target.read
                self._console.of(f"{target.host}  {target.source[1]}").say(f"its maps were last read {age:.1f} s ago")
            played.showing.maps(played.own(contents))
        self._latest.put(target.source, contents, target.playback.stacks)
        played.keep(contents)
        together.left(played, contents)

    def _show_maps(self) -> None:
        """Writes the merged maps of the last reading. Raises OutputError."""
        if self._together is not None:
            moment: dict[Contributor, Sequence[MapContent]] = {}
            for target in self._targets.values():
                if target.played is not None:
                    moment[target.played] = list(target.played.latest.values())
            self._together.shown(moment)

    def _left(self, ending: HostEnded) -> None:
        """A host has ended. Raises OutputError."""
        console = self._console.of(ending.host)
        targets = self._of(ending.host)
        self._statuses[ending.host] = (
            ending.status if ending.has_begun or not ending.status else AttachError.exit_status
        )
        if ending.error is not None:
            self._problems.setdefault(ending.host, str(ending.error))
            console.error(ending.error)
        elif ending.status == STATUS_NOT_FOUND and not ending.has_begun:
            self._problems[ending.host] = "has no Python" if ending.was_pushed else "has no btpy"
            console.error(_not_found(ending, self._what))
        elif ending.was_pushed and not ending.has_begun and ending.status != _STATUS_OF_SSH and not self._reason:
            self._problems[ending.host] = "could not run the btpy that was sent"
        elif not ending.has_begun and not self._reason:
            self._problems[ending.host] = f"could not be reached (status {ending.status} of {self._program})"
        elif not targets and not self._reason:
            self._problems[ending.host] = "traced nothing"
        for target in targets:
            if target.ending is None:
                self._problems.setdefault(ending.host, f"was lost (status {ending.status} of {self._program})")
                if target.played is not None:
                    target.played.cut_off("host-gone")
                    self._share(target, None)
        if self._canary is not None:
            if any(target.ending is None for target in targets):
                self._canary.lost(ending.host, f"the {self._what} {self._problems[ending.host]}")
            self._canary.settled(ending.host)
        if ending.host in self._problems and any(target.ending is None for target in targets):
            console.error(TargetGone(f"the {self._what} {self._problems[ending.host]}; the other {self._what}s go on"))

    def _of(self, host: str) -> list[_Target]:
        return [target for target in self._targets.values() if target.host == host]

    def _end(self) -> int:
        """The exit code of a run that is over. Raises BtpyError: nothing was traced, or all targets have ended."""
        if self._together is not None:
            self._together.end()
        self._stream.flush()
        for target in self._targets.values():
            target.flush()
        for host in self._names:
            if targets := self._of(host):
                self._console.of(host).say(_summary(targets))
        if self._problems:
            failures = ", ".join(f"{host}: {problem}" for host, problem in sorted(self._problems.items()))
            self._console.say(f"{len(self._problems)} of {counted(len(self._names), self._what)} failed: {failures}")
        if self._canary is not None and self._canary.breaches:
            raise Withdrawn(self._canary.breaches)
        statuses = [status for status in self._statuses.values() if status]
        if not self._targets:
            if self._problems:
                raise NothingTraced(next((status for status in statuses if 0 < status < STATUS_NOT_FOUND), 3))
            return 0
        endings = [target.ending for target in self._targets.values()]
        if not self._reason and all(ending is None or ending.reason == "target-exited" for ending in endings):
            raise TargetGone(f"all {counted(len(self._targets), 'JVM')} have ended; everything that came is shown")
        hosts = {target.host for target in self._targets.values() if target.ending is not None}
        return next((status for host, status in self._statuses.items() if host in hosts and status), 0)


class NothingTraced(BtpyError):
    """No host traced anything. The user has seen the reason for each host."""

    def __init__(self, status: int) -> None:
        super().__init__("nothing was traced on any host")
        self.exit_status = status


def _summary(targets: Sequence[_Target]) -> str:
    """The results of the JVMs of a host, and their losses."""
    accounts = [account for target in targets for account in target.accounts]
    delivered = sum(account.delivered for account in accounts)
    lost = sum(account.dropped for account in accounts)
    endings = [target.ending for target in targets if target.ending is not None]
    restored = [ending.left for ending in endings if ending.left is not None]
    parts = [counted(len(targets), "JVM"), counted(delivered, "event"), f"{grouped(lost)} lost"]
    if restored:
        woven, back = sum(counts[0] - counts[2] for counts in restored), sum(counts[1] for counts in restored)
        parts.append(f"{back} of {counted(woven, 'class')} put back")
    lost = len(targets) - len(restored)
    return ", ".join([*parts, *([f"{lost} of them lost"] if lost else [])])


def _not_found(ending: HostEnded, what: str) -> AttachError:
    if ending.was_pushed:
        return AttachError(
            f"neither this version of btpy nor python3 was found on the {what}",
            help=["install Python 3.11 or later there", "or say where it is: --remote-python /opt/python/bin/python3"],
        )
    return AttachError(
        f"btpy was not found on the {what}",
        help=[
            "install it there",
            "or say where it is: --remote-btpy /opt/btpy/bin/btpy",
            "or let the client send its own: --push",
        ],
    )


def _shape(outline: Outline) -> list[object]:
    """The ids of the outline, which must have the same meaning on all hosts."""
    return [
        [probe.name for probe in outline.probes],
        [(map_.title, map_.kind, map_.keys, map_.parameters) for map_ in outline.maps],
        [(template.kind, template.probe) for template in outline.templates],
    ]


def _silent_console() -> Console:
    """Formats a message that comes from a host itself."""
    console = Console(verbosity=-1)
    console.write = lambda descriptor, data: len(data)
    return console
