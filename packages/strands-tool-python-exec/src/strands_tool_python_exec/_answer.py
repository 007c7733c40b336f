"""The answer of a call: built only here, from the facts seen by the parent and from untrusted texts."""

from __future__ import annotations

import base64
import json
import re
import signal
from typing import Any

from strands_tool_python_exec._process import Outcome, Request

FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. -]{0,99}")
_LIMIT_OF_ERRNO = {"27": "disk", "28": "disk", "24": "open_files", "12": "memory"}
# A step that calls a tool has an input, and no config.
_CONFIG = "in the `config` of the tool, where `tools.python` or its agent lists it"
_MORE = {limit: f"`{limit}_mb` {_CONFIG}, gives more" for limit in ("disk", "memory")}
_LIMIT_WORDS = {
    "wall_time": "the code took longer than {timeout:g} seconds; {more_time} gives more",
    "output": f"the code wrote far more output than is kept; `max_output_bytes` {_CONFIG}, keeps more",
    "disk": "the code filled its {disk} MiB of disk; " + _MORE["disk"],
    "cpu_time": "the code used more than {timeout:g} seconds of processor time; {more_time} gives more",
}
Answer = dict[str, Any]


def answer_of(engine: str, outcome: Outcome, request: Request) -> Answer:
    """Build the answer of a sandbox; its own words only fill in texts."""
    report = _report_in(bytes(outcome.report))
    error, limits = _error(outcome, request, report)
    value: Answer = {
        "stdout": outcome.stdout.decode(errors="replace"),
        "stderr": outcome.stderr.decode(errors="replace"),
        "engine": engine,
        "layers": outcome.layers or {},
        "limits_hit": limits,
    }
    if error is not None:
        value["error"] = error
    elif report.get("result") is not None:
        value["result"] = report["result"]
    return value | files_of(outcome.files, request.files)


def _report_in(report: bytes) -> dict[str, Any]:
    """Return the report of the sandbox, if it is an object; lone surrogates, which no answer can carry, become `?`."""
    try:
        plain = json.dumps(json.loads(report or b"{}"), ensure_ascii=False, allow_nan=False)
        value = json.loads(plain.encode(errors="replace"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _error(outcome: Outcome, request: Request, report: dict[str, Any]) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the error, if there was one, and the reached limits."""
    limits = ["output"] if outcome.is_cut else []
    ended_for = "cpu_time" if outcome.status == -signal.SIGXCPU else outcome.ended_for
    if ended_for:
        return over(ended_for, request), [*limits, *({ended_for} - set(limits))]
    if outcome.status < 0:
        return plain("Killed", f"the process was ended by {_signal_name(-outcome.status)}"), limits
    failure = report.get("error")
    if isinstance(failure, dict):
        line = failure.get("line")
        kind = str(failure.get("type"))[:200]
        limit = "memory" if kind == "MemoryError" else _LIMIT_OF_ERRNO.get(str(failure.get("errno")), "")
        words = (str(failure.get("message"))[:2000], _MORE.get(limit, ""))
        error = plain(kind, "; ".join(filter(None, words)))
        error["line"] = line if type(line) is int else None
        return error, [*limits, *([limit] if limit else [])]
    if outcome.status > 0:
        return plain("Exit", f"the process ended with status {outcome.status}"), limits
    return None, limits


def over(limit: str, request: Request) -> dict[str, Any]:
    """Return the error of code that reached a limit."""
    more = f"`max_timeout_s` {_CONFIG}," if request.is_capped else "`timeout` in the input of the call"
    words = _LIMIT_WORDS[limit].format(timeout=request.timeout_s, disk=request.settings.disk_mb, more_time=more)
    return plain("LimitExceeded", words)


def plain(kind: str, message: str) -> dict[str, Any]:
    """Return an error that no line of the code is known for."""
    return {"type": kind, "message": message, "line": None}


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def files_of(contents: dict[str, bytes | None], before: dict[str, bytes]) -> Answer:
    """Return the files that the code made or changed, texts and others; too large ones are only named."""
    texts: dict[str, str] = {}
    others: dict[str, str] = {}
    notices: list[str] = []
    for name, content in contents.items():
        if content is None or not FILE_NAME.fullmatch(name):
            printable_name = name.encode(errors="replace").decode(errors="replace")
            notices.append(f"not returned: {printable_name[:100]!r} (too large or oddly named)")
        elif before.get(name) != content:
            try:
                texts[name] = content.decode()
            except UnicodeDecodeError:
                others[name] = base64.b64encode(content).decode()
    named = {"files": texts, "files_base64": others, "notices": notices}
    return {name: value for name, value in named.items() if value}


def text_of(value: Answer) -> str:
    """Return the output that a person at a terminal would see, and the result."""
    parts = [value["stdout"].rstrip("\n"), value["stderr"].rstrip("\n")]
    if "result" in value:
        parts.append(f"result: {json.dumps(value['result'], ensure_ascii=False)}")
    if "error" in value and value["error"]["type"] not in value["stderr"]:
        parts.append(f"{value['error']['type']}: {value['error']['message']}")
    if value["limits_hit"]:
        parts.append(f"[limits hit: {', '.join(value['limits_hit'])}]")
    if names := [*value.get("files", ()), *value.get("files_base64", ())]:
        parts.append(f"[files: {', '.join(names)}]")
    return "\n".join(part for part in parts if part)
