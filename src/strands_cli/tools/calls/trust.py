"""Which claims of a loaded tool count: all where a manifest or a lock vouches for it, else those that restrict."""

from __future__ import annotations

from strands_cli.planning.plan_values import PlannedTool, WorkflowTool
from strands_cli.planning.planned_tool import InstalledTool, McpTool, ObjectTool, PythonTool
from strands_cli.policy.tool_claims import NO_CLAIMS, Claims, tightened
from strands_cli.texts.canonical_json import json_object
from strands_cli.tools.manifest_check import LoadedTool


def counted_claims(tool: LoadedTool, locked: frozenset[str] = frozenset()) -> Claims:
    """Return the claims of a tool that policy may count.

    The claims that an installed distribution declares without being run count, and those of the program and of
    allowlisted Python. A fact known only once code runs, or from a server, is a claim; for the code of a locked
    distribution, and for the definitions of a locked server, the lock vouches.

    Args:
        locked: The parts that a lock vouches for: distributions, and servers as `mcp:ID`.
    """
    claims = Claims(json_object(tool.spec.get("annotations")), tool.claims)
    is_vouched_for = _is_pinned if tool.raw.is_remote else _is_vouched_for
    if is_vouched_for(tool.planned, locked):
        return claims
    return tightened(_declared(tool.planned), claims)


def _is_pinned(tool: PlannedTool, locked: frozenset[str]) -> bool:
    # A lock of files covers no tools that their code forwards from a server: only a lock of the server's definitions
    # does.
    return isinstance(tool, McpTool) and f"mcp:{tool.server.id}" in locked


def _is_vouched_for(tool: PlannedTool, locked: frozenset[str]) -> bool:
    record = tool.record
    if isinstance(tool, (PythonTool, ObjectTool)) or record.distribution in locked:
        return True
    return record.manifest is not None and record.members is not None


def _declared(tool: PlannedTool) -> Claims:
    record = tool.record
    # A holder whose tools were found when it was loaded declares nothing of any of them; a program's object is itself.
    if not isinstance(tool, (InstalledTool, WorkflowTool)) or record.members is None:
        return NO_CLAIMS
    return Claims(json_object(record.annotations), json_object(record.strands_cli))
