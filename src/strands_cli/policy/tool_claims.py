"""Combine the known claims of a tool with claims from an untrusted source, which can only tighten them."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from strands_cli.texts.canonical_json import json_object

# Match the names of tools with the words of rules, and say which distribution a word means.


_PATH = re.compile(r"(?:strands_cli\.tools|strands_tools)[.:]([^.:/]+)(?:[.:]\1)?")
_NATIVE = "native:"
_GLOB = re.compile(r"[*?\[\]]")


def is_bare(pattern: str) -> bool:
    """Return whether a word names a tool of a distribution without naming the distribution; `*` alone names all."""
    if pattern == "*" or pattern.partition(":")[0] in ("mcp", "late", "agent", "workflow"):
        return False
    head, _, _ = pattern.removeprefix(_NATIVE).rpartition("/")
    return not _GLOB.sub("", head)


def admitted(pattern: str, names: tuple[str, ...], distribution: str | None) -> bool:
    """Return whether a word of a policy file that allows, or exempts from a deny, admits a tool.

    A word without a distribution means the one named after the tool: any other could be installed tomorrow with a tool
    of that name. A glob without one means none.

    Args:
        distribution: The tool's distribution; None if it has none.
    """
    if not named(pattern, names):
        return False
    return distribution is None or not is_bare(pattern) or normalised(distribution) == meant_distribution(pattern)


def meant_distribution(pattern: str) -> str | None:
    """Return the distribution that a word without one means: `strands-tool-yours` for `yours`; None for a glob."""
    if _GLOB.search(pattern):
        return None
    path = _PATH.fullmatch(pattern)
    name = path[1] if path else pattern.removeprefix(_NATIVE).partition(".")[0]
    return normalised(f"strands-tool-{name}")


def named(pattern: str, names: tuple[str, ...]) -> bool:
    """Return whether a name or glob matches one of the names; a distribution in it may have any spelling.

    The older paths (`strands_cli.tools.foo`, `strands_tools.foo`) mean `native:foo`, as in tool refs. The name of a
    family (`native:files.*`) is matched by no glob: `strands-tool-files/file*` must not allow tools with other names.
    """
    if (path := _PATH.fullmatch(pattern)) and named(f"native:{path[1]}", names):
        return True
    head, slash, tool = pattern.rpartition("/")
    if slash and not pattern.startswith("mcp:"):  # the ids of servers have one spelling
        prefix, colon, distribution = head.rpartition(":")
        pattern = f"{prefix}{colon}{normalised(distribution)}/{tool}"
    if _GLOB.search(pattern) is None:
        return pattern in names
    return any(name == pattern if name.endswith(".*") else fnmatch.fnmatchcase(name, pattern) for name in names)


def named_any(patterns: tuple[str, ...], distribution: str) -> bool:
    """Return whether one of the globs matches a distribution's name, in any spelling of both."""
    return any(fnmatch.fnmatchcase(normalised(distribution), normalised(pattern)) for pattern in patterns)


def normalised(distribution: str) -> str:
    """Return the normalised spelling of a distribution's name, or of a glob of names."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def names_custom(pattern: str, reference: str) -> bool:
    """Return whether a pattern names `pkg.module:attr` itself or a package of it (`pkg.*`); no other glob matches.

    Args:
        pattern: An entry of the allowlist, or the tools of a rule.
        reference: Custom Python, with `:` or `.` before the attribute.
    """
    dotted, pattern = reference.replace(":", "."), pattern.replace(":", ".")
    # The comparison includes the dot before the star: `pkg.*` must not allow `pkgs.evil`.
    package = pattern[:-1] if pattern.endswith(".*") and len(pattern) > 2 else None
    return dotted == pattern or (package is not None and dotted.startswith(package))


class Claims(NamedTuple):
    """The claims about a tool: the MCP hints, and the fields under `strands_cli`."""

    annotations: Mapping[str, Any]
    claims: Mapping[str, Any]


NO_CLAIMS = Claims({}, {})


def tightened(declared: Claims, claimed: Claims) -> Claims:
    """Return the declared claims with those untrusted claims that make decisions stricter.

    Args:
        declared: Claims from a trusted source.
        claimed: Claims from an untrusted source: an MCP server, or code known only after loading.

    Returns:
        Claims that no rule, and no decision without rules, treats less strictly than `declared`.
    """
    return Claims(
        {**declared.annotations, **_careful_hints(claimed.annotations), **_contradiction_in(declared.annotations)},
        {**declared.claims, **_careful_claims(declared.claims, claimed.claims)},
    )


def _careful_hints(hints: Mapping[str, Any]) -> dict[str, Any]:
    careful = {name: False for name in ("readOnlyHint", "idempotentHint") if hints.get(name) is False}
    # A destructive hint other than true and false counts as true.
    risky = {name: hints[name] for name in ("destructiveHint", "openWorldHint") if hints.get(name) not in (None, False)}
    return {**careful, **risky}


def _contradiction_in(hints: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hint that keeps contradictory hints so: every call of the tool asks, not each of a writing one."""
    is_contradictory = hints.get("readOnlyHint") is True and hints.get("destructiveHint") not in (None, False)
    return {"readOnlyHint": True} if is_contradictory else {}


def _careful_claims(declared_claims: Mapping[str, Any], claimed: Mapping[str, Any]) -> dict[str, Any]:
    careful: dict[str, Any] = {}
    if (confirmation := claimed.get("requires_confirmation")) not in (None, False):
        careful["requires_confirmation"] = confirmation
    added, declared = claimed.get("capabilities"), declared_claims.get("capabilities")
    if isinstance(added, Mapping) and (more := {name: value for name, value in added.items() if value}):
        careful["capabilities"] = {**json_object(declared), **more}
    return careful
