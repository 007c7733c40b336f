"""The policy on distributions that a person wants to install: what rules say of all or of each of their tools."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.errors import Code, Denied, Finding
from strands_cli.hooks.hook_values import HookContext
from strands_cli.hooks.manager import Hooks
from strands_cli.planning.planned_tools.policy_requests import request_of
from strands_cli.planning.resolve.single_tool import installed_tool
from strands_cli.plugins.install.unpacked_plugin import UnpackedPlugin
from strands_cli.policy.decision import Decision
from strands_cli.policy.rules.rule import Rule
from strands_cli.policy.rules.tool_request import Request

PLUGIN_DENIED = Code(
    "plugin-denied",
    "Policy denies every tool of a distribution, so it is not installed.",
    "Have the rule changed: strands explain policy REF",
    21,
)


def require_allowed(name: str, rules: Sequence[Rule]) -> None:
    """Refuse a distribution that a rule denies with all its tools and versions, before it is fetched.

    Raises:
        Denied: There is such a rule.
    """
    any_tool = Request((f"{name}/?", f"native:{name}/?"), distribution=name)
    for rule in rules:
        narrowed = (
            rule.unless or rule.version or rule.sources or rule.capabilities or rule.publisher or rule.is_conditional
        )
        if rule.effect == "deny" and not narrowed and rule.matches(any_tool):
            raise _denied(name, Decision("deny", rule.words, rule))


def require_one_allowed(name: str, decisions: Iterable[Decision]) -> None:
    """Refuse a distribution if policy denies each of its tools.

    Raises:
        Denied: It does.
    """
    every = list(decisions)
    if every and all(decision.effect == "deny" for decision in every):
        raise _denied(name, every[0])


def decision_on(
    record: ToolRecord,
    plugin: UnpackedPlugin,
    rules: Sequence[Rule],
    hooks: Hooks,
    sources: Iterable[str],
    publisher: str | None,
) -> Decision:
    """Return what policy and hook plugins say of a tool of a distribution that has no place in this environment yet.

    Args:
        sources: The words of rules for where it comes from.
        publisher: Its verified publisher, in the words of a rule; None is unknown.
    """
    ref = f"native:{record.ref_name}"
    request = request_of(installed_tool(record, plugin.catalog, ref))
    request = replace(request, sources=frozenset(sources), publisher=publisher)
    return hooks.allow_tool(record, ref, HookContext(rules=tuple(rules), request=request))


def _denied(name: str, decision: Decision) -> Denied:
    message = f"policy denies every tool of '{name}': {decision.rule}"
    fix = f"have the rule changed, if it should not match; strands explain policy native:{name}/TOOL"
    return Denied(message, findings=[Finding(PLUGIN_DENIED, message, None, fix)])
