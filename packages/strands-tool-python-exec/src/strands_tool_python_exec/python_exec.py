"""The tool `python_exec`: run Python code in a locked child process and return its output and result."""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable
from typing import Any

from strands_tool_kit import CallContext, ToolError, answer, read_input
from strands_tool_kit.spec import (
    array,
    capabilities,
    for_programs,
    hints,
    inputs,
    mapping,
    number,
    outputs,
    record,
    string,
)
from strands_tool_python_exec import _engine, _monty, engines
from strands_tool_python_exec._answer import FILE_NAME, Answer, answer_of, text_of
from strands_tool_python_exec._pool import POOL
from strands_tool_python_exec._process import Request, run

TOOL_SPEC: dict[str, Any] = {
    "name": "python_exec",
    "description": (
        "Run Python code in a sandbox and return what it printed. The standard library is there; network, other "
        "processes and files outside are not. Every call starts fresh: nothing is kept between calls. The value of a "
        "last expression is returned as 'result'. 'files' are put into the current directory first; files the code "
        "leaves there come back."
    ),
    "inputSchema": inputs(
        {
            "code": string("Python source code.", length=(None, 200000)),
            "timeout": number("Seconds the code may take; 10 unless configured otherwise.", between=(0.1, 300)),
            "files": mapping(
                string(),
                "Text files by name, written into the current directory before the code runs.",
                maxProperties=64,
            ),
            "files_base64": mapping(
                string(), "The same for files that are not text: their bytes in base64.", maxProperties=64
            ),
        },
        required=["code"],
    ),
    "outputSchema": outputs(
        {
            **for_programs(
                stdout=string(),
                stderr=string(),
                result={"description": "The last expression's value: small JSON as it is, else its repr."},
                error=record(
                    {
                        "type": string(),
                        "message": string(),
                        "line": {"type": ["integer", "null"], "description": "Line of the code, where there is one."},
                    }
                ),
                engine=string(),
                layers=mapping(string()),
                limits_hit=array(string()),
            ),
            "files": mapping(string()),
            "files_base64": mapping(string()),
            "notices": array(string()),
        },
        optional=["result", "error", "files", "files_base64", "notices"],
    ),
    "annotations": hints("Run Python", reads_only=True, idempotent=False),
    "strands_cli": {
        "requires_confirmation": False,
        "capabilities": capabilities(subprocess=True),
        "resources": {"reads": [], "writes": []},
        "timeout_s": 310,
        "max_output_bytes": 1048576,
        "engines": "strands_tool_python_exec.engines:engines",
    },
}

_MAX_FILES_SIZE = 4 << 20


def python_exec(tool: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Run the code of one call.

    Args:
        tool: The Strands tool use: `toolUseId` and `input`.
        **kwargs: The invocation state; `strands_cli` may carry `config` (`engine`, `timeout_s`, `max_timeout_s`,
            `memory_mb`, `disk_mb`, `max_output_bytes`, `packages`), `deadline` and `cancel`.

    Returns: A Strands tool result: the output, and a JSON block with the rest. Code that fails is a success with an
        `error`; an error result means that no code was run, or that the call was cancelled.
    """
    context = CallContext.of(kwargs)

    def work() -> tuple[str, dict[str, Any]]:
        arguments = read_input(tool, TOOL_SPEC)
        context.require_time()
        engine, why = engines.choose(context.config.get("engine", engines.AUTO))
        if not engine:
            raise ToolError("unavailable", f"python_exec runs nothing on this machine: {why}", reason="engine")
        request = _request(arguments, context, engine)
        value = (_run_monty if engine == _monty.NAME else _run_locked)(request, _cancelled(context))
        if value is None:
            raise ToolError("cancelled", "the call was cancelled", reason="cancelled")
        return text_of(value), value

    return answer(tool, work)


def close() -> None:
    """End the sandboxes that wait for further calls; the host calls this when a run is over."""
    POOL.close()


def _cancelled(context: CallContext) -> Callable[[], bool]:
    return lambda: POOL.is_ending or (context.cancel is not None and context.cancel.is_set())


def _run_locked(request: Request, is_cancelled: Callable[[], bool]) -> Answer | None:
    try:
        with POOL.lend(request.settings) as sandbox:
            outcome = run(request, sandbox, is_cancelled)
    except OSError as error:
        message = f"the sandbox cannot be started: {error.strerror or error}"
        raise ToolError("unavailable", message, retryable=True, reason="sandbox") from error
    if outcome.ended_for == "cancelled":
        return None
    if outcome.layers is None:
        why = outcome.refused or f"its process ended with status {outcome.status}"
        raise ToolError("unavailable", f"the sandbox did not start: {why}", retryable=True, reason="sandbox")
    return answer_of(_engine.NAME, outcome, request)


def _run_monty(request: Request, is_cancelled: Callable[[], bool]) -> Answer | None:
    if request.settings.import_from:
        message = "the engine 'monty' cannot import packages; 'packages' needs the engine 'locked-cpython'"
        raise ToolError("unavailable", message, reason="package")
    return _monty.run(request, is_cancelled)


def _request(arguments: dict[str, Any], context: CallContext, engine: str) -> Request:
    """Return the code to run and its limits."""
    config = context.config
    timeout = arguments["timeout"] or config.get("timeout_s", 10)
    most = config.get("max_timeout_s", 300)
    is_capped, timeout = timeout >= most, min(timeout, most)
    if context.deadline is not None:
        timeout = min(timeout, context.deadline - time.monotonic())
    verdict = _engine.verdict()
    try:
        settings = _engine.settings_for(
            machine=verdict.machine,
            namespaces=verdict.namespaces,
            memory_mb=config.get("memory_mb", 512),
            disk_mb=config.get("disk_mb", 64),
            packages=tuple(config.get("packages", ())),
        )
    except LookupError as error:
        message = f"the configured package {error.args[0]!r} is not installed here"
        raise ToolError("unavailable", message, reason="package") from error
    files = _files(arguments["files"] or {}, arguments["files_base64"] or {})
    return Request(arguments["code"], files, timeout, config.get("max_output_bytes", 65_536), settings, is_capped)


def _files(texts: dict[str, str], others: dict[str, str]) -> dict[str, bytes]:
    """Return the bytes of each file by its name."""
    arguments = [*(("files", *item) for item in texts.items()), *(("files_base64", *item) for item in others.items())]
    files: dict[str, bytes] = {}
    for field, name, text in arguments:
        if not FILE_NAME.fullmatch(name) or not isinstance(text, str) or name in files:
            message = f"'{field}' takes text by plain file name (no folders, each name once), not {name[:100]!r}"
            raise ToolError("invalid_input", message, reason="files", field=field)
        try:
            content = text.encode(errors="replace") if field == "files" else base64.b64decode(text, validate=True)
        except (ValueError, binascii.Error):
            message = f"the content of {name!r} in 'files_base64' is not base64"
            raise ToolError("invalid_input", message, reason="files", field=field) from None
        files[name] = content
    if sum(map(len, files.values())) > _MAX_FILES_SIZE:
        raise ToolError("invalid_input", f"files may have at most {_MAX_FILES_SIZE} bytes together", reason="length")
    return files
