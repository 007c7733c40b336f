"""The tool `python_exec`: run Python code in a locked child process and return what it printed and computed."""

from __future__ import annotations

import json
import re
import signal
import time
from typing import Any

from strands_tool_python_exec import _engine
from strands_tool_python_exec._contract import Context, Refusal, answer, read_input
from strands_tool_python_exec._process import Outcome, Request, run

TOOL_SPEC = {
    "name": "python_exec",
    "description": (
        "Run Python code in a sandbox and return what it printed. The standard library is there; network, other "
        "processes and files outside are not. Every call starts fresh: nothing is kept between calls. The value of a "
        "last expression is returned as 'result'. 'files' are put into the current directory first; text files the "
        "code leaves there come back."
    ),
    "inputSchema": {
        "json": {
            "type": "object",
            "properties": {
                "code": {"type": "string", "maxLength": 200000, "description": "Python source code."},
                "timeout": {
                    "type": "number",
                    "minimum": 0.1,
                    "maximum": 300,
                    "description": "Seconds the code may take; 10 unless configured otherwise.",
                },
                "files": {
                    "type": "object",
                    "maxProperties": 64,
                    "additionalProperties": {"type": "string"},
                    "description": "Text files by name, written into the current directory before the code runs.",
                },
            },
            "required": ["code"],
            "additionalProperties": False,
        }
    },
    "outputSchema": {
        "json": {
            "type": "object",
            "properties": {
                "stdout": {"type": "string"},
                "stderr": {"type": "string"},
                "result": {"description": "The last expression's value: small JSON as it is, else its repr."},
                "error": {
                    "type": "object",
                    "properties": {
                        "type": {"type": "string"},
                        "message": {"type": "string"},
                        "line": {"type": ["integer", "null"], "description": "Line of the code, where there is one."},
                    },
                    "required": ["type", "message", "line"],
                },
                "files": {"type": "object", "additionalProperties": {"type": "string"}},
                "engine": {"type": "string"},
                "layers": {"type": "object", "additionalProperties": {"type": "string"}},
                "limits_hit": {"type": "array", "items": {"type": "string"}},
                "notices": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["stdout", "stderr", "engine", "layers", "limits_hit"],
        }
    },
    "annotations": {
        "title": "Run Python",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": False,
        "openWorldHint": False,
    },
    "strands_cli": {
        "requires_confirmation": False,
        "capabilities": {"network": [], "filesystem": [], "subprocess": True, "env": [], "secrets": []},
        "resources": {"reads": [], "writes": []},
        "timeout_s": 310,
        "max_output_bytes": 1048576,
    },
}

_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. -]{0,99}")
_MAX_FILES_SIZE = 4 << 20
_LIMIT_OF_ERRNO = {"27": "disk", "28": "disk", "24": "open_files", "12": "memory"}
_LIMIT_WORDS = {
    "wall_time": "the code took longer than {timeout:g} seconds",
    "output": "the code wrote far more output than is kept",
    "disk": "the code filled its {disk} MiB of disk",
    "cpu_time": "the code used more than {timeout:g} seconds of processor time",
}


