"""The prompt on a terminal: keys, menu, colours, toolbar. Entries go to a :class:`~btpy.repl.repl.Repl`.

An error in completion, checking or the toolbar is reported once, in one line, and the user can continue typing.
"""

from __future__ import annotations

import os
import shlex
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application
from prompt_toolkit.application.run_in_terminal import run_in_terminal
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER, EditingMode
from prompt_toolkit.filters import Condition, completion_is_selected, has_completions, has_focus
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style as Styles
from prompt_toolkit.utils import is_dumb_terminal

from btpy import children
from btpy.completion.candidates import candidates
from btpy.completion.suggestions import suggest
from btpy.model.diagnostics import Diagnostic
from btpy.repl import colours
from btpy.repl.entry import INDENT, Kind, indentation, is_complete, kind_of, waiting_for
from btpy.repl.repl import Frame, Repl, View

_REDRAW_SECONDS = 0.04
"""The least number of seconds between two redraws of the prompt, which is erased to write text above it."""

_CHECK_SECONDS = 0.15  # seconds without a key before the text is checked
_REFRESH_SECONDS = 1.0  # of the toolbar
_MENU_LINES = 6

_STYLES = Styles.from_dict(
    {
        **{f"bt.{name}": style for name, style in colours.STYLE.items() if style},
        "prompt": "bold",
        "continuation": "#7f848e",
        "bottom-toolbar": "noreverse bg:#2c313a #abb2bf",
        "bottom-toolbar.key": "bg:#2c313a #61afef",
        "bottom-toolbar.fault": "bg:#2c313a #e06c75 bold",
        "bottom-toolbar.warn": "bg:#2c313a #e5c07b",
        "fault": "underline #e06c75",
        "auto-suggestion": "#5c6370",
    }
)


def history_file() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base) / "btpy" / "history"


def open_history() -> History:
    """A history of whole entries that only their owner can read. It is in memory if no file can be written."""
    path = history_file()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        path.chmod(0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))


