"""One MCP server of a run: started within its time, called, started again when it has died, and stopped."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from strands.tools.mcp import MCPClient
from strands.tools.mcp.mcp_agent_tool import MCPAgentTool
from strands.types import PaginatedList

from strands_cli.addresses.written_places import open_network
from strands_cli.errors import NotEquipped, RunFailed, StrandsCliError
from strands_cli.planning.planned_tool import filled_in
from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor
from strands_cli.system.daemon_threads import DaemonThreads
from strands_cli.texts.canonical_json import canonical_json
from strands_cli.tools.invocation import Progress
from strands_cli.tools.mcp.read_lines import without_halves
from strands_cli.tools.mcp.repaired_messages import Link
from strands_cli.tools.media import Block, blocks_of_bytes, decoded, described
from strands_cli.tools.tool_results import Result, error_result
from strands_cli.workflow.steps import McpServer

# One block in the answer of an MCP server's tool, in the SDK's form of tool results.


def block_of(content: Any) -> Block:
    """Return a block; text stays text, pictures and documents are kept, and other content is named in text."""
    kind = content.type
    if kind == "text":
        return {"text": content.text}
    if kind in ("image", "audio"):
        return _of_bytes(content.data, mime_type(content), kind)
    if kind == "resource_link":
        parts = [str(content.uri), content.title or content.name or "", content.description or ""]
        about = described(mime_type(content), getattr(content, "size", None), str(content.uri))
        return {"text": about + "".join(f"\n{part}" for part in dict.fromkeys(parts[1:]) if part)}
    resource = content.resource
    if hasattr(resource, "text"):
        return {"text": resource.text}
    return _of_bytes(resource.blob, mime_type(resource), "", str(resource.uri))


def mime_type(content: Any) -> str:
    """Return the type that content claims; the versions of the protocol's package name it differently."""
    return str(getattr(content, "mime_type", None) or getattr(content, "mimeType", None) or "")


def _of_bytes(text: str, mime: str, kind: str, name: str = "") -> Block:
    data = decoded(text)
    if data is None:
        return {"text": described(mime or kind, None, name) + "\nIts data are not base64."}
    blocks = blocks_of_bytes(data, mime or ("image/*" if kind == "image" else kind), name)
    texts = [block["text"] for block in blocks if "text" in block]
    return blocks[0] if len(blocks) == 1 else {"text": "\n".join(texts)}


# The SDK's own time limit waits for ever for a server that does not answer; ours breaks the connection off.
_NEVER_S = 24 * 60 * 60
# How long a broken connection may take to be gone, and a closed one.
GIVE_UP_S, STOP_S = 6.0, 8.0
_CLOSED_S, COMPARED_S, _LOOK_S = 0.2, 10.0, 0.01
# A longer list is a flood.
MAX_TOOLS, MAX_PAGES = 512, 64
METHOD_NOT_FOUND = -32601
_THREADS = DaemonThreads()
# How often a dead server is started again in one run.
MAX_RESTARTS = 3


class Flood(NotEquipped):
    """A server lists more tools than the limit."""


class _TellsNothing(Exception):
    """A server does not tell when its tools change."""


class Client(MCPClient):
    """The SDK's client, with an end to lists of tools."""

    def __init__(self, link: Link, **settings: Any) -> None:
        super().__init__(link.open, **settings)
        self._link = link
        self._pages = self._tool_count = 0

    def stop(self, *error: Any) -> None:
        """End the connection, also where it has ended by itself."""
        thread, loop = self._background_thread, self._background_thread_event_loop
        if self._link.is_over and thread is not None and thread is not threading.current_thread():
            thread.join(GIVE_UP_S)
            if loop is not None and not thread.is_alive():
                # The SDK would leave a coroutine in it that nothing awaits, and Python would complain.
                loop.close()
                self._background_thread_event_loop = None
        super().stop(*error)

    def list_tools_sync(self, pagination_token: str | None = None, *others: Any, **named: Any) -> PaginatedList[Any]:
        """Return a page of the server's tools.

        Raises:
            Flood: it is one page too many, or there are too many tools on them.
        """
        if pagination_token is None:
            self._pages = self._tool_count = 0
        page = super().list_tools_sync(pagination_token, *others, **named)
        self._pages, self._tool_count = self._pages + 1, self._tool_count + len(page)
        if self._tool_count > MAX_TOOLS or (page.pagination_token is not None and self._pages >= MAX_PAGES):
            raise Flood(f"it lists more than {MAX_TOOLS} tools, or more than {MAX_PAGES} pages of them")
        return page

    def map_mcp_content_to_tool_result_content(self, content: Any) -> Any:
        """Return a block of an answer in the SDK's form; other content is named in text."""
        return block_of(content)

    def list_all(self) -> list[MCPAgentTool]:
        """Return all tools of the server."""
        page = self.list_tools_sync()
        tools = list(page)
        while page.pagination_token is not None:
            page = self.list_tools_sync(page.pagination_token)
            tools += page
        return tools


