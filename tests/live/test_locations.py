"""Every location inside a method: each place fires a known number of times, with the program's values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.jdks import all_jdks, compiled
from tests.targets import target
from tests.tracer import Tracer, tracing

JAVA = Path(__file__).parent.parent / "java"
SOURCES = [JAVA / f"{name}.java" for name in ("Gate", "Locations")]
TEXT = (JAVA / "Locations.java").read_text(encoding="utf-8")

Event = dict[str, Any]


def line_of(mark: str) -> int:
    """The line with the comment ``// @mark``, or the only line with the text ``mark``."""
    (number,) = [at for at, line in enumerate(TEXT.split("\n"), 1) if line.endswith(f"// @{mark}") or mark in line]
    return number


@contextmanager
def traced(jdk: int, tmp_path: Path, script: str) -> Iterator[Tracer]:
    """Runs two rounds of the program, the first with the probes and the second without. Both rounds must print the same
    result.
    """
    classes = compiled(SOURCES)
    path = tmp_path / "locations.bt"
    path.write_text(script)
    with target(jdk, "Locations", classpath=[classes], flags=["-Xverify:all"]) as plain:
        plain.send()
        plain.wait_for("round 1")
        plain.send()
        plain.wait_for("round 2")
        expected = plain.stdout
    with target(jdk, "Locations", classpath=[classes], flags=["-Xverify:all"]) as program:
        with tracing(program.pid, path) as tracer:
            program.send()
            program.wait_for("round 1")
            assert tracer.stop() == 0, tracer.stderr
            tracer.check_complete()
            program.send()
            program.wait_for("round 2")
            yield tracer
        program.send()
        assert program.wait() == 0
        assert program.stdout == expected
        assert program.stderr == []


def in_order(tracer: Tracer, name: str, values: Callable[[int], Event | None], count: int) -> None:
    """Checks the events of this name: their values are ``values`` of each call, in order."""
    expected = [value for value in map(values, range(count)) if value is not None]
    assert tracer.events(name) == expected


CALLS = r"""
@OnMethod(class="Locations", method="calls", location=CALL(class="Locations$Part", method="twice"))
{ emit("before", id=target.id, given=targs, n=arg0, of=target_class, name=target_method, line=line) }

@OnMethod(class="Locations", method="calls", location=CALL(class="Locations$Part", method="twice", when=AFTER))
{ emit("after", id=target.id, first=targs[0], text=targs[1], ratio=targs[3], result=retval, failed=exception != null,
       timed=duration >= 0ns) }

@OnMethod(class="Locations", method="calls", location=CALL(method="sum", type="long (long, int)", when=AFTER))
{ emit("static", result=retval, target=target, given=targs) }

@OnMethod(class="Locations", method="calls", location=CALL(method="fail", when=AFTER))
{ emit("fail", message=message(exception), why=targs[0], timed=duration >= 0ns) }

@OnMethod(class="Locations", method="calls", location=CALL(method="rest"))
{ emit("rest", now=targs[0], at_entry=arg0, depth=depth) }

@OnMethod(class="Locations", method="calls", location=CALL(class="Locations$Part", method="<init>", when=AFTER))
{ emit("constructed", id=target.id, given=targs[0]) }

@OnMethod(class="Locations", method="calls", location=CALL(class="Locations*", type="void (..)"))
{ @void[target_class, target_method] = count(); }

@OnMethod(class="Locations", method="calls", location=[CALL, CALL(when=AFTER)])
{ @calls[target_method] = count(); }
"""


@all_jdks
def test_calls(jdk: int, tmp_path: Path) -> None:
    line = line_of("part.twice(n,")
    with traced(jdk, tmp_path, CALLS) as tracer:
        part = "Locations$Part"

        def given(n: int) -> list[Any]:
            return [n, f"l{n}", 2**40 + n, n / 2]

        def before(n: int) -> Event:
            return {"id": n, "given": given(n), "n": n, "of": part, "name": "twice", "line": line}

        def after(n: int) -> Event:
            result = n * 2 + len(f"l{n}") + n + n // 2
            common = {"id": n, "first": n, "text": f"l{n}", "ratio": n / 2, "result": result}
            return {**common, "failed": False, "timed": True}

        def fail(n: int) -> Event:
            why = None if n % 3 == 0 else f"why {n}"
            return {"message": why, "why": why, "timed": True}

        in_order(tracer, "before", before, 13)
        in_order(tracer, "after", after, 13)
        in_order(tracer, "static", lambda n: {"result": n + 5, "target": None, "given": [n, 5]}, 13)
        in_order(tracer, "fail", fail, 13)
        in_order(tracer, "rest", lambda n: {"now": -1, "at_entry": n, "depth": 0}, 13)
        in_order(tracer, "constructed", lambda n: {"id": n, "given": n}, 13)
        maps = tracer.maps()
        failures = 13 - 5
        assert maps["void"] == {
            f"{part},<init>": 13,
            f"{part},fail": 13,
            f"{part},rest": 13,
            "Locations,add": 2 * 13 + failures,
        }
        calls = {
            name: count for name, count in maps["calls"].items() if name in ("twice", "sum", "fail", "rest", "add")
        }
        assert calls == {"twice": 26, "sum": 26, "fail": 26, "rest": 26, "add": 2 * (26 + failures)}


