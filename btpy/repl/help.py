"""The texts of ``:help`` and F1: all commands, one command, or a word of the language."""

from __future__ import annotations

from btpy.api.reference import entries
from btpy.api.reference import page as page_of_word
from btpy.model.diagnostics import did_you_mean
from btpy.repl.commands import COMMANDS, Command, find

_FIRST = """\
Enter a probe, a map, a computation with maps, or a command:
  com.acme.Foo::bar @return when duration > 20ms { print($sku, duration) }
  com.acme.Foo::* @exit { @calls[method] = hist(duration) }
  @calls      @errors / @calls      use btpy.exceptions
Tab completes (PrEn becomes PricingEngine), F1 or a second Tab explains the word,
Alt-Enter begins a line, C-r searches what was entered, C-x C-e opens $EDITOR.
"""
_GROUPS = {
    "probes": ("probes", "show", "enable", "disable", "rm", "edit", "sample", "limit", "level", "use", "load", "save"),
    "classes": ("ls", "cls", "lines", "locals", "src"),
    "maps": ("maps", "print", "watch", "plot", "clear", "flush"),
    "events": ("last", "get", "grep", "send", "errors", "lost", "wait"),
    "session": ("set", "param", "history", "help", "explain", "doctor", "detach", "quit"),
}


def page(topic: str) -> str:
    """The text has no line end. ``topic`` empty: all commands."""
    if not topic:
        return _overview()
    pages = _pages(topic)
    if pages:
        return "\n\n".join(pages)
    words = [*COMMANDS, *(entry.name for rows in entries().values() for entry in rows)]
    near = did_you_mean(topic, words)
    return "\n".join(
        [f"there is no help for {topic!r}", *near, ":help lists the commands; :help hist, :help @OnTimer …"]
    )


def is_known(topic: str) -> bool:
    """Whether the topic has a page."""
    return bool(_pages(topic))


def _pages(topic: str) -> list[str]:
    command = find(topic)
    word = page_of_word(topic).rstrip("\n")
    return [*([_of_command(command)] if command is not None else []), *([word] if word else [])]


def _overview() -> str:
    lines = [_FIRST]
    for title, names in _GROUPS.items():
        lines.append(f"{title}:")
        lines += [f"  {COMMANDS[name].usage:<36} {COMMANDS[name].doc}" for name in names]
    return "\n".join(lines)


def _of_command(command: Command) -> str:
    lines = [command.usage, f"    {command.doc}"]
    if command.example:
        lines.append(f"    example: {command.example}")
    if command.aliases:
        lines.append("    also: " + ", ".join(f":{alias}" for alias in command.aliases))
    return "\n".join(lines)
