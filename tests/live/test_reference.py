"""The example of every word of the language, run on the shop."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from btpy.lang.edit.reference import examples
from btpy.lang.syntax import parser
from btpy.model.source import Source
from examples.shop.build_shop import MAIN
from tests.examples.shop import shop_jar
from tests.targets import target
from tests.tracer import Tracer, tracing

ALONE = {"exit", "heap_dump", "OnProbe", "event", "static_check", "btpy", "import", "use", "param", "config", "map"}
"""Words whose example ends the run, needs a permission, or has declarations that two scripts cannot share."""

FAILS_ON_PURPOSE = {"OnError", "error"}


def renamed(number: int, text: str) -> str:
    """The script with maps of its own."""
    out, end = "", 0
    for kind, token, start in parser.tokens(Source("a", text)):
        out += text[end:start] + (f"@e{number}_{token[1:]}" if kind in ("MAP", "MAPK") else token)
        end = start + len(token)
    return out + text[end:]


def texts() -> dict[str, str]:
    return {
        f"{table}.{word}": text
        for table, rows in examples().items()
        for word, text in rows.items()
        if table != "settings" and word not in ALONE
    }


Run = tuple[dict[str, int], set[str]]
"""Hits by probe, and the kinds of errors."""


def run(*scripts: Path) -> list[Run]:
    """Runs each script in a session of its own; all sessions trace the same shop."""
    options = ["--requests", "307", "--rate", "0", "--gate"]
    with target(17, MAIN, *options, classpath=[shop_jar()], flags=["-XX:TieredStopAtLevel=1"]) as shop:
        with ExitStack() as stack:
            tracers = [
                stack.enter_context(tracing(shop.pid, script, "--pending", "--level", "2")) for script in scripts
            ]
            shop.send()
            shop.wait_for("counts ")
            for script, tracer in zip(scripts, tracers, strict=True):
                assert (tracer.wait() if "exit(" in script.read_text("utf-8") else tracer.stop()) == 0, tracer.stderr
        shop.send()
        assert shop.wait() == 0
        assert shop.stderr == []
    return [figures(tracer) for tracer in tracers]


def figures(tracer: Tracer) -> Run:
    (end,) = tracer.of("end")
    assert end["produced"] == end["delivered"] + end["dropped"], end
    return {probe["probe"]: probe["hits"] for probe in end["probes"]}, {
        event["kind"] for event in tracer.of("probe_error")
    }


@pytest.fixture(scope="module")
def runs_alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """The examples that need a session of their own."""
    directory = tmp_path_factory.mktemp("examples")
    scripts = {word: directory / f"{word}.bt" for word in sorted(ALONE - {"heap_dump"} | FAILS_ON_PURPOSE)}
    for word, script in scripts.items():
        (text,) = [rows[word] for rows in examples().values() if word in rows]
        script.write_text(text, encoding="utf-8")
    return dict(zip(scripts, run(*scripts.values()), strict=True))


def test_examples_run(tmp_path: Path) -> None:
    scripts = [
        renamed(number, text)
        for number, (word, text) in enumerate(texts().items())
        if word.partition(".")[2] not in FAILS_ON_PURPOSE
    ]
    script = tmp_path / "examples.bt"
    script.write_text("\n".join(scripts), encoding="utf-8")
    ((hits, errors),) = run(script)
    # The shop has no library that keeps a context, and on a busy machine a sample of threads takes long.
    assert errors <= {"no-context", "fewer-samples"}
    silent = [probe for probe, count in hits.items() if not count]
    assert len(silent) < len(hits) / 10, silent


@pytest.mark.parametrize("word", sorted(ALONE - {"heap_dump"} | FAILS_ON_PURPOSE))
def test_example_alone(word: str, runs_alone: dict[str, Run]) -> None:
    hits, errors = runs_alone[word]
    assert errors == ({"div-zero"} if word in FAILS_ON_PURPOSE else set())
    assert any(hits.values())