OBJECTS = r"""
@OnMethod(class="Locations", method="objects", location=NEW(class="Locations$Part"))
{ emit("new", id=target.id, of=target_class, size=shallow_size(target)) }

@OnMethod(class="Locations", method=["objects", "exceptions"], location=NEW(class="+java.lang.Exception"))
{ @exceptions[method, target_class] = count(); }

@OnMethod(class="Locations", method="arrays", location=NEWARRAY)
{ emit("array", of=target_class, size=size, length=length, len=len(target), line=line) }

@OnMethod(class="Locations", method="arrays", location=NEWARRAY(type="byte[]"))
when size > 16B { @bytes = sum(size); @sized[length] = count(); }

@OnMethod(class="Locations", method="arrays", location=NEWARRAY(type="java.lang.*[]"))
{ @words = count(); }
"""


@all_jdks
def test_objects_and_arrays(jdk: int, tmp_path: Path) -> None:
    with traced(jdk, tmp_path, OBJECTS) as tracer:
        results = []
        for n in range(11):
            results += [n, n + 100, *([n] if n % 2 else [])]  # the third constructor call throws for even numbers
        assert tracer.events("new") == [{"id": id_, "of": "Locations$Part", "size": 16} for id_ in results]
        assert tracer.maps()["exceptions"] == {
            "exceptions,java.lang.IllegalArgumentException": 10,
            "exceptions,java.lang.IllegalStateException": 9,
        }
        events = tracer.events("array")
        assert len(events) == 7 * 6
        first = line_of("new byte[n]")

        def padded(size: int) -> int:
            return (16 + size + 7) // 8 * 8

        for n in range(7):
            arrays = [
                ("byte[]", n, padded(n)),
                ("int[][]", n, padded(4 * n) + n * padded(12)),
                ("long[][][]", 2, padded(8) + 2 * padded(4 * n)),
                ("java.lang.String[]", 2, padded(8)),
                ("boolean[]", 1, padded(1)),
                ("double[]", 1, padded(8)),
            ]
            assert events[6 * n : 6 * n + 6] == [
                {"of": of, "size": size, "length": length, "len": length, "line": first + at}
                for at, (of, length, size) in enumerate(arrays)
            ]
        maps = tracer.maps()
        assert maps["bytes"] == 6 * 24
        assert maps["sized"] == {str(n): 1 for n in range(1, 7)}
        assert maps["words"] == 7


ACCESS = r"""
@OnMethod(class="Locations", method="fields", location=FIELD_SET(class="Locations", field="count"))
{ emit("count", old=oldval, new=newval, field=field, of=target_class, mine=target == self, n=arg0) }

@OnMethod(class="Locations", method="fields", location=FIELD_SET(class="Locations", field="label"))
when newval != oldval { emit("label", old=oldval, new=newval) }

@OnMethod(class="Locations", method="fields", location=FIELD_SET(field="shared"))
{ emit("shared", old=oldval, new=newval, target=target) }

@OnMethod(class="Locations", method="fields", location=FIELD_GET(class="Locations", field="shared"))
{ emit("read", value=retval, target=target, line=line) }

@OnMethod(class="Locations", method="fields", location=[FIELD_GET, FIELD_SET])
{ @accesses[field] = count(); }

@OnMethod(class="Locations*", method="objects", location=FIELD_GET(class="Locations$Part"))
{ @foreign[field, target.id == retval] = count(); }

@OnMethod(class="Locations", method="arrays", location=ARRAY_SET(type="byte[]"))
{ emit("byte", index=index, new=newval, old=target[index]) }

@OnMethod(class="Locations", method="arrays", location=ARRAY_SET(type="boolean[]"))
{ emit("flag", new=newval) }

@OnMethod(class="Locations", method="arrays", location=ARRAY_SET(type="java.lang.String[]"))
{ emit("word", index=index, new=newval, old=target[index]) }

@OnMethod(class="Locations", method="arrays", location=ARRAY_GET(type="int[]"))
{ emit("int", index=index, value=retval) }

@OnMethod(class="Locations", method="arrays", location=ARRAY_GET(type="double[]"))
{ emit("double", index=index, value=retval, len=len(target)) }

@OnMethod(class="Locations", method="arrays", location=ARRAY_GET)
{ @reads = count(); }
"""


