"""``btpy lsp``: the Language Server Protocol on standard input and output, by pygls, with answers from the checker,
completion, the reference and the formatter.

A separate thread checks documents when they change. If versions follow each other quickly, it checks only the last
version. Standard output is only for the protocol.
"""

from __future__ import annotations

import asyncio
import os
import sys
from functools import partial
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from btpy.api.editing import format_source
from btpy.api.libraries import Libraries
from btpy.api.programs import Program
from btpy.completion.candidates import candidates
from btpy.completion.suggestions import Wanted, suggest
from btpy.distribution import version
from btpy.errors import ScriptError
from btpy.lsp.documents import Checked, Words, checked
from btpy.lsp.hover import hover
from btpy.lsp.positions import Positions
from btpy.lsp.target import LiveTarget
from btpy.model.diagnostics import Diagnostic, Fix, Label, Severity, suggested_names, to_json
from btpy.model.permissions import Permissions
from btpy.model.source import Source

_PAUSE = 0.2  # seconds without a change before a document is checked
_TRIGGERS = [".", ":", "@", "$", '"', "("]
_KINDS = {
    Wanted.CLASS: types.CompletionItemKind.Class,
    Wanted.METHOD: types.CompletionItemKind.Method,
    Wanted.MEMBER_FIELD: types.CompletionItemKind.Field,
    Wanted.FIELD: types.CompletionItemKind.Field,
    Wanted.LINE: types.CompletionItemKind.Value,
    Wanted.POINT: types.CompletionItemKind.Event,
    Wanted.LOCATION: types.CompletionItemKind.Event,
    Wanted.ANNOTATION: types.CompletionItemKind.Interface,
    Wanted.ARGUMENT: types.CompletionItemKind.Property,
    Wanted.TARGET_VARIABLE: types.CompletionItemKind.Variable,
    Wanted.NAME: types.CompletionItemKind.Function,
    Wanted.STATEMENT: types.CompletionItemKind.Function,
    Wanted.AGGREGATION: types.CompletionItemKind.Function,
    Wanted.MAP: types.CompletionItemKind.Struct,
    Wanted.LIBRARY: types.CompletionItemKind.Module,
    Wanted.SETTING: types.CompletionItemKind.Property,
}