def python_exec(tool: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Run the code of one call.

    Args:
        tool: The Strands tool use: `toolUseId` and `input`.
        **kwargs: The invocation state; `strands_cli` may carry `config` (`timeout_s`, `max_timeout_s`, `memory_mb`,
            `disk_mb`, `max_output_bytes`, `packages`), `deadline` and `cancel`.

    Returns:
        A Strands tool result: what was printed, and a JSON block with the rest. Code that fails is a success with an
        `error`; an error result means that no code was run, or that the call was cancelled.
    """
    context = Context.of(kwargs)

    def work() -> tuple[str, dict[str, Any]]:
        given = read_input(tool, TOOL_SPEC)
        context.require_time()
        request = _request(given, context)
        outcome = run(request, lambda: context.cancel is not None and context.cancel.is_set())
        if outcome.ended_for == "cancelled":
            raise Refusal("cancelled", "the call was cancelled", reason="cancelled")
        if outcome.layers is None:
            why = outcome.refused or f"its process ended with status {outcome.status}"
            raise Refusal("unavailable", f"the sandbox did not start: {why}", retryable=True, reason="sandbox")
        value = _value(outcome, request)
        return _text(value), value

    return answer(tool, work)


def _request(given: dict[str, Any], context: Context) -> Request:
    """Return what to run and in which limits.

    Raises:
        Refusal: The engine does not hold here, or the files or configured packages cannot be had.
    """
    found = _engine.verdict()
    if found.reason:
        raise Refusal("unavailable", f"python_exec runs nothing on this machine: {found.reason}", reason="engine")
    config = context.config
    timeout = given["timeout"] or config.get("timeout_s", 10)
    timeout = min(timeout, config.get("max_timeout_s", 300))
    if context.deadline is not None:
        timeout = min(timeout, context.deadline - time.monotonic())
    try:
        return _engine.request_for(
            given["code"],
            machine=found.machine,
            namespaces=found.namespaces,
            files=_files(given["files"] or {}),
            timeout_s=timeout,
            memory_mb=config.get("memory_mb", 512),
            disk_mb=config.get("disk_mb", 64),
            max_output=config.get("max_output_bytes", 65_536),
            packages=tuple(config.get("packages", ())),
        )
    except LookupError as error:
        message = f"the configured package {error.args[0]!r} is not installed here"
        raise Refusal("unavailable", message, reason="package") from error


def _files(given: dict[str, Any]) -> dict[str, str]:
    for name, text in given.items():
        if not _FILE_NAME.fullmatch(name) or not isinstance(text, str):
            message = f"'files' takes text by plain file name (no folders), not {name[:100]!r}"
            raise Refusal("invalid_input", message, reason="files", field="files")
    if sum(map(len, given.values())) > _MAX_FILES_SIZE:
        raise Refusal("invalid_input", f"'files' takes at most {_MAX_FILES_SIZE} characters", reason="length")
    return given


def _value(outcome: Outcome, request: Request) -> dict[str, Any]:
    """Build the answer; what the sandbox itself says only fills in texts."""
    said = _said(bytes(outcome.report))
    error, limits = _error(outcome, request, said)
    notices: list[str] = []
    value: dict[str, Any] = {
        "stdout": outcome.stdout.decode(errors="replace"),
        "stderr": outcome.stderr.decode(errors="replace"),
        "engine": _engine.NAME,
        "layers": outcome.layers or {},
        "limits_hit": limits,
    }
    if error is not None:
        value["error"] = error
    elif said.get("result") is not None:
        value["result"] = said["result"]
    files = _texts(outcome, request, notices)
    return value | ({"files": files} if files else {}) | ({"notices": notices} if notices else {})


def _said(report: bytes) -> dict[str, Any]:
    """Return what the sandbox reports, if it is an object; lone surrogates, which no answer can carry, become `?`."""
    try:
        plain = json.dumps(json.loads(report), ensure_ascii=False).encode(errors="replace") if report else b"{}"
        said = json.loads(plain)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _error(outcome: Outcome, request: Request, said: dict[str, Any]) -> tuple[dict[str, Any] | None, list[str]]:
    """Return what went wrong, if anything did, and the limits that were reached."""
    limits = ["output"] if outcome.is_cut else []
    ended_for = "cpu_time" if outcome.status == -signal.SIGXCPU else outcome.ended_for
    if ended_for:
        message = _LIMIT_WORDS[ended_for].format(timeout=request.timeout_s, disk=request.disk_mb)
        return _plain("LimitExceeded", message), [*limits, *({ended_for} - set(limits))]
    if outcome.status < 0:
        return _plain("Killed", f"the process was ended by {_signal_name(-outcome.status)}"), limits
    told = said.get("error")
    if isinstance(told, dict):
        line = told.get("line")
        error = _plain(str(told.get("type"))[:200], str(told.get("message"))[:2000])
        error["line"] = line if type(line) is int else None
        limit = "memory" if error["type"] == "MemoryError" else _LIMIT_OF_ERRNO.get(str(told.get("errno")), "")
        return error, [*limits, *([limit] if limit else [])]
    if outcome.status > 0:
        return _plain("Exit", f"the process ended with status {outcome.status}"), limits
    return None, limits


def _plain(kind: str, message: str) -> dict[str, Any]:
    return {"type": kind, "message": message, "line": None}


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _texts(outcome: Outcome, request: Request, notices: list[str]) -> dict[str, str]:
    """Return the text files that the code made or changed; the others are only named."""
    texts: dict[str, str] = {}
    for name, data in outcome.files.items():
        shown = name.encode(errors="replace").decode(errors="replace")
        try:
            text = None if data is None or not _FILE_NAME.fullmatch(name) else data.decode()
        except UnicodeDecodeError:
            text = None
        if text is None:
            notices.append(f"not returned: {shown[:100]!r} (binary, too large or oddly named)")
        elif request.files.get(name) != text:
            texts[name] = text
    return texts


def _text(value: dict[str, Any]) -> str:
    """Return what a person at a terminal would see, and the result."""
    parts = [value["stdout"].rstrip("\n"), value["stderr"].rstrip("\n")]
    if "result" in value:
        parts.append(f"result: {json.dumps(value['result'], ensure_ascii=False)}")
    if "error" in value and value["error"]["type"] not in value["stderr"]:
        parts.append(f"{value['error']['type']}: {value['error']['message']}")
    if value["limits_hit"]:
        parts.append(f"[limits hit: {', '.join(value['limits_hit'])}]")
    if "files" in value:
        parts.append(f"[files: {', '.join(value['files'])}]")
    return "\n".join(part for part in parts if part)