@all_jdks
def test_fields_and_elements(jdk: int, tmp_path: Path) -> None:
    with traced(jdk, tmp_path, ACCESS) as tracer:
        labels = ["none"]
        totals = [0]
        for n in range(17):
            labels.append(labels[-1] if n % 5 == 0 else f"label {n}")
            totals.append(totals[-1] + (n << 33))

        def count(n: int) -> Event:
            new = {"old": max(0, 2 * n - 2), "new": 2 * n, "field": "count", "of": "Locations"}
            return {**new, "mine": True, "n": n}

        def label(n: int) -> Event | None:
            return {"old": labels[n], "new": labels[n + 1]} if n % 5 else None

        in_order(tracer, "count", count, 17)
        in_order(tracer, "label", label, 17)
        in_order(tracer, "shared", lambda n: {"old": totals[n], "new": totals[n + 1], "target": None}, 17)
        first = line_of("shared = shared +")
        reads = [(totals[n + after], first + after) for n in range(17) for after in (0, 1)]
        assert tracer.events("read") == [{"value": value, "target": None, "line": line} for value, line in reads]
        maps = tracer.maps()
        assert maps["accesses"] == {"count": 34, "label": 34 + 4, "shared": 51}
        assert maps["foreign"] == {"id,true": 11 + 2 * 5}
        in_order(tracer, "byte", lambda n: {"index": n - 1, "new": -n, "old": 0} if n else None, 7)
        in_order(tracer, "flag", lambda n: {"new": n > 3}, 7)
        words = [{"index": 0, "new": "a", "old": None}, {"index": 1, "new": "b", "old": None}]
        expected = [word for n in range(7) for word in (*words, {"index": n % 2, "new": f"w{n}", "old": "ab"[n % 2]})]
        assert tracer.events("word") == expected
        in_order(tracer, "int", lambda n: {"index": 2, "value": n * 1000} if n else None, 7)
        ratios = [{"index": 0, "value": value, "len": 1} for n in range(7) for value in (0.5, 0.5 + n)]
        assert tracer.events("double") == ratios
        assert maps["reads"] == 6 * 4 + 7 * 4


TYPES = r"""
@OnMethod(class="Locations", method="types", location=INSTANCEOF(type="java.lang.String"))
{ emit("string", target=target, is=retval, of=target_class) }

@OnMethod(class="Locations", method="types", location=INSTANCEOF)
{ @tests[target_class, retval] = count(); }

@OnMethod(class="Locations", method="types", location=CAST(type="java.lang.Number"))
{ emit("number", target=target, of=target_class, line=line) }

@OnMethod(class="Locations", method="types", location=CAST)
{ @casts[target_class] = count(); }

@OnMethod(class="Locations", method="exceptions", location=RAISE)
{ emit("raised", message=message(exception), line=line, all=locals(), half=$half) }

@OnMethod(class="Locations", method="exceptions", location=RAISE(type="+java.lang.IllegalArgumentException"))
{ @raised = count(); }

@OnMethod(class="Locations", method="exceptions", location=CATCH)
{ emit("caught", message=message(exception), kind=typeof(exception), all=locals()) }

@OnMethod(class="Locations", method="exceptions", location=CATCH(type="java.lang.IllegalStateException"))
{ @caught[line] = count(); }
"""