class Prompt:
    """``run`` returns when the user has left."""

    def __init__(self, repl: Repl, history: History) -> None:
        self._repl = repl
        self._checked = _Checked(repl, self._failed, lambda: self._session.app.invalidate())
        self._faults: set[str] = set()
        self._awake = threading.Lock()
        self._drain_planned = False
        self._drained = 0.0
        self._session: PromptSession[str] = PromptSession(
            self._message,
            multiline=True,
            lexer=_Colours(),
            completer=Completions(repl, self._failed),
            complete_in_thread=True,
            complete_while_typing=True,
            auto_suggest=AutoSuggestFromHistory(),
            history=history,
            bottom_toolbar=self._toolbar,
            prompt_continuation=self._continuation,
            refresh_interval=_REFRESH_SECONDS,
            enable_open_in_editor=True,
            tempfile_suffix=".bt",
            reserve_space_for_menu=_MENU_LINES,
            key_bindings=self._keys(),
            input_processors=[_Underline(self._checked)],
            style=_STYLES,
            editing_mode=EditingMode.VI if repl.vi else EditingMode.EMACS,
        )
        self._session.default_buffer.on_text_changed += self._changed

    def put(self, text: str) -> None:
        """Writes to the terminal without prompt_toolkit."""
        output = self._session.output
        output.write_raw(text)
        output.flush()

    def run(self) -> None:
        repl = self._repl
        with _without_echo():
            while not repl.ended:
                try:
                    text = self._typed()
                except KeyboardInterrupt:
                    continue  # Ctrl-C cancelled the line, not the probes
                except EOFError:
                    text = ":quit"
                try:
                    repl.enter(text)
                except KeyboardInterrupt:
                    repl.screen.note("interrupted")

    def _typed(self) -> str:
        self._session.editing_mode = EditingMode.VI if self._repl.vi else EditingMode.EMACS
        default, self._repl.default = self._repl.default, ""
        if is_dumb_terminal():  # prompt_toolkit executes this before the prompt runs
            self._repl.screen.typing(self._drain_below)
        try:
            return self._session.prompt(default=default, pre_run=lambda: self._repl.screen.typing(self._wake))
        finally:
            self._repl.screen.typing(None)

    def _wake(self) -> None:
        """Schedules writing the waiting lines, once for any number of new lines. Any thread may call it."""
        with self._awake:
            if self._drain_planned:
                return
            self._drain_planned = True
        app = self._session.app
        loop = app.loop
        try:
            if loop is None:
                raise RuntimeError("the prompt is ending")
            loop.call_soon_threadsafe(self._plan, app)
        except RuntimeError:  # waiting lines are written when the prompt has ended
            with self._awake:
                self._drain_planned = False

    def _plan(self, app: Application[str]) -> None:
        wait = self._drained + _REDRAW_SECONDS - time.monotonic()
        if wait > 0 and app.loop is not None:
            app.loop.call_later(wait, self._drain_above, app)
        else:
            self._drain_above(app)

    def _drain_above(self, app: Application[str]) -> None:
        with self._awake:
            self._drain_planned = False
        self._drained = time.monotonic()
        if app.is_running and not app.is_done:
            run_in_terminal(self._repl.screen.drain)

    def _drain_below(self) -> None:
        """For a terminal that cannot erase the prompt: the typed text is written again afterwards."""
        self.put("\n")
        self._repl.screen.drain()
        self.put(f"{self._repl.name}> {self._session.default_buffer.text}")

    def _message(self) -> StyleAndTextTuples:
        return [("class:prompt", f"{self._repl.name}> ")]

    def _continuation(self, width: int, line: int, wraps: int) -> StyleAndTextTuples:
        return [("class:continuation", " " * width if wraps else "· ".rjust(width))]

    def _toolbar(self) -> StyleAndTextTuples:
        try:
            text = self._session.default_buffer.text
            fault = self._checked.fault(text)
            if fault is not None:
                helps = f" — {fault.help[0]}" if fault.help else ""
                return [("class:bottom-toolbar.fault", f" {fault.message}{helps} "), ("", f"[{fault.code}]")]
            reason = waiting_for(text)
            if reason:
                return [("", f" {reason}; Ctrl-C discards what is typed")]
            status = self._repl.status()
            parts: StyleAndTextTuples = [("", f" {status.target} │ {status.probes} · {status.rate}")]
            parts += [("", f" · {status.cost}")] if status.cost else []
            parts.append(("class:bottom-toolbar.warn" if status.lost else "", f" · lost {status.lost}"))
            room = self._session.output.get_size().columns - sum(len(part[1]) for part in parts)
            for key, name in _KEYS:
                room -= len(f"  [{key}] {name}")
                if room > 0:
                    parts += [("", "  "), ("class:bottom-toolbar.key", f"[{key}]"), ("", f" {name}")]
            return parts
        except Exception as error:
            self._failed("the toolbar", error)
            return []

    def _failed(self, action: str, error: Exception) -> None:
        """Reports an error in one line, once for each kind, so that the user can continue typing."""
        words = f"{action} failed; this is a bug in btpy: {type(error).__name__}: {error}"
        if words not in self._faults:
            self._faults.add(words)
            self._repl.screen.warning(words)

    def _changed(self, buffer: Buffer) -> None:
        self._checked.later(buffer.text)

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        typing = has_focus(DEFAULT_BUFFER)

        @keys.add("enter", filter=typing & ~completion_is_selected)
        def _(event: KeyPressEvent) -> None:
            self._enter(event.current_buffer)

        @keys.add("enter", filter=typing & completion_is_selected)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.complete_state = None

        @keys.add("escape", "enter", filter=typing)
        def _(event: KeyPressEvent) -> None:
            _new_line(event.current_buffer)

        @keys.add("tab", filter=typing & ~has_completions)
        def _(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if not buffer.document.current_line_before_cursor.strip() and buffer.text.strip():
                buffer.insert_text(" " * INDENT)
            else:
                buffer.start_completion(insert_common_part=True)

        @keys.add("tab", filter=typing & has_completions & ~completion_is_selected)
        def _(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            state = buffer.complete_state
            if state is not None and common_part(state.original_document, state.completions):
                buffer.cancel_completion()
                buffer.start_completion(insert_common_part=True)
            else:
                buffer.complete_next()

        @keys.add("tab", filter=typing & Condition(self._is_completed))
        def _(event: KeyPressEvent) -> None:
            self._explain(event.current_buffer.document)

        @keys.add("}", filter=typing)
        def _(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            before = buffer.document.current_line_before_cursor
            if before and not before.strip():
                buffer.delete_before_cursor(min(INDENT, len(before)))
            buffer.insert_text("}")

        @keys.add("f1")
        def _(event: KeyPressEvent) -> None:
            self._explain(event.current_buffer.document)

        @keys.add("f2")
        def _(event: KeyPressEvent) -> None:
            self._aside(lambda: self._repl.enter(":probes", remember=False))

        @keys.add("f3")
        def _(event: KeyPressEvent) -> None:
            self._aside(lambda: self._repl.enter(":maps", remember=False))

        @keys.add("f4")
        def _(event: KeyPressEvent) -> None:
            self._repl.vi = not self._repl.vi
            event.app.editing_mode = EditingMode.VI if self._repl.vi else EditingMode.EMACS

        @keys.add("c-d", filter=typing & Condition(lambda: not self._session.default_buffer.text))
        def _(event: KeyPressEvent) -> None:
            event.app.exit(exception=EOFError())

        return keys

    def _is_completed(self) -> bool:
        """Whether the only possible word is complete. Then another Tab shows its description."""
        state = self._session.default_buffer.complete_state
        return state is not None and state.complete_index is not None and len(state.completions) == 1

    def _explain(self, document: Document) -> None:
        end = len(document.text_before_cursor.rstrip(" (=:."))  # a completion may have inserted these characters
        self._aside(lambda: self._repl.help(document.text, end))

    def _aside(self, do: Callable[[], None]) -> None:
        """Runs on a thread, so that a slow answer never blocks a key."""

        def run() -> None:
            try:
                do()
            except Exception as error:
                self._failed("a key", error)

        threading.Thread(target=run, name="btpy-aside", daemon=True).start()

    def _enter(self, buffer: Buffer) -> None:
        text = buffer.text
        at_end = not buffer.document.text_after_cursor.strip()
        if not text.strip():
            buffer.validate_and_handle()
        elif not is_complete(text) or (not at_end and "\n" in text):
            _new_line(buffer)
        else:
            diagnostics = self._checked.now(text)
            if diagnostics:
                self._repl.not_sent(text, diagnostics)
                buffer.cursor_position = min(diagnostics[0].primary.span.start, len(text))
                return
            buffer.text = text.rstrip()
            buffer.cursor_position = len(buffer.text)
            buffer.validate_and_handle()

    def watch(self, view: View, interval: float) -> None:
        """Shows a view until the user leaves it. It is redrawn every ``interval`` seconds and after each key."""
        keys = KeyBindings()
        again = threading.Event()
        over = False
        frame = Frame((), "")
        drawn_for: Size | None = None

        def shown() -> ANSI:
            if app.output.get_size() != drawn_for:  # the window was resized: the lines are for another size
                again.set()
            return ANSI("\n".join([*frame.lines, self._repl.screen.style.dim(frame.footer)]))

        app: Application[None] = Application(
            Layout(Window(FormattedTextControl(shown), wrap_lines=False)),
            key_bindings=keys,
            full_screen=True,
            input=self._session.input,
            output=self._session.output,
        )

        def draw() -> None:
            nonlocal frame, drawn_for
            while not over:
                again.clear()
                size = app.output.get_size()
                try:
                    frame = view.frame(size.columns, max(1, size.rows - 1))
                except Exception as error:
                    frame = Frame((str(error),), "q quits")
                drawn_for = size
                app.invalidate()
                again.wait(interval)

        @keys.add("q")
        @keys.add("c-c")
        @keys.add("c-d")
        @keys.add("escape", eager=True)
        def _(event: KeyPressEvent) -> None:
            event.app.exit()

        @keys.add("up")
        @keys.add("down")
        @keys.add("<any>")
        def _(event: KeyPressEvent) -> None:
            view.key(event.key_sequence[0].key)
            again.set()

        drawing = threading.Thread(target=draw, name="btpy-watch", daemon=True)
        with self._repl.screen.held():
            drawing.start()
            try:
                app.run()
            finally:
                over = True
                again.set()

    def edit(self, text: str) -> str | None:
        """The text after the user has edited it in $VISUAL or $EDITOR; None if the editor failed."""
        editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
        with tempfile.TemporaryDirectory(prefix="btpy-") as directory:
            path = Path(directory) / "probe.bt"
            path.write_text(text, encoding="utf-8")
            try:
                with self._repl.screen.held(), self._session.input.cooked_mode():
                    status = children.run_for_user([*editor, str(path)])
                return path.read_text(encoding="utf-8") if status == 0 else None
            except OSError as error:
                self._repl.screen.warning(f"{editor[0]} cannot be started: {(error.strerror or str(error)).lower()}")
                return None

    def choose(self, question: str, answers: str) -> str:
        """One of the letters; the last letter if the user cancels."""
        keys = KeyBindings()

        for letter in answers:

            @keys.add(letter)
            def _(event: KeyPressEvent, letter: str = letter) -> None:
                event.app.exit(result=letter)

        @keys.add("c-c")
        @keys.add("c-d")
        @keys.add("escape", eager=True)
        def _(event: KeyPressEvent) -> None:
            event.app.exit(result=answers[-1])

        @keys.add("<any>")
        def _(event: KeyPressEvent) -> None:
            pass

        app: Application[str] = Application(
            Layout(Window(FormattedTextControl(question), wrap_lines=True, dont_extend_height=True)),
            key_bindings=keys,
            input=self._session.input,
            output=self._session.output,
        )
        with self._repl.screen.held():
            return app.run()


_KEYS = (("F1", "help"), ("F2", "probes"), ("F3", "maps"), ("F4", "vi"))


@contextmanager
def _without_echo() -> Iterator[None]:
    """A context in which a command runs. Keys typed meanwhile are kept for the next prompt, and the terminal neither
    shows nor interprets them.
    """
    if not os.isatty(0):
        yield
        return
    old_settings = termios.tcgetattr(0)
    quiet = termios.tcgetattr(0)
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(0, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        with suppress(termios.error):  # the terminal was closed
            termios.tcsetattr(0, termios.TCSANOW, old_settings)


def _new_line(buffer: Buffer) -> None:
    blanks = indentation(buffer.document.text_before_cursor)
    buffer.insert_text("\n" + " " * blanks)


class _Colours(Lexer):
    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines: list[StyleAndTextTuples] = [[]]
        for name, piece in colours.coloured(document.text):
            first, *rest = piece.split("\n")
            lines[-1].append((f"class:bt.{name}", first))
            lines += [[(f"class:bt.{name}", part)] for part in rest]
        return lambda number: lines[number] if number < len(lines) else []


class Completions(Completer):
    """It runs on a thread of prompt_toolkit."""

    def __init__(self, repl: Repl, on_failure: Callable[[str, Exception], None]) -> None:
        self._repl = repl
        self._failed = on_failure

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        if not complete_event.completion_requested and not _invites(text):
            return
        try:
            choices = candidates(suggest(text), self._repl.metadata)
        except Exception as error:
            self._failed("completion", error)
            return
        completions = [
            Completion(candidate.text, -candidate.replaces, display=candidate.shown, display_meta=candidate.about)
            for candidate in choices
            if candidate.text != text[len(text) - candidate.replaces :] or len(choices) > 1
        ]
        if complete_event.completion_requested and common_part(document, completions):
            # Tab inserts their common beginning. Completions that do not begin with the typed text would prevent that.
            completions = _beginning(document, completions)
        yield from completions


def common_part(document: Document, completions: Sequence[Completion]) -> str:
    """The common continuation of all completions that begin with the word before the cursor; empty if fewer than two
    do."""
    beginning = _beginning(document, completions)
    if len(beginning) < 2:
        return ""
    rests = [completion.text[-completion.start_position :] for completion in beginning]
    least, greatest = min(rests), max(rests)  # the common beginning of these two is common to all
    return next((least[:at] for at, char in enumerate(least) if greatest[at : at + 1] != char), least)


def _beginning(document: Document, completions: Iterable[Completion]) -> list[Completion]:
    typed_text = document.text_before_cursor
    return [
        completion
        for completion in completions
        if completion.text.startswith(typed_text[len(typed_text) + completion.start_position :])
    ]


def _invites(text: str) -> bool:
    """Whether a menu opens without Tab: after a letter, and where a word must follow."""
    return text[-1:].isalpha() or text.endswith((".", "::", "@", "$", ":"))


class _Checked:
    """The diagnostics of the text being typed. A thread finds them when no key was pressed for a moment."""

    def __init__(self, repl: Repl, on_failure: Callable[[str, Exception], None], on_known: Callable[[], None]) -> None:
        self._repl = repl
        self._failed = on_failure
        self._on_known = on_known
        self._text = ""
        self._diagnostics_found: tuple[Diagnostic, ...] = ()
        self._timer: threading.Timer | None = None

    def fault(self, text: str) -> Diagnostic | None:
        """The first fault of the text, if it is known yet."""
        return self._diagnostics_found[0] if self._diagnostics_found and text == self._text else None

    def later(self, text: str) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if kind_of(text) is not Kind.PROBES or "{" not in text or not is_complete(text):
            return
        self._timer = threading.Timer(_CHECK_SECONDS, self._check, (text,))
        self._timer.daemon = True
        self._timer.start()

    def now(self, text: str) -> tuple[Diagnostic, ...]:
        if self._timer is not None:
            self._timer.cancel()
        if text != self._text:
            self._check(text)
        return self._diagnostics_found

    def _check(self, text: str) -> None:
        try:
            diagnostics = tuple(self._repl.check(text))
        except Exception as error:
            self._failed("checking", error)
            diagnostics = ()
        self._text, self._diagnostics_found = text, diagnostics
        self._on_known()


class _Underline(Processor):
    def __init__(self, checked: _Checked) -> None:
        self._checked = checked

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        document = transformation_input.document
        fragments = transformation_input.fragments
        fault = self._checked.fault(document.text)
        if fault is None:
            return Transformation(fragments)
        line_start = document.translate_row_col_to_index(transformation_input.lineno, 0)
        first = fault.primary.span.start - line_start
        last = max(fault.primary.span.end - line_start, first + 1)
        marked: StyleAndTextTuples = []
        column = 0
        for style, text, *_ in fragments:
            for char in text:
                marked.append((f"{style} class:fault" if first <= column < last else style, char))
                column += 1
        return Transformation(marked)
