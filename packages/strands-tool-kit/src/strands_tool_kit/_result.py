"""Results of a tool in the shape that Strands expects, and the error that becomes one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Output = tuple[str, dict[str, Any]]


class ToolError(Exception):
    """A call that cannot be served, with the reason for the model and the engine.

    Attributes:
        code: One of the shared vocabulary: `invalid_input`, `denied`, `timeout`, `cancelled`, `unavailable`,
            `tool_failed`, `sandbox_violation`.
        retryable: Whether the same call may succeed later.
        details: JSON values; `reason` names the exact cause in one kebab-case word. Two are for the person who runs the
            workflow, who reads them under the call, and not for the model: `config` has the settings of the tool that
            permit such a call, as `{"allow_hosts": ["example.org"]}`; `fix` is a sentence where no setting does.
    """

    def __init__(self, code: str, message: str, *, retryable: bool = False, **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable
        self.details = details


def answer(tool: Mapping[str, Any], work: Callable[[], Output]) -> dict[str, Any]:
    """Run the work of a call and return its text and JSON, or its `ToolError`, as a Strands tool result.

    An empty text is left out: some providers refuse an empty text block.

    Args:
        tool: The Strands tool use; its `toolUseId` is repeated in the result.
        work: Returns the text for the model and the JSON value for programs.
    """
    try:
        return _success(tool, *work())
    except ToolError as error:
        return _failure(tool, error)


async def answer_async(tool: Mapping[str, Any], work: Callable[[], Awaitable[Output]]) -> dict[str, Any]:
    """Await the work of a call and return the same as `answer`."""
    try:
        return _success(tool, *await work())
    except ToolError as error:
        return _failure(tool, error)


def cut_text(text: str, limit: int) -> tuple[str, bool]:
    """Return the text up to a number of bytes of UTF-8, and whether it was cut.

    Half of a surrogate pair, which no UTF-8 can carry, becomes a question mark.
    """
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= limit:
        return encoded.decode("utf-8"), False
    return encoded[:limit].decode("utf-8", "ignore"), True


def _success(tool: Mapping[str, Any], text: str, value: dict[str, Any]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"text": text}] if text else []
    return _result(tool, "success", [*content, {"json": value}])


def _failure(tool: Mapping[str, Any], error: ToolError) -> dict[str, Any]:
    described = {
        "code": error.code,
        "message": str(error),
        "retryable": error.retryable,
        "details": error.details,
    }
    return _result(tool, "error", [{"text": f"{error.code}: {error}"}, {"json": {"error": described}}])


def _result(tool: Mapping[str, Any], status: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"toolUseId": tool.get("toolUseId", ""), "status": status, "content": content}
