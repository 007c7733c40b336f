"""The language server: it keeps the open texts, and asks processes of its own about them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from strands_cli_lsp import __version__

DEBOUNCE_S = 0.15
_LINE_LIMIT = 64 * 1024 * 1024
_KINDS = {
    "key": types.CompletionItemKind.Property,
    "tool": types.CompletionItemKind.Function,
    "agent": types.CompletionItemKind.Class,
    "name": types.CompletionItemKind.Variable,
    "filter": types.CompletionItemKind.Function,
}
_SEVERITIES = {"error": types.DiagnosticSeverity.Error, "warning": types.DiagnosticSeverity.Warning}


class Worker:
    """A process for one question at a time; one that takes too long, or ends, is replaced at the next question.

    Args:
        limit: The most seconds of an answer.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._process: asyncio.subprocess.Process | None = None
        self._turn, self._number = asyncio.Lock(), 0

    async def ask(self, name: str, **arguments: Any) -> Any:
        """Return the answer of a function of `language`.

        Raises:
            RuntimeError: It failed, ended or took too long; the text says how.
        """
        async with self._turn:
            self._number += 1
            request = json.dumps({"id": self._number, "name": name, "arguments": arguments}) + "\n"
            try:
                line = await asyncio.wait_for(self._exchange(request.encode()), self._limit)
                answer = json.loads(line)
            except BaseException as error:
                self.end()
                if isinstance(error, (OSError, ValueError, asyncio.TimeoutError)):
                    raise RuntimeError(f"{name} failed, and its process was ended: {error!r}") from error
                raise
        if "fault" in answer:
            raise RuntimeError(f"{name} failed: {answer['fault']}")
        return answer["result"]

    async def _exchange(self, request: bytes) -> bytes:
        if self._process is None or self._process.returncode is not None:
            # -P: a module of the folder that is edited must not be taken for one of ours.
            command = (sys.executable, "-P", "-m", "strands_cli_lsp.worker")
            self._process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=_LINE_LIMIT
            )
        pipes: Any = self._process
        pipes.stdin.write(request)
        await pipes.stdin.drain()
        line: bytes = await pipes.stdout.readline()
        return line

    def end(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()


class WorkflowServer(LanguageServer):
    """The server: findings a moment after the last change, corrections for them."""

    def __init__(self, limit: float) -> None:
        super().__init__("strands", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Incremental)
        self._checks, self._questions = Worker(limit), Worker(limit)
        self._changes: dict[str, int] = {}
        self._tasks = set[asyncio.Task[None]]()
        self._found: dict[str, tuple[int | None, list[dict[str, Any]]]] = {}

    def changed(self, uri: str) -> None:
        """Check a text soon, and the others that may read it."""
        for each in [uri, *(open_uri for open_uri in self.workspace.text_documents if open_uri != uri)]:
            self._changes[each] = change = self._changes.get(each, 0) + 1
            task = asyncio.ensure_future(self._publish(each, change))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def closed(self, uri: str) -> None:
        """Forget the findings of a text."""
        self._changes.pop(uri, None)
        self._found.pop(uri, None)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def end(self) -> None:
        """End the processes."""
        for worker in (self._checks, self._questions):
            worker.end()

    async def _publish(self, uri: str, change: int) -> None:
        await asyncio.sleep(DEBOUNCE_S)
        if self._changes.get(uri) != change:
            return  # a later change is checked
        version = self.workspace.get_text_document(uri).version
        found = await self.ask("check", uri, quick=False)
        if found is None or self._changes.get(uri) != change:
            return
        self._found[uri] = (version, found)
        diagnostics = [
            types.Diagnostic(
                self.range_in(uri, finding["range"]),
                finding["message"],
                _SEVERITIES[finding["severity"]],
                code=finding["code"],
                source="strands",
            )
            for finding in found
        ]
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics, version))

    async def ask(self, name: str, uri: str, *, quick: bool = True, **arguments: Any) -> Any:
        """Return the answer about a text as it is now; a failure is a message in the log of the editor, and None."""
        document = self.workspace.get_text_document(uri)
        path = to_fs_path(uri) or uri
        texts = self.workspace.text_documents
        buffers = {to_fs_path(each) or each: text.source for each, text in texts.items() if each != uri}
        worker = self._questions if quick else self._checks
        try:
            return await worker.ask(name, path=path, text=document.source, buffers=buffers, **arguments)
        except RuntimeError as error:
            self.window_log_message(
                types.LogMessageParams(types.MessageType.Error, f"the language server failed: {error}")
            )
            return None

    def range_in(self, uri: str, place: list[int]) -> types.Range:
        """Return a range in the units of the editor."""
        document = self.workspace.get_text_document(uri)
        begin, end = types.Position(*place[:2]), types.Position(*place[2:4])
        return document.position_codec.range_to_client_units(document.lines, types.Range(begin, end))

    async def ask_at(self, name: str, uri: str, position: types.Position) -> tuple[Any, Any]:
        """Return a place of the editor in characters, and the answer about it."""
        document = self.workspace.get_text_document(uri)
        place = document.position_codec.position_from_client_units(document.lines, position)
        return place, await self.ask(name, uri, line=place.line, column=place.character)

    async def complete(self, uri: str, position: types.Position) -> list[types.CompletionItem]:
        """Return what may be written at a place."""
        place, items = await self.ask_at("complete", uri, position)
        return [
            types.CompletionItem(
                item["label"],
                kind=_KINDS.get(item["kind"], types.CompletionItemKind.Value),
                detail=item["kind"],
                documentation=item["about"] or None,
                text_edit=types.TextEdit(
                    self.range_in(uri, [place.line, item["begin"], place.line, place.character]), item["insert"]
                ),
            )
            for item in items or ()
        ]

    async def define(self, uri: str, position: types.Position) -> types.Location | None:
        """Return where the name at a place is defined."""
        _, found = await self.ask_at("definition", uri, position)
        if found is None:
            return None
        target = from_fs_path(found[0]) or uri
        return types.Location(target, self.range_in(target, [*found[1:], *found[1:]]))

    async def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """Return the corrections of the findings in a range, and the one of all."""
        uri = params.text_document.uri
        version, found = self._found.get(uri, (None, []))
        if version != self.workspace.get_text_document(uri).version:
            found = []
        only = params.context.only
        actions = [
            self._action(uri, fix["title"], fix["edits"], types.CodeActionKind.QuickFix, len(finding["fixes"]) == 1)
            for finding in found
            if _touch(self.range_in(uri, finding["range"]), params.range)
            for fix in finding["fixes"]
            if not only or types.CodeActionKind.QuickFix in only
        ]
        wants_all = not only or any(types.CodeActionKind.SourceFixAll.startswith(kind) for kind in only)
        if wants_all and (found or only) and (edits := await self.ask("fix_all", uri)):
            title = "Correct everything of which only one correction is right"
            actions.append(self._action(uri, title, edits, types.CodeActionKind.SourceFixAll, False))
        return actions

    def _action(
        self, uri: str, title: str, edits: list[list[Any]], kind: types.CodeActionKind, is_preferred: bool
    ) -> types.CodeAction:
        changes = [types.TextEdit(self.range_in(uri, edit[:4]), edit[4]) for edit in edits]
        edit = types.WorkspaceEdit(changes={uri: changes})
        return types.CodeAction(title, kind, is_preferred=is_preferred or None, edit=edit)