class Server:
    """A server that the run has started, with the definitions of its tools as they were then.

    Those hold for the whole run: a tool whose definition the server changes is no longer called.
    """

    def __init__(
        self, settings: McpServer, folder: Path, values: Mapping[str, str], redactor: Redactor = HIDE_NOTHING
    ) -> None:
        self.settings = settings
        self.tools: dict[str, dict[str, Any]] = {}
        self._folder = folder
        self._values = values
        self._redactor = redactor
        self._client: Client | None = None
        self._link: Link | None = None
        self._changed: dict[str, str] = {}
        self._starting = asyncio.Lock()
        self._starts = 0
        # The SDK's client does not connect to a server of the newer protocol that cannot tell of changes, if asked to.
        self._tells = True

    async def start(self) -> tuple[Client, Link]:
        """Start the server, learn its tools and return the connection.

        Raises:
            NotEquipped: it does not start, or does not answer in time; nothing of it is left.
        """
        self._starts += 1
        if self._tells:
            try:
                return await self._connect()
            except _TellsNothing:
                self._tells = False
        return await self._connect()

    async def _connect(self) -> tuple[Client, Link]:
        link = Link(self._reach())
        listener = self._compare if self._tells else None
        client = Client(link, startup_timeout=_NEVER_S, application_name="strands-cli", on_tools_changed=listener)
        self._client, self._link = client, link

        def begin() -> list[MCPAgentTool]:
            client.start()
            # Its notifications are received nevertheless.
            client.on_tools_changed = self._compare
            return client.list_all()

        beginning = _in_thread(begin)
        try:
            done, _ = await asyncio.wait({beginning}, timeout=self.settings.startup_timeout)
            if not done:
                raise self._fault(f"did not answer within {self.settings.startup_timeout:g} s")
            listed = await beginning
        except StrandsCliError as error:
            await self._give_up(beginning)
            raise error if not isinstance(error, Flood) else self._fault(f"cannot be used: {error.message}") from error
        except BaseException as error:
            await self._give_up(beginning)
            if not isinstance(error, Exception):
                raise
            if self._tells and getattr(_cause(error), "code", None) == METHOD_NOT_FOUND:
                raise _TellsNothing from error
            raise self._fault(f"does not start: {_reason(error)}") from error
        link.fault, link.is_stale = None, False  # the client asks for features that older servers lack
        self._learn(listed)
        link.changes.compare()
        return client, link

    def _reach(self) -> Any:
        settings = self.settings
        if settings.url is not None:
            from strands_cli.tools.mcp.transports import reach_url

            opened = tuple(map(open_network, settings.allow_private))
            return reach_url(settings.url, self._filled(settings.headers), settings.proxy, opened)
        from strands_cli.tools.mcp.transports import reach_process

        return reach_process(settings.command or "", settings.args, self._filled(settings.env), self._folder)

    def _filled(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Return texts with the secrets that they name."""
        return {name: filled_in(text, self._secret) for name, text in texts.items()}

    def _secret(self, name: str) -> str:
        if name not in self._values:
            message = f"the MCP server '{self.settings.id}' needs the secret '{name}', which has no value here"
            raise NotEquipped(message, fix=f"declare it under `env.secrets`, and set it: export {name}=...")
        return self._values[name]

    async def _give_up(self, beginning: asyncio.Future[Any]) -> None:
        """Break the connection off and see that nothing of it is left."""
        client, self._client = self._client, None
        if self._link is not None:
            self._link.give_up()
        await asyncio.wait({beginning}, timeout=GIVE_UP_S)
        if beginning.done() and not beginning.cancelled():
            beginning.exception()  # it is known, or of no interest
        if client is not None:
            await _stopped(client, self._link)

    def _fault(self, fault: str) -> NotEquipped:
        """Return the error for a server that cannot be used, with its last words."""
        link = self._link
        message = f"the MCP server '{self.settings.id}' {fault}"
        if link is not None and link.fault:
            message += f"; {link.fault}"
        if link is not None and link.last_lines:
            message += "\n  it wrote: " + "\n  it wrote: ".join(link.last_lines)
        fix = f"see that it works by itself: {self._how}"
        return NotEquipped(self._redactor.text(message), fix=self._redactor.text(fix))

    @property
    def notes(self) -> list[str]:
        """Notes about the messages of the server for a person, without secrets."""
        return [self._redactor.text(note) for note in self._link.notes] if self._link is not None else []

    @property
    def _how(self) -> str:
        """A command or address to try without this program."""
        return self.settings.url or shlex.join([str(self.settings.command), *self.settings.args])

    def _learn(self, listed: list[MCPAgentTool]) -> None:
        """Store the definitions, or compare new ones with the stored ones."""
        if self.tools:
            self._compare([], listed)
            return
        for tool in listed:
            self.tools.setdefault(tool.mcp_tool.name, definition_of(tool))

    def _compare(self, _before: Any, listed: Iterable[Any]) -> None:
        """Note which tools have changed, in a thread of the client."""
        now = {tool.mcp_tool.name: definition_of(tool) for tool in listed}
        changed = {}
        for name, before in self.tools.items():
            if name not in now:
                changed[name] = "the server no longer has it"
            elif canonical_json(now[name]) != canonical_json(before):
                fields = [field for field in {**before, **now[name]} if now[name].get(field) != before.get(field)]
                changed[name] = f"the server has changed its {', '.join(fields)}"
        self._changed = changed
        if self._link is not None:
            self._link.changes.compare()

    async def call(self, name: str, tool_use: Mapping[str, Any], progress: Progress) -> Any:
        """Call a tool by the server's own name for it; a dead server is started again first.

        A call in which the server dies is an error and is not made again: it may have had effects.
        """
        identity = str(tool_use["toolUseId"])
        try:
            client, link = await self._live()
        except StrandsCliError as error:
            return error_result(identity, "unavailable", error.message, retryable=self._starts <= MAX_RESTARTS)
        if not await _wait_until(lambda: link.changes.are_known or link.closed, COMPARED_S):
            message = f"{name} is not called: the server has announced other tools, and does not list them"
            return error_result(identity, "denied", message)
        if name in self._changed:
            message = f"{name} is not called any more: {self._changed[name]} since the run began"
            return error_result(identity, "denied", message)
        link.fault = None
        try:
            answer: dict[str, Any] = dict(
                await client.call_tool_async(
                    identity, name, without_halves(dict(tool_use["input"])), progress_callback=_telling(progress)
                )
            )
        except Exception as error:  # noqa: BLE001 - the SDK's client raises several types when it is not connected
            answer = {"status": "error", "content": [{"text": _reason(error)}]}
        if answer["status"] == "error" and "isError" not in answer:
            # The server itself did not say so; the SDK fails the call before it has closed the connection.
            await _wait_until(lambda: link.closed or link.fault, _CLOSED_S)
        if answer["status"] == "error" and (link.closed or link.fault):
            return self._lost(identity)
        if answer.get("structuredContent") is not None and not answer["content"]:
            answer["content"] = [{"json": answer["structuredContent"]}]
        return answer

    def _lost(self, identity: str) -> Result:
        message = self._fault("was lost in the middle of the call, which may have had its effect").message
        return error_result(identity, "unavailable", message, retryable=self._starts <= MAX_RESTARTS)

    async def _live(self) -> tuple[Client, Link]:
        """Return the connection, made again where it is lost."""
        async with self._starting:
            client, link = self._client, self._link
            if client is not None and link is not None and not (link.closed or link.is_stale):
                return client, link
            if self._starts > MAX_RESTARTS:
                message = f"the MCP server '{self.settings.id}' has died {self._starts} times in this run"
                raise RunFailed(message, fix=f"see that it works by itself: {self._how}")
            await self.stop()
            return await self.start()

    async def stop(self) -> None:
        """End the connection and the server, if it runs; nothing of it is left."""
        client, self._client = self._client, None
        if client is not None:
            await _stopped(client, self._link)


def _in_thread(work: Callable[[], Any]) -> asyncio.Future[Any]:
    """Do blocking work in a thread that holds up neither the end of the run nor that of the process."""
    return asyncio.get_running_loop().run_in_executor(_THREADS, work)


async def _wait_until(is_so: Callable[[], object], seconds: float) -> bool:
    """Wait until something is so that another thread brings about; return whether it is, in the end."""
    for _ in range(int(seconds / _LOOK_S)):
        if is_so():
            return True
        await asyncio.sleep(_LOOK_S)
    return bool(is_so())


async def _stopped(client: Client, link: Link | None) -> None:
    stopping = _in_thread(partial(client.stop, None, None, None))
    try:
        await asyncio.wait({stopping}, timeout=STOP_S)
    finally:
        if not stopping.done() and link is not None:
            link.give_up()
            await asyncio.wait({stopping}, timeout=GIVE_UP_S)
        if stopping.done() and not stopping.cancelled():
            stopping.exception()  # how the connection ended no longer matters


def definition_of(tool: Any) -> dict[str, Any]:
    """Return a server's definition of a tool, in the words of the catalog."""
    spec = tool.tool_spec
    schema = spec["inputSchema"]
    output = spec.get("outputSchema")
    fields = {
        "name": tool.mcp_tool.name,
        "description": tool.mcp_tool.description,
        "input_schema": schema.get("json", schema),
        "output_schema": output.get("json", output) if output else None,
        "annotations": spec.get("annotations"),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _telling(progress: Progress) -> Callable[..., Any]:
    loop = asyncio.get_running_loop()

    async def tell(done: float, total: float | None, message: str | None) -> None:
        with contextlib.suppress(RuntimeError):  # the run is over
            loop.call_soon_threadsafe(progress, {"done": done, "total": total, "message": message})

    return tell


def _reason(error: BaseException) -> str:
    """Return why, in words."""
    cause = _cause(error)
    return str(getattr(cause, "message", "")) or str(cause) or type(cause).__name__


def _cause(error: BaseException) -> BaseException:
    """Return the innermost cause, since the SDK and task groups wrap it."""
    while True:
        if isinstance(error, BaseExceptionGroup) and error.exceptions:
            error = error.exceptions[0]
        elif error.__cause__ is not None:
            error = error.__cause__
        else:
            return error
