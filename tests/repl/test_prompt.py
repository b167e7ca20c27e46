"""Keys of the prompt, with a simulated terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from btpy.model.diagnostics import Diagnostic
from btpy.output.style import Style
from btpy.repl.prompt import Completions, Prompt, common_part, history_file, open_history
from btpy.repl.repl import Repl, Status
from btpy.repl.screen import Screen
from tests.completion.shop import Shop

CTRL_C, CTRL_D, ENTER, ALT_ENTER, ESCAPE = "\x03", "\x04", "\r", "\x1b\r", "\x1b"
PASTE, PASTED = "\x1b[200~", "\x1b[201~"


class Listener(Repl):
    """Records the entries. ``check`` is the real check, without a target."""

    def __init__(self) -> None:
        self.name = "shop"
        self.written: list[str] = []
        self.screen = Screen(self.written.append, Style())
        self.terminal = None
        self.default = ""
        self.ended = self.vi = False
        self.texts: list[str] = []
        self.metadata = Shop()
        self.breaks = False

    def enter(self, text: str, *, remember: bool = True) -> None:
        self.texts.append(text)
        self.ended = text.strip() == ":quit"

    def check(self, text: str) -> list[Diagnostic]:
        if self.breaks:
            raise RuntimeError("of the checker")
        from btpy.errors import ScriptError
        from btpy.lang.check.checker import check_source
        from btpy.model.source import Source

        try:
            if "{" in text:
                check_source(Source("<repl>", text))
        except ScriptError as error:
            return list(error.diagnostics)
        return []

    def status(self) -> Status:
        if self.breaks:
            raise RuntimeError("of the toolbar")
        return Status("OrderApp:1", "0 probes", "0 ev/s", "", 0)


@contextmanager
def typing(keys: str) -> Iterator[tuple[Listener, PipeInput]]:
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        listener = Listener()
        pipe.send_text(keys)
        yield listener, pipe


def entered(keys: str) -> list[str]:
    """The entries that these keys make; at the end the user leaves."""
    with typing(keys + CTRL_D) as (listener, _):
        Prompt(listener, InMemoryHistory()).run()
        assert listener.texts[-1] == ":quit"
        return listener.texts[:-1]


def test_enter_submits_complete_entries() -> None:
    assert entered(":probes" + ENTER) == [":probes"]
    assert entered("A::b { print(1); }" + ENTER) == ["A::b { print(1); }"]


def test_enter_continues_an_incomplete_statement_and_indents() -> None:
    keys = "A::b {" + ENTER + "if arg0 == null {" + ENTER + "print(1);" + ENTER + "}" + ENTER + "}" + ENTER
    assert entered(keys) == ["A::b {\n  if arg0 == null {\n    print(1);\n  }\n}"]


def test_alt_enter_begins_a_line_wherever_the_cursor_is() -> None:
    assert entered(":maps" + ALT_ENTER + ENTER) == [":maps"]
    assert entered("A::b { }" + ALT_ENTER + "C::d { }" + ENTER) == ["A::b { }\nC::d { }"]


def test_a_head_without_a_body_waits_for_it_until_an_empty_line() -> None:
    assert entered('@OnMethod(class="A", method="b")' + ENTER + "{ }" + ENTER) == [
        '@OnMethod(class="A", method="b")\n{ }'
    ]


def test_a_pasted_script_is_one_entry() -> None:
    script = "\n".join(f"com.acme.Foo::m{n} @return {{\n  @calls[{n}] = count();\n}}" for n in range(67))
    assert len(script.split("\n")) == 201
    assert entered(PASTE + script + PASTED + ENTER) == [script]


def test_ctrl_c_gives_up_the_line_and_not_the_prompt() -> None:
    assert entered("A::b {" + CTRL_C + ":maps" + ENTER) == [":maps"]


def test_wrong_entries_are_not_sent() -> None:
    with typing("A::b { print(durration); }" + ENTER + CTRL_C + CTRL_D) as (listener, _):
        Prompt(listener, InMemoryHistory()).run()
    assert listener.texts == [":quit"]
    output = "".join(listener.written)
    assert "unknown name `durration`" in output
    assert "not sent" in output


def completed(text: str, *, on_request: bool = True) -> list[tuple[str, int]]:
    def failed(what: str, error: Exception) -> None:
        raise AssertionError(what) from error

    listener = Completions(Listener(), failed).get_completions(
        Document(text), CompleteEvent(text_inserted=not on_request, completion_requested=on_request)
    )
    return [(completion.text, completion.start_position) for completion in listener]


def test_tab_completes_the_common_prefix_of_the_candidates() -> None:
    typed = Document("a @entry { @x = l")
    completions = [Completion(text, -1) for text in ("lhist(", "lhistory", "last(", "topk")]
    assert common_part(typed, completions[:2]) == "hist"
    assert common_part(typed, completions) == ""
    assert common_part(typed, [completions[0], completions[3]]) == ""  # a single candidate is inserted completely


def test_completions_replace_the_typed_word() -> None:
    assert completed("PrEn") == [("com.acme.shop.PricingEngine", -4)]
    assert completed(":pro") == [("probes", -3)]
    assert ("quote", -2) in completed("PricingEngine::qu")
    assert completed("PricingEngine::quote @entry { print(1, ") != []


def test_the_menu_comes_by_itself_only_where_something_must_follow() -> None:
    assert completed("PricingEngine::", on_request=False) != []
    assert completed("PricingEngine::quote @entry { ", on_request=False) == []
    assert completed("PricingEngine::quote @entry { print(1, ", on_request=False) == []


def test_vi_keys() -> None:
    with typing(":maps" + ESCAPE + "0xi:" + ENTER + CTRL_D) as (listener, _):
        listener.vi = True
        Prompt(listener, InMemoryHistory()).run()
    assert listener.texts == [":maps", ":quit"]


def test_history_keeps_whole_entries_for_their_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    script = "A::b {\n  print(1);\n}"
    with typing(PASTE + script + PASTED + ENTER + CTRL_D) as (listener, _):
        Prompt(listener, open_history()).run()
    assert history_file().stat().st_mode & 0o777 == 0o600
    assert script in list(open_history().load_history_strings())


def test_where_no_history_can_be_kept_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    assert isinstance(open_history(), InMemoryHistory)


def test_the_prompt_survives_failures_around_it() -> None:
    with typing("A::b { }" + ENTER + ":maps" + ENTER + CTRL_D) as (listener, _):
        listener.breaks = True
        Prompt(listener, InMemoryHistory()).run()
    assert listener.texts[-2:] == [":maps", ":quit"]
    output = "".join(listener.written)
    assert "checking failed; this is a bug in btpy: RuntimeError: of the checker" in output
    assert output.count("the toolbar failed") == 1


def test_completion_that_fails_completes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("of completion")

    messages: list[str] = []
    monkeypatch.setattr("btpy.repl.prompt.candidates", broken)
    completer = Completions(Listener(), lambda what, error: messages.append(f"{what}: {error}"))
    assert list(completer.get_completions(Document("Pr"), CompleteEvent(completion_requested=True))) == []
    assert messages == ["completion: of completion"]