def _touch(one: types.Range, other: types.Range) -> bool:
    return (one.start.line, one.start.character) <= (other.end.line, other.end.character) and (
        other.start.line,
        other.start.character,
    ) <= (one.end.line, one.end.character)


def make_server(limit: float) -> WorkflowServer:
    """Return a server with its features; an answer may take so many seconds."""
    server = WorkflowServer(limit)

    for change in (types.TEXT_DOCUMENT_DID_OPEN, types.TEXT_DOCUMENT_DID_CHANGE, types.TEXT_DOCUMENT_DID_SAVE):

        @server.feature(change)
        def changed(params: Any) -> None:
            server.changed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)

    kinds = [types.CodeActionKind.QuickFix, types.CodeActionKind.SourceFixAll]

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=kinds))
    async def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        return await server.actions(params)

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[" ", ".", ":", "|"]))
    async def complete(params: types.CompletionParams) -> list[types.CompletionItem]:
        return await server.complete(params.text_document.uri, params.position)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        _, text = await server.ask_at("hover", params.text_document.uri, params.position)
        return None if text is None else types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def define(params: types.DefinitionParams) -> types.Location | None:
        return await server.define(params.text_document.uri, params.position)

    @server.feature(types.SHUTDOWN)
    def shut_down(_params: None) -> None:
        server.end()

    return server
