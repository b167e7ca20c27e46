"""``btpy demo``: traces the Java program that comes with btpy, for a while."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command, seconds
from btpy.errors import BtpyError

if TYPE_CHECKING:
    from pathlib import Path

    from btpy.children import TextProcess

COMMAND = Command(
    name="demo",
    usage=("demo",),
    summary="start a small Java shop, trace it, leave it as it was",
    about=(
        "Starts the web shop that comes with btpy and traces its orders, quotes and refused payments for 20 seconds\n"
        "(BTPY_DEMO_SECONDS). The script is printed first; you can copy and change it."
    ),
    options=(),
    positionals=(0, 0),
    examples=(
        ("demo", "shows an example of tracing, with its script"),
        ("ps", "meanwhile, in another terminal: the JVM that it has started"),
    ),
)

_MAIN = "com.acme.shop.OrderApp"  # the name that finds the shop in another terminal: `btpy OrderApp`

SCRIPT = """\
// Large orders as they come in: arguments at entry.
@OnMethod(class="com.acme.shop.OrderService", method="place", location=ENTRY)
probe large(String customer, int quantity, ..) when quantity >= 20 {
  print(f"{customer:<10} orders {quantity} pieces");
}

// Slow quotes: the return value and how long it took.
com.acme.shop.PricingEngine::quote @return when duration > 20ms {
  print(f"{arg0:<10} {retval} in {duration}");
}

// Refused payments: the exception, and its stack.
com.acme.shop.PaymentGateway::charge @throw {
  print(f"{typeof(exception)}: {message(exception)}");
  print(stack(exception, 3));
}

// Every quote: a latency histogram, counted inside the JVM.
com.acme.shop.PricingEngine::quote @exit {
  @latency = hist(duration);
}
"""


def run(arguments: Arguments, console: Console) -> int:
    from btpy.api import jvms
    from btpy.cli.run_script import trace
    from btpy.cli.script import compile_source
    from btpy.cli.settings import Settings
    from btpy.model.source import Source

    text = os.environ.get("BTPY_DEMO_SECONDS", "20")
    limit = seconds("BTPY_DEMO_SECONDS", text if text[-1:].isalpha() else f"{text}s")
    with _shop() as pid:
        console.say(f"started the shop: JVM {pid}\n\n{SCRIPT}")
        source = Source("demo.bt", SCRIPT)
        return trace(lambda: compile_source(source), jvms.describe(pid), Settings(limit=limit), console)


@contextmanager
def _shop() -> Iterator[int]:
    """The shop's JVM. The shop ends when its standard input is closed, even if btpy was killed."""
    from btpy import children

    with _jar() as jar:
        java = _java()
        command = [java, "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading", "-cp", str(jar), _MAIN]
        shop = children.start(  # only btpy gets Ctrl-C, and then ends the shop
            [*command, "--exit-with-stdin"],
            inherited=(*children.LOCALE, "TZ"),
            stdin=children.PIPE,
            stdout=children.PIPE,
        )
        try:
            yield _ready(shop)
        finally:
            assert shop.stdin is not None
            assert shop.stdout is not None
            shop.stdin.close()
            try:
                shop.wait(timeout=5)
            except children.TimeoutExpired:
                shop.kill()
                shop.wait()
            shop.stdout.close()


@contextmanager
def _jar() -> Iterator[Path]:
    from importlib import resources

    packaged = resources.files("btpy") / "_demo" / "shop.jar"
    if not packaged.is_file():
        raise BtpyError("the shop is missing from the installation (btpy/_demo/shop.jar)")
    with resources.as_file(packaged) as path:
        yield path


def _java() -> str:
    from btpy.api.attaching import attach_home

    return str(attach_home() / "bin" / "java")


def _ready(shop: TextProcess) -> int:
    """The pid, once the shop serves requests. The shop then prints ``ready port=… pid=…``."""

    assert shop.stdout is not None
    line = shop.stdout.readline()
    words = dict(word.partition("=")[::2] for word in line.split())
    if not line.startswith("ready") or not words.get("pid", "").isdecimal():
        raise BtpyError(f"the shop did not start: {line.strip() or 'it printed nothing'}")
    return int(words["pid"])
