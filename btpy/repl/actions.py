"""The functions of the commands; :mod:`btpy.repl.commands` has their names and arguments."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from btpy.api.doctor import Outcome, examine
from btpy.api.java_sources import find_source
from btpy.api.listings import ListedProbe
from btpy.api.probes import Probe
from btpy.completion.classes import expanded
from btpy.completion.members import Members
from btpy.errors import LeftBehind, UsageError
from btpy.explanations import explanations
from btpy.model.diagnostics import did_you_mean
from btpy.model.patterns import simple_name
from btpy.output.columns import clipped
from btpy.output.failures import probe_error
from btpy.output.listing import Detail, listing_lines, signature
from btpy.output.quantities import counted, duration, grouped
from btpy.output.values import visible
from btpy.present.report import clock, restored_classes
from btpy.repl import scripts
from btpy.repl.commands import SETTINGS, Line
from btpy.repl.feed import columns
from btpy.repl.help import page
from btpy.repl.recent import Event
from btpy.repl.repl import Repl
from btpy.repl.tables import split_options
from btpy.repl.watching import MapView

Action = Callable[[Repl, Line], None]

_LISTED_CLASSES = 30
_LAST = 10
_KEPT_SECONDS = 3600.0


def _probes(repl: Repl, line: Line) -> None:
    live = scripts.shown(repl.session)
    if not live:
        repl.screen.say("no probes are live: enter one, or :help")
        return
    repl.refresh()
    rows = [("#", "name", "where", "state", "hits", "rate", "cost", "errors", "lost")]
    for probe in live:
        rate = None if repl.left else repl.feed.firing_rate(probe)
        rows.append(
            (
                str(probe.number),
                probe.name,
                clipped(scripts.where(repl.session, probe), 40),
                _state(probe),
                grouped(probe.fired),
                "" if rate is None else f"{rate:,.0f}/s" if rate >= 10 or rate == 0 else f"{rate:.1f}/s",
                duration(round(probe.cost.mean)) if probe.cost.timed else "",
                grouped(probe.errors),
                grouped(sum(repl.feed.lost(probe).values())),
            )
        )
    repl.screen.lines(columns(rows))


def _state(probe: Probe) -> str:
    if not probe.enabled:
        return probe.state
    return " ".join(filter(None, (probe.state, probe.sampling.replace("1/", "1:"), probe.rate_limit)))


def _show(repl: Repl, line: Line) -> None:
    for probe in scripts.named(repl.session, line.words[0]):
        source = repl.session.scripts.source(probe)
        repl.screen.say(f"#{probe.number} {probe.name}  {source.name}")
        repl.screen.say("\n".join(f"  {text}" for text in source.text.strip().split("\n")))
        methods = list(dict.fromkeys(probe.methods))  # a name may have several methods
        for class_name, method in methods[:20]:
            repl.screen.say(f"  in {class_name}.{method}")
        if len(methods) > 20:
            repl.screen.say(f"  … and {len(methods) - 20} more")


def _switch(repl: Repl, line: Line, *, on: bool) -> None:
    repl.require_target()
    for probe in _named(repl, line):
        repl.session.scripts.enable(probe, on)
        repl.screen.say(f"#{probe.number} {probe.name} · {'enabled' if on else 'disabled'}")


def _named(repl: Repl, line: Line) -> list[Probe]:
    """The probes that the words select, without duplicates."""
    probes = {probe.number: probe for word in line.words for probe in scripts.named(repl.session, word)}
    if not probes:
        raise UsageError("no probes are live")
    return list(probes.values())


def _rm(repl: Repl, line: Line) -> None:
    repl.require_target()
    probes = _named(repl, line)
    put_back = repl.session.remove(probes)
    names = ", ".join(f"#{probe.number} {probe.name}" for probe in probes)
    repl.screen.say(f"{names} · taken out · {counted(put_back, 'class')} put back")


def _edit(repl: Repl, line: Line) -> None:
    repl.require_target()
    if repl.terminal is None:
        raise UsageError(":edit needs a terminal", help=["in a file of commands, :rm the probe and enter the new one"])
    scripts_named = scripts.named(repl.session, line.words[0])
    if not scripts_named:
        raise UsageError("no probes are live")
    probes, old_text = scripts.edited(repl.session, scripts_named[0])
    if len(probes) > 1:
        repl.screen.note("its script has " + ", ".join(f"#{probe.number} {probe.name}" for probe in probes))
    text = repl.terminal.edit(old_text)
    if text is None:
        raise UsageError("the editor failed: the probe is unchanged", help=["set $EDITOR to one that works"])
    if text.strip() == old_text.strip():
        repl.screen.say("unchanged")
        return
    repl.replace(probes, text)


def _sample(repl: Repl, line: Line) -> None:
    repl.require_target()
    match = re.fullmatch(r"1[/:](\d{1,9})", line.words[1])
    if match is None or not int(match[1]):
        raise UsageError(f"{line.words[1]!r} is not a sampling rate", help=["one in a hundred: 1/100; all: 1/1"])
    every = int(match[1])
    for probe in scripts.named(repl.session, line.words[0]):
        probe.sample(None if every == 1 else f"1/{every}")
        repl.screen.say(f"#{probe.number} fires for every hit" if every == 1 else f"#{probe.number} sampled 1:{every}")


def _limit(repl: Repl, line: Line) -> None:
    repl.require_target()
    match = re.fullmatch(r"(\d{1,7})(?:/s)?|off", line.words[1])
    if match is None:
        raise UsageError(f"{line.words[1]!r} is not a limit", help=["at most fifty a second: 50/s; none: off"])
    rate = int(match[1] or 0)
    for probe in scripts.named(repl.session, line.words[0]):
        probe.limit(f"{rate}/s" if rate else None)
        repl.screen.say(f"#{probe.number} " + (f"limited to {rate}/s" if rate else "no longer limited"))


def _level(repl: Repl, line: Line) -> None:
    repl.require_target()
    if not line.words[0].isdecimal():
        raise UsageError("a level must be a number", help=["usage: :level 2"])
    repl.session.level(int(line.words[0]))
    repl.screen.say(f"level {line.words[0]}")


def _use(repl: Repl, line: Line) -> None:
    repl.add(f"use {line.rest}")


def _load(repl: Repl, line: Line) -> None:
    repl.load(Path(line.words[0]).expanduser())


def _save(repl: Repl, line: Line) -> None:
    live = scripts.shown(repl.session)
    if not live:
        raise UsageError("there are no probes to save")
    path = Path(line.words[0]).expanduser()
    text = scripts.saved(repl.session)
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} exists already", help=["save under another name, or remove it first"]) from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from None
    repl.screen.say(f"wrote {counted(len(live), 'probe')} to {path}")


def _ls(repl: Repl, line: Line) -> None:
    _list(repl, line.words[0], Detail(classes=_LISTED_CLASSES))


def _lines(repl: Repl, line: Line) -> None:
    _list(repl, line.words[0], Detail(lines=True, classes=_LISTED_CLASSES))


def _locals(repl: Repl, line: Line) -> None:
    line_text = line.words[1] if len(line.words) > 1 else ""
    if not line_text:
        _list(repl, line.words[0], Detail(locals=True, classes=_LISTED_CLASSES))
        return
    if not line_text.isdecimal():
        raise UsageError(f"{line_text!r} is not a line number", help=["usage: :locals CLASS::METHOD 142"])
    at = int(line_text)
    count = 0
    for probe in _listing(repl, line.words[0]):
        for class_ in probe.classes:
            for method in class_.methods:
                live = [local for local in method.locals if local.first <= at <= local.last]
                if method.lines and method.lines[0] <= at <= method.lines[-1]:
                    count += 1
                    repl.screen.say(f"{class_.name}.{signature(method)}")
                    repl.screen.say(
                        "\n".join(f"  {simple_name(local.type)} {local.name}" for local in live) or "  none"
                    )
    if not count:
        raise UsageError(f"line {at} is in none of the methods", help=[f":lines {line.words[0]}"])


def _listing(repl: Repl, pattern: str) -> tuple[ListedProbe, ...]:
    repl.require_target()
    if "#" in pattern:
        raise UsageError(f"{pattern!r} is not a pattern", help=[f"a method is written {pattern.replace('#', '::')}"])
    return repl.session.listing(pattern, most=_LISTED_CLASSES)


def _list(repl: Repl, pattern: str, detail: Detail) -> None:
    probes = _listing(repl, pattern)
    if not any(probe.classes or probe.unseen or probe.more for probe in probes):
        full = None if _members(repl, pattern.partition("::")[0]) else expanded(pattern, repl.metadata.classes)
        if full is not None:
            repl.screen.note(f"{pattern} is short for {full}")
            _list(repl, full, detail)
            return
        name, _, method = pattern.partition("::")
        class_members = _members(repl, name)
        if class_members:
            suggestion = did_you_mean(method, [method.name for members in class_members for method in members.methods])
            raise UsageError(f"{class_members[0].name} has no method {method}", help=[*suggestion, f":ls {name}"])
        near = [
            candidate.text
            for candidate in repl.metadata.classes.complete(simple_name(name), 3)
            if candidate.type_ is not None
        ]
        raise UsageError(f"no loaded class matches {pattern}", help=[f"nearest: {', '.join(near)}"] if near else [])
    for probe in probes:
        repl.screen.lines(
            listing_lines(probe, repl.screen.style, replace(detail, for_more="a narrower pattern shows them"))
        )


def _cls(repl: Repl, line: Line) -> None:
    _list(repl, line.words[0].partition("::")[0], Detail(full_names=True, classes=5))
    for members in _members(repl, line.words[0].partition("::")[0])[:5]:
        if members.fields:
            repl.screen.say(f"fields of {members.name}:")
            for field in members.fields:
                repl.screen.say(f"  {'static ' if field.static else ''}{field.type} {field.name}")


def _members(repl: Repl, pattern: str) -> list[Members]:
    from btpy.completion.candidates import matched

    return list(matched(pattern, repl.metadata))


def _src(repl: Repl, line: Line) -> None:
    repl.require_target()
    class_pattern, colons, method_name = line.words[0].partition("::")
    classes = _members(repl, class_pattern)
    if not classes:
        raise UsageError(
            f"no loaded class of that name has a class file: {class_pattern}", help=[f":ls {class_pattern}"]
        )
    members = classes[0]
    methods = [method for method in members.methods if not colons or method.name == method_name]
    if not methods:
        near = did_you_mean(method_name, [method.name for method in members.methods])
        raise UsageError(f"{members.name} has no method {method_name}", help=[*near, f":ls {members.name}"])
    lines = [number for method in methods for number in method.lines]
    first, last = (min(lines), max(lines)) if lines else (0, 0)
    source = find_source(repl.session, members.name, members.source_file, repl.source_paths)
    if source.text:
        text = source.text.split("\n")
        start = max(1, first - 1) if colons else 1
        end = last + 1 if colons and last else len(text)
        repl.screen.note(str(source.place))
        repl.screen.say(
            "\n".join(f"{number:>5}  {text[number - 1]}" for number in range(start, min(end, len(text)) + 1))
        )
        return
    repl.screen.say(f"no source of {members.name} ({members.source_file or 'its file is not known'}); looked at:")
    repl.screen.say("\n".join(f"  {place}" for place in source.looked_at))
    repl.screen.note(":set src DIRECTORY adds a place; this is the bytecode:")
    repl.screen.say(source.disassembly(methods[0]).rstrip("\n"))


def _maps(repl: Repl, line: Line) -> None:
    if not repl.session.maps:
        repl.screen.say("no probe has a map yet:  … { @hits[cls] = count() }")
        return
    rows = [("map", "what", "keys", "of", "full")]
    for title, kept in repl.maps.read().items():
        map_, entries, full = kept.content.map, kept.content.entries, kept.content.full
        rows.append((title, map_.kind.value, grouped(len(entries)), grouped(map_.capacity), grouped(full)))
    repl.screen.lines(columns(rows))
    repl.tell_age([title for title, *_ in rows[1:]])


def _map_name(line: Line) -> str:
    return line.words[0].removeprefix("@")


def _print(repl: Repl, line: Line) -> None:
    repl.print_map(_map_name(line), split_options(line.words[1:]))


def _plot(repl: Repl, line: Line) -> None:
    repl.print_map(_map_name(line), {}, plot=True)


def _clear(repl: Repl, line: Line) -> None:
    repl.require_target()
    name = _map_name(line)
    repl.content(name)
    repl.session.run(f"clear(@{name});")
    repl.screen.say(f"@{name} is empty")


def _flush(repl: Repl, line: Line) -> None:
    repl.require_target()
    name = _map_name(line)
    repl.content(name)
    repl.session.run(f"print(flush(@{name}));")


def _seconds(word: str, example: str) -> float:
    match = re.fullmatch(r"(\d{1,6}(?:\.\d+)?)(ms|s|m)", word)
    if match is None:
        raise UsageError(f"{word!r} is not a time", help=[f"example: {example}"])
    return float(match[1]) * {"ms": 0.001, "s": 1, "m": 60}[match[2]]


def _wait(repl: Repl, line: Line) -> None:
    time.sleep(_seconds(line.words[0], ":wait 10s"))


def _watch(repl: Repl, line: Line) -> None:
    name = _map_name(line)
    interval = max(0.1, _seconds(line.words[1], ":watch @map 2s")) if len(line.words) > 1 else 1.0
    repl.content(name)
    if repl.terminal is None:
        repl.print_map(name, {})
        return
    repl.terminal.watch(MapView(repl, name), interval)


def _last(repl: Repl, line: Line) -> None:
    count = _number(line.words[0], "how many") if line.words else _LAST
    _events(repl, repl.feed.recent.last(count))


def _grep(repl: Repl, line: Line) -> None:
    try:
        pattern = re.compile(line.rest)
    except re.error as error:
        raise UsageError(f"{line.rest!r} is not a regular expression: {error}") from None
    _events(repl, repl.feed.recent.grep(pattern)[-100:])


def _events(repl: Repl, events: list[Event]) -> None:
    if not events:
        repl.screen.say("no events" if repl.feed.recent.seen else "no events yet")
    for event in events:
        repl.screen.lines([f"{repl.screen.style.dim(f'{event.number:>6} {_clock(event.wall_nanos)}')} {event.text}"])


def _get(repl: Repl, line: Line) -> None:
    number = _number(line.words[0], "the number of an event")
    event = repl.feed.recent.get(number)
    if event is None:
        raise UsageError(f"event {number} is not kept", help=[":last shows the latest ones with their numbers"])
    repl.screen.lines([event.text])
    where = f" · {event.where}" if event.where else ""
    thread = f" · thread {event.thread}" if event.thread else ""
    repl.screen.note(f"event {event.number} · {_clock(event.wall_nanos)} · probe {event.probe}{thread}{where}")


def _number(word: str, expected: str) -> int:
    if not word.isdecimal():
        raise UsageError(f"{word!r} is not {expected}", help=["give a number"])
    return int(word)


def _clock(wall_nanos: int) -> str:
    return datetime.fromtimestamp(wall_nanos / 1e9).strftime("%H:%M:%S.%f")[:-3]


def _send(repl: Repl, line: Line) -> None:
    repl.require_target()
    names = [event.text for event in repl.metadata.events]
    if line.words[0] not in names:
        near = did_you_mean(line.words[0], names)
        known_events = (
            "probes listen to " + ", ".join(names) if names else f'@OnEvent("{line.words[0]}") {{ … }} listens to it'
        )
        raise UsageError(f"no probe listens to {line.words[0]!r}", help=[*near, known_events])
    repl.session.send(line.words[0])
    repl.screen.say(f"sent {line.words[0]}")


def _errors(repl: Repl, line: Line) -> None:
    errors = sorted(repl.feed.errors.totals.values(), key=lambda error: -error.count)
    if not errors:
        repl.screen.say("no probe has failed")
    for error in errors:
        at, column = error.span.source.position(error.span.start)
        problem = probe_error(error)
        remedy = f"  {problem.help[0]}" if problem.help else ""
        text = visible(error.span.text.split("\n")[0])
        repl.screen.say(
            f"{error.span.source.name}:{at}:{column}  {error.kind_name}  `{text}`  ×{grouped(error.count)}{remedy}"
        )


def _lost(repl: Repl, line: Line) -> None:
    repl.refresh()
    rows = [("probe", "cause", "lost")]
    for probe in scripts.shown(repl.session):
        for cause, count in repl.feed.lost(probe).items():
            rows.append((f"#{probe.number} {probe.name}", cause, grouped(count)))
    if repl.feed.unread:
        rows.append(("all", "came too fast", grouped(repl.feed.unread)))
    if len(rows) == 1:
        repl.screen.say("nothing was lost")
        return
    repl.screen.lines(columns(rows))


def _set(repl: Repl, line: Line) -> None:
    values = {
        "vi": "on" if repl.vi else "off",
        "rate": str(repl.feed.rate_shown),
        "show": "on" if repl.feed.showing else "off",
        "src": ", ".join(map(str, repl.source_paths)) or "none",
    }
    if not line.words:
        repl.screen.lines(columns([(name, values[name], doc) for name, (_, doc) in SETTINGS.items()]))
        return
    name, _, assigned = line.words[0].partition("=")
    value = assigned or (line.words[1] if len(line.words) > 1 else "")
    if name not in SETTINGS:
        raise UsageError(f"there is no setting {name}", help=[*did_you_mean(name, SETTINGS), ":set lists them"])
    expected = SETTINGS[name][0]
    if name == "rate":
        repl.feed.rate_shown = _number(value, f"a rate ({expected})")
    elif name == "src":
        path = Path(value).expanduser()
        if not path.exists():
            raise UsageError(f"{path} does not exist", help=["a directory of sources, or a jar of them"])
        repl.source_paths.append(path)
    elif value not in ("", "on", "off"):
        raise UsageError(f"{name} must be on or off, not {value!r}")
    elif name == "vi":
        repl.vi = value != "off"
    else:
        repl.feed.showing = value != "off"
    repl.screen.say(f"{name} {value or 'on'}")


def _param(repl: Repl, line: Line) -> None:
    if not line.words:
        rows = [(name, text) for name, text in repl.parameters.items()]
        repl.screen.lines(
            columns([("parameter", "value"), *rows]) if rows else ["no parameters are set:  :param slow=20ms"]
        )
        return
    name, equals, text = line.words[0].partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"{line.words[0]!r} is not an assignment", help=["usage: :param slow=20ms"])
    repl.parameters[name] = text
    repl.screen.say(f"{name} = {text}, for scripts that are entered from now on and declare it")


def _history(repl: Repl, line: Line) -> None:
    count = _number(line.words[0], "how many") if line.words else 20
    first = max(0, len(repl.entered) - 1 - count)
    for number, text in list(enumerate(repl.entered[:-1], 1))[first:]:
        repl.screen.say(f"{number:>4}  " + text.replace("\n", "\n      "))


def _detach(repl: Repl, line: Line) -> None:
    repl.require_target()
    _leave(repl)


def _leave(repl: Repl) -> None:
    receipt = repl.session.detach()
    repl.detached = True
    repl.feed.finish()
    lost_count = sum(account.dropped for account in receipt.accounts)
    took = clock(time.monotonic() - repl.began)
    parts = [restored_classes(receipt), f"{grouped(lost_count)} lost", f"after {took}"]
    if not repl.quiet:
        repl.screen.say(" · ".join(parts))
    try:
        receipt.require_clean(repl.session.target.pid)
    except LeftBehind as error:
        repl.left_behind = True
        repl.screen.error(error)


def _keep(repl: Repl) -> None:
    """Lets the probes continue without btpy. If it raises UsageError, the session is unchanged."""
    id_ = repl.session.leave(_KEPT_SECONDS)
    repl.detached = repl.ended = True
    repl.feed.finish()
    pid = repl.session.target.pid
    repl.screen.say(f"session {id_} goes on for 1 h: btpy attach {pid} {id_} · btpy stop {pid} {id_}")


def _quit(repl: Repl, line: Line) -> None:
    if not repl.left:
        live = len(scripts.shown(repl.session))
        if live and repl.terminal is not None:
            are = "probe is" if live == 1 else "probes are"
            question = f"{live} {are} live — [d]etach (restore classes)  [k]eep running for 1 h  [c]ancel? "
            answer = repl.terminal.choose(question, "dkc")
            if answer == "c":
                return
            if answer == "k":
                _keep(repl)
                return
        _leave(repl)
    repl.ended = True


def _help(repl: Repl, line: Line) -> None:
    repl.screen.say(page(line.words[0].lstrip(":") if line.words else ""))


def _doctor(repl: Repl, line: Line) -> None:
    for step in examine(str(repl.session.target.pid)):
        if step.outcome is not Outcome.UNTESTED:
            repl.screen.say(f"{step.outcome.value:<7}  {step.name:<16}  {step.detail}")
            for remedy in step.help:
                repl.screen.say(f"{'':27}{remedy}")


def _explain(repl: Repl, line: Line) -> None:
    code = line.words[0].upper().strip("[]")
    code = code if code.startswith("BT") else f"BT{code}"
    all_explanations = explanations()
    if code not in all_explanations:
        raise UsageError(f"there is no code {line.words[0]}", help=list(did_you_mean(code, all_explanations)))
    repl.screen.say(all_explanations[code].page.rstrip("\n"))


ACTIONS: dict[str, Action] = {
    "probes": _probes,
    "show": _show,
    "enable": partial(_switch, on=True),
    "disable": partial(_switch, on=False),
    "rm": _rm,
    "edit": _edit,
    "sample": _sample,
    "limit": _limit,
    "level": _level,
    "ls": _ls,
    "cls": _cls,
    "lines": _lines,
    "locals": _locals,
    "src": _src,
    "maps": _maps,
    "print": _print,
    "clear": _clear,
    "flush": _flush,
    "watch": _watch,
    "plot": _plot,
    "last": _last,
    "get": _get,
    "grep": _grep,
    "wait": _wait,
    "send": _send,
    "set": _set,
    "param": _param,
    "use": _use,
    "errors": _errors,
    "lost": _lost,
    "save": _save,
    "load": _load,
    "history": _history,
    "detach": _detach,
    "quit": _quit,
    "help": _help,
    "explain": _explain,
    "doctor": _doctor,
}