@all_jdks
def test_types_and_exceptions(jdk: int, tmp_path: Path) -> None:
    with traced(jdk, tmp_path, TYPES) as tracer:
        values = ["text", 5, None, 2.5, "more"]
        strings = [{"target": value, "is": isinstance(value, str), "of": "java.lang.String"} for value in values]
        assert tracer.events("string") == strings
        number = line_of("((Number) value)")
        assert tracer.events("number") == [
            {"target": value, "of": "java.lang.Number", "line": number} for value in (5, 2.5)
        ]
        maps = tracer.maps()
        assert maps["tests"] == {
            "java.lang.String,true": 2,
            "java.lang.String,false": 3,
            "java.lang.Number,true": 2,
            "java.lang.Number,false": 3,
        }
        assert maps["casts"] == {"java.lang.String": 2, "java.lang.Number": 2}
        even, odd = line_of('throw new IllegalArgumentException("even'), line_of('throw new IllegalStateException("odd')

        def raised(n: int) -> Event:
            message, half = f"odd {n}" if n % 2 else f"even {n}", n // 2 + n
            return {"message": message, "line": odd if n % 2 else even, "all": {"n": n, "half": half}, "half": half}

        def caught(n: int) -> Event:
            kind = "IllegalStateException" if n % 2 else "IllegalArgumentException"
            message = f"odd {n}" if n % 2 else f"even {n}"
            return {"message": message, "kind": f"java.lang.{kind}", "all": {"n": n, "half": n // 2 + n}}

        in_order(tracer, "raised", raised, 19)
        in_order(tracer, "caught", caught, 19)
        assert maps["raised"] == 10
        assert maps["caught"] == {str(line_of("catch (RuntimeException e)")): 9}


MONITORS = r"""
@OnMethod(class="Locations", method="monitors", location=[SYNC_ENTER, SYNC_EXIT, SYNC_EXIT(when=AFTER)])
{ @monitors[typeof(lock), lock == self.monitor] = count(); }

@OnMethod(class="Locations", method="monitors", location=SYNC_ENTER(when=AFTER))
{ emit("entered", waited=duration >= 0ns, mine=lock == self.monitor, n=arg0) }

@OnMethod(class="Locations", method="monitors", location=SYNC_EXIT)
{ @left[line] = count(); }

@OnMethod(class="Locations", method="synchronizedMethod", location=[SYNC_ENTER(when=AFTER), SYNC_EXIT])
{ @own[lock == self] = count(); }
"""


@all_jdks
def test_monitors(jdk: int, tmp_path: Path) -> None:
    with traced(jdk, tmp_path, MONITORS) as tracer:
        maps = tracer.maps()
        assert maps["monitors"] == {"java.lang.Object,true": 3 * 23}
        in_order(tracer, "entered", lambda n: {"waited": True, "mine": True, "n": n}, 23)
        assert sum(maps["left"].values()) == 23
        assert maps["own"] == {"true": 2 * 5}


LINES = """
@OnMethod(class="Locations", method="lines", location=LINE({loop}))
{{ emit("loop", i=$i, sum=$sum, n=$n, line=line) }}

@OnMethod(class="Locations", method="lines", location=LINE({last}))
{{ emit("last", all=locals(), at_entry=arg0, timed=duration >= 0ns) }}

@OnMethod(class="Locations", method="lines", location=LINE({first}..{second}))
{{ emit("range", line=line, sum=$sum, text=$text, n=$n) }}

@OnMethod(class="Locations", method="lines", location=LINE)
{{ @lines[line] = count(); }}

@OnMethod(class="Locations", method="*", location=LINE({text}))
{{ print(locals()); @only[method] = count(); }}
"""


@all_jdks
def test_lines(jdk: int, tmp_path: Path) -> None:
    marks = {mark: line_of(f"@{mark}") for mark in ("first", "second", "loop", "text", "last")}
    with traced(jdk, tmp_path, LINES.format(**marks)) as tracer:
        sums = [[n + sum(range(i)) for i in range(n + 1)] for n in range(3)]
        assert tracer.events("loop") == [
            {"i": i, "sum": sum_, "n": n, "line": marks["loop"]} for n in range(3) for i, sum_ in enumerate(sums[n])
        ]

        def variables(n: int) -> Event:
            total = n + sum(range(n + 1))
            return {"n": 99, "apiToken": "•••", "sum": total, "ratio": n / 4, "text": f"t{total}"}

        in_order(tracer, "last", lambda n: {"all": variables(n), "at_entry": n, "timed": True}, 3)
        assert tracer.events("range") == [
            {"line": marks[mark], "sum": None if mark == "first" else n, "text": None, "n": n}
            for n in range(3)
            for mark in ("first", "second")
        ]
        lines = Counter({str(line): 3 for line in range(marks["first"], marks["last"] + 2)})
        header = marks["loop"] - 1
        lines[str(header)] = 3 + 6  # the loop's header has two beginnings: before the first turn, and after each turn
        lines[str(marks["loop"])] = 6
        del lines[str(marks["loop"] + 1)]  # the loop's closing brace has no code
        assert tracer.maps()["lines"] == lines
        assert tracer.maps()["only"] == {"lines": 3}
        pattern = re.compile(r"n=(\d), apiToken=•••, sum=\d+, ratio=[\d.]+")
        assert [match[1] for match in map(pattern.fullmatch, tracer.printed()) if match] == ["0", "1", "2"]


@all_jdks
def test_everything_at_once(jdk: int, tmp_path: Path) -> None:
    """All scripts together have several probes at one instruction, and each of these probes fires."""
    marks = {mark: line_of(f"@{mark}") for mark in ("first", "second", "loop", "text", "last")}
    scripts = [CALLS, OBJECTS, ACCESS, TYPES, MONITORS, LINES.format(**marks)]
    with traced(jdk, tmp_path, "\n".join(scripts)) as tracer:
        names = Counter(record["name"] for record in tracer.of("event"))
        assert names == {
            **dict.fromkeys(("before", "after", "static", "fail", "rest", "constructed"), 13),
            "new": 27,
            "array": 42,
            "count": 17,
            "label": 13,
            "shared": 17,
            "read": 34,
            "byte": 6,
            "flag": 7,
            "word": 21,
            "int": 6,
            "double": 14,
            "string": 5,
            "number": 2,
            "raised": 19,
            "caught": 19,
            "entered": 23,
            "loop": 6,
            "last": 3,
            "range": 6,
        }


PLACES = {
    'CALL(class="Locations$Part", method="twice")': ("calls", 13),
    'CALL(class="Locations$Part", method="twice", when=AFTER)': ("calls", 13),
    'NEW(class="Locations$Part")': ("calls", 13),
    'NEWARRAY(type="byte[]")': ("arrays", 7),
    'ARRAY_SET(type="boolean[]")': ("arrays", 7),
    'ARRAY_GET(type="boolean[]")': ("arrays", 7),
    'FIELD_SET(field="count")': ("fields", 17),
    'FIELD_GET(field="count")': ("fields", 17),
    'INSTANCEOF(type="String")': ("types", 5),
    'CAST(type="Number")': ("types", 2),
    "RAISE": ("exceptions", 19),
    "CATCH": ("exceptions", 19),
    "SYNC_ENTER": ("monitors", 23),
    "SYNC_ENTER(when=AFTER)": ("monitors", 23),
    "SYNC_EXIT": ("monitors", 23),
    "SYNC_EXIT(when=AFTER)": ("monitors", 23),
    "LINE({last})": ("lines", 3),
    "ENTRY": ("monitors", 23),
    "RETURN": ("monitors", 23),
    "EXIT": ("monitors", 23),
}

EVERYWHERE = """
emit("p{index}", self=typeof(self), first=arg0, given=args[0] == arg0, depth=depth, cls=cls, method=method,
     line=line > 0, signature=signature, probe=probe, loader=loader, tid=tid > 0, of_thread=thread_name,
     virtual=is_virtual, now=now > 0, nanos=nanos != 0, pid=pid);
"""


@all_jdks
def test_variables_of_every_place_exist_at_every_location(jdk: int, tmp_path: Path) -> None:
    script = []
    for index, (location, (method, _)) in enumerate(PLACES.items()):
        place = location.format(last=line_of("@last"))
        body = EVERYWHERE.format(index=index)
        script.append(f'@OnMethod(class="Locations", method="{method}", location={place}) probe p{index} {{ {body} }}')
    with traced(jdk, tmp_path, "\n".join(script)) as tracer:
        for index, (location, (method, times)) in enumerate(PLACES.items()):
            events = tracer.events(f"p{index}")
            assert len(events) == times, location
            for event in events:
                assert event.pop("pid") > 1
                event.pop("first")
                event.pop("signature")
                assert event == {
                    "self": "Locations",
                    "given": True,
                    "depth": 0,
                    "cls": "Locations",
                    "method": method,
                    "line": True,
                    "probe": f"p{index}",
                    "loader": "app",
                    "tid": True,
                    "of_thread": "main",
                    "virtual": False,
                    "now": True,
                    "nanos": True,
                }, location
