"""Writes docs/pictures: btpy on a real terminal with real keys, on the demonstration shop. make pictures

Each picture is a screen of tmux, as SVG. Needs tmux and rich.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # this script runs as a file, and imports from tests/

from tests.jdks import java  # noqa: E402
from tests.targets import Target  # noqa: E402
from tests.terminal.tmux import Terminal, terminal  # noqa: E402

COLUMNS, LINES = 100, 26
_MANY_LINES = 54
_SHOP = HERE.parent / "btpy" / "_demo" / "shop.jar"
_DARK = [(24, 26, 31), (224, 108, 117), (152, 195, 121), (229, 192, 123)]
_DARK += [(97, 175, 239), (198, 120, 221), (86, 182, 194), (171, 178, 191)]
_THEME = TerminalTheme(_DARK[0], (214, 216, 221), _DARK, [(92, 99, 112), *_DARK[1:7], (255, 255, 255)])
# Rich's own template loads a font from a web site; this one uses the fonts of the reader.
_SVG = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: \
{char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />\
</clipPath>{lines}</defs>
<rect fill="#181a1f" x="1" y="1" width="{terminal_width}" height="{terminal_height}" rx="8" />
<g transform="translate({terminal_x}, 9)" clip-path="url(#{unique_id}-clip-terminal)">{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


def prompt(screen: Terminal) -> None:
    screen.wait_for("shop>")
    screen.enter("com.acme.shop.PricingEngine::quote @return when durration > 1ms { @lat = hist(duration) }")
    screen.wait_for("did you mean")
    screen.press("C-c")
    screen.enter("com.acme.shop.PricingEngine::quote @return when duration > 1ms { @lat = hist(duration) }")
    screen.wait_for("enabled in")
    screen.enter("com.acme.shop.OrderService::place @throw { print(typeof(exception)) }")
    screen.wait_for("OutOfStock", patience=120)
    screen.enter(":sample 2 1/10")
    screen.wait_for("sampled 1:10")
    screen.enter("@lat")
    screen.wait_for("p99")
    screen.enter(":probes")
    screen.wait_for("PricingEngine.quote")
    screen.type("com.acme.shop.Pr")
    screen.press("Tab")
    screen.wait_for("Promotions")


def live(screen: Terminal) -> None:
    screen.wait_for("SKU-00")
    screen.wait_for(lambda text: text.count("▁") + text.count("▂") + text.count("█") > 180)


def call_tree(screen: Terminal) -> None:
    screen.wait_for("own code", patience=120)
    screen.wait_for_end()


def mistake(screen: Terminal) -> None:
    screen.wait_for_end()


_LIVE = "com.acme.shop.PricingEngine::quote @return { @latency[$sku] = hist(duration); }"
_WRONG = "com.acme.shop.PricingEngine::quot @return when duration > 20 { @slow[$sku] = hist(durration); }"

PICTURES: dict[str, tuple[list[str], Callable[[Terminal], None]]] = {
    "prompt": (["shop"], prompt),
    "live": (["shop", "-e", _LIVE, "--hits", "0", "-i", "1s"], live),
    "trace": (["trace", "shop", "com.acme.shop.*::handle", "--min", "15ms", "-n", "3", "-d", "60s"], call_tree),
    "mistake": (["shop", "-e", _WRONG], mistake),
}


def picture(screen: str, name: str) -> str:
    """An SVG of the lines of a terminal with their escape sequences."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print(Text.from_ansi(screen, no_wrap=True))
    return console.export_svg(theme=_THEME, code_format=_SVG, unique_id=f"btpy-{name}")


def main() -> None:
    pictures = HERE / "pictures"
    pictures.mkdir(exist_ok=True)
    shop = Target([str(java(17)), "-Xmx256m", "-Dbtpy.name=shop-of-pictures", "-jar", str(_SHOP), "--rate", "50"])
    try:
        with tempfile.TemporaryDirectory() as state:
            for name, (arguments, play) in PICTURES.items():
                words = [str(shop.pid) if word == "shop" else word for word in arguments]
                command = [sys.executable, "-m", "btpy", *words]
                variables = {"XDG_STATE_HOME": state, "NO_COLOR": None, "COLORTERM": "truecolor"}
                lines = _MANY_LINES if play is call_tree else LINES
                with terminal(command, columns=COLUMNS, lines=lines, env=variables) as screen:
                    play(screen)
                    text = screen.text(styled=True)
                (pictures / f"{name}.svg").write_text(picture(text, name), encoding="utf-8")
    finally:
        shop.stop()


if __name__ == "__main__":
    main()