class Server:
    """``target``: pid or name of a JVM; None if the editor has named no JVM."""

    def __init__(self, target: str | None, libraries: Libraries, permissions: Permissions) -> None:
        self._libraries = libraries
        self._permissions = permissions
        self._target = None if target is None else LiveTarget(target, permissions, self._tell)
        self._checked: dict[str, Checked] = {}  # the latest version of each document
        self._right: dict[str, Program] = {}  # the latest version without errors
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asked_to_end = False
        self._lsp = lsp = LanguageServer("btpy", version())
        completing = types.CompletionOptions(trigger_characters=_TRIGGERS)
        mending = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
        # A ``functools.partial``, because pygls sets attributes on the functions, which methods do not allow.
        lsp.feature(types.TEXT_DOCUMENT_DID_OPEN)(partial(self._opened))
        lsp.feature(types.TEXT_DOCUMENT_DID_CHANGE)(partial(self._changed))
        lsp.feature(types.TEXT_DOCUMENT_DID_SAVE)(partial(self._saved))
        lsp.feature(types.TEXT_DOCUMENT_DID_CLOSE)(partial(self._closed))
        lsp.feature(types.TEXT_DOCUMENT_COMPLETION, completing)(lsp.thread()(partial(self._complete)))
        lsp.feature(types.TEXT_DOCUMENT_HOVER)(lsp.thread()(partial(self._hover)))
        lsp.feature(types.TEXT_DOCUMENT_FORMATTING)(partial(self._format))
        lsp.feature(types.TEXT_DOCUMENT_CODE_ACTION, mending)(partial(self._mend))
        lsp.feature(types.SHUTDOWN)(partial(self._shut_down))
        lsp.feature(types.EXIT)(partial(self._exit))

    def serve(self) -> None:
        """Runs until the editor ends it or closes the connection."""
        try:
            self._lsp.start_io()
        finally:
            self._close()

    def _shut_down(self, _: None) -> None:
        self._asked_to_end = True

    def _exit(self, _: None) -> None:
        """Exits at once: pygls would wait for its reading thread, which waits for an editor that may keep the pipe
        open.
        """
        self._close()
        sys.stdout.flush()
        os._exit(0 if self._asked_to_end else 1)

    def _close(self) -> None:
        if self._target is not None:
            self._target.close()

    async def _opened(self, params: types.DidOpenTextDocumentParams) -> None:
        await self._check(params.text_document.uri)

    async def _changed(self, params: types.DidChangeTextDocumentParams) -> None:
        uri, number = params.text_document.uri, params.text_document.version
        await asyncio.sleep(_PAUSE)
        if self._version(uri) == number:
            await self._check(uri)

    async def _saved(self, params: types.DidSaveTextDocumentParams) -> None:
        """Other documents may import this document, and the JVM may have started meanwhile."""
        for uri in list(self._checked):
            await self._check(uri)

    def _closed(self, params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        self._checked.pop(uri, None)
        self._right.pop(uri, None)
        self._publish(uri, None, [])

    async def _check(self, uri: str) -> None:
        self._loop = asyncio.get_running_loop()
        source, number = self._source(uri), self._version(uri)
        result = await asyncio.to_thread(checked, source, self._libraries, self._permissions, self._target)
        if self._version(uri) != number:
            return  # the document changed or was closed meanwhile: a newer version is checked separately
        self._checked[uri] = result
        if result.program is not None:
            self._right[uri] = result.program
        positions = self._positions(source.text)
        self._publish(
            uri, number, [self._diagnostic(diagnostic, uri, source, positions) for diagnostic in result.diagnostics]
        )

    def _publish(self, uri: str, number: int | None, diagnostics: list[types.Diagnostic]) -> None:
        params = types.PublishDiagnosticsParams(uri=uri, diagnostics=diagnostics, version=number)
        self._lsp.text_document_publish_diagnostics(params)

    def _diagnostic(self, diagnostic: Diagnostic, uri: str, source: Source, at: Positions) -> types.Diagnostic:
        """``data``: in the form of ``btpy check --error-format json``. Errors in a library are shown at the top."""
        elsewhere = diagnostic.primary.span.source != source
        message = "\n".join(
            [
                str(diagnostic) if elsewhere else diagnostic.message,
                *([diagnostic.primary.text] if diagnostic.primary.text else []),
                *(f"help: {help_}" for help_ in diagnostic.help),
                *(f"note: {note}" for note in diagnostic.notes),
            ]
        )
        return types.Diagnostic(
            range=_range(at, 0, 0)
            if elsewhere
            else _range(at, diagnostic.primary.span.start, diagnostic.primary.span.end),
            message=message,
            severity=_SEVERITIES[diagnostic.severity],
            code=diagnostic.code or None,
            source="btpy",
            related_information=[self._related(note, uri, source, at) for note in diagnostic.secondary] or None,
            data=to_json(diagnostic),
        )

    def _related(self, label: Label, uri: str, source: Source, at: Positions) -> types.DiagnosticRelatedInformation:
        span = label.span
        if span.source != source:
            at = self._positions(span.source.text)
            uri = uris.from_fs_path(str(span.source.path)) or uri if span.source.path is not None else uri
        location = types.Location(uri=uri, range=_range(at, span.start, span.end))
        return types.DiagnosticRelatedInformation(location=location, message=label.text or "here")

    def _complete(self, params: types.CompletionParams) -> types.CompletionList:
        uri = params.text_document.uri
        text = self._source(uri).text
        at = self._positions(text)
        offset = at.offset(params.position.line, params.position.character)
        suggestions = suggest(text[:offset])
        items = [
            types.CompletionItem(
                label=candidate.shown,
                detail=candidate.about or None,
                kind=_KINDS.get(candidate.wanted, types.CompletionItemKind.Keyword),
                sort_text=f"{number:04}",
                filter_text=text[offset - candidate.replaces : offset]
                or candidate.text,  # an abbreviation is not a prefix of its word, so accept all
                text_edit=types.TextEdit(_range(at, offset - candidate.replaces, offset), candidate.text),
            )
            for number, candidate in enumerate(candidates(suggestions, self._words(uri, text)))
        ]
        return types.CompletionList(is_incomplete=True, items=items)

    def _hover(self, params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        text = self._source(uri).text
        at = self._positions(text)
        offset = at.offset(params.position.line, params.position.character)
        info = hover(text, offset, self._of_this_text(uri, text), self._words(uri, text))
        if info is None:
            return None
        content = types.MarkupContent(types.MarkupKind.Markdown, info.markdown)
        return types.Hover(contents=content, range=_range(at, info.start, info.end))

    def _format(self, params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        """Empty for a script that does not parse."""
        source = self._source(params.text_document.uri)
        try:
            text = format_source(source)
        except ScriptError:
            return []
        if "\r\n" in source.text:
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        range_ = _range(self._positions(source.text), 0, len(source.text))
        return [] if text == source.text else [types.TextEdit(range_, text)]

    def _mend(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """The replacements in diagnostics, and similar names."""
        uri = params.text_document.uri
        source = self._source(uri)
        at = self._positions(source.text)
        first, last = (
            at.offset(position.line, position.character) for position in (params.range.start, params.range.end)
        )
        actions: list[types.CodeAction] = []
        for diagnostic in self._of_this_text(uri, source.text):
            span = diagnostic.primary.span
            if span.source != source or span.start > last or first > span.end:
                continue
            fixes = [fix for fix in diagnostic.fixes if fix.span.source == source]
            ways = [fixes] if fixes else [[Fix(span, name)] for name in suggested_names(diagnostic)]
            for way in ways:
                edits = [types.TextEdit(_range(at, fix.span.start, fix.span.end), fix.text) for fix in way]
                action = types.CodeAction(
                    title=_title(way),
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[self._diagnostic(diagnostic, uri, source, at)],
                    is_preferred=len(ways) == 1,
                    edit=types.WorkspaceEdit(changes={uri: edits}),
                )
                actions.append(action)
        return actions

    def _source(self, uri: str) -> Source:
        document = self._lsp.workspace.get_text_document(uri)
        path = uris.to_fs_path(uri) if uri.startswith("file:") else None
        return Source(document.filename or uri, document.source, path=None if path is None else Path(path))

    def _version(self, uri: str) -> int | None:
        document = self._lsp.workspace.text_documents.get(uri)
        return None if document is None else document.version

    def _positions(self, text: str) -> Positions:
        return Positions(text, self._lsp.workspace.position_encoding or types.PositionEncodingKind.Utf16)

    def _words(self, uri: str, text: str) -> Words:
        return Words(text, self._right.get(uri), self._libraries, self._target)

    def _of_this_text(self, uri: str, text: str) -> tuple[Diagnostic, ...]:
        """Publishes the diagnostics, unless the text has changed meanwhile."""
        result = self._checked.get(uri)
        return result.diagnostics if result is not None and result.source.text == text else ()

    def _tell(self, text: str, good: bool) -> None:
        """From any thread."""
        kind = types.MessageType.Info if good else types.MessageType.Warning
        message = types.ShowMessageParams(kind, f"btpy: {text}")
        if self._loop is not None:
            self._loop.call_soon_threadsafe(partial(self._lsp.window_show_message, message))


_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
}


def _range(at: Positions, start: int, end: int) -> types.Range:
    return types.Range(types.Position(*at.position(start)), types.Position(*at.position(end)))


def _title(fixes: list[Fix]) -> str:
    texts = " … ".join(fix.text.strip() for fix in fixes)
    return f"write {texts}" if texts else "remove"
