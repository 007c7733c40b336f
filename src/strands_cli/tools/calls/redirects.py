"""Policy on the addresses that a call goes on to by itself: the rules on its own address hold for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from strands_cli.policy.decision import decide, speaking_rules
from strands_cli.policy.rules.rule import Rule
from strands_cli.policy.rules.tool_request import Request
from strands_cli.policy.rules.touched_resources import kinds_of_argument

# Takes an address and returns why the call must not go on there; None if it may.
ConnectionRefusal = Callable[[str], str | None]


def connection_refusal(rules: Sequence[Rule], request: Request) -> ConnectionRefusal:
    """Return what a tool asks before it follows a redirect.

    A rule that asks refuses too, unless it has asked about the call itself: a person cannot be asked in the middle of
    a call, and the model can name the address in a call of its own.
    """
    asked = speaking_rules(rules, request)

    def refusal(url: str) -> str | None:
        decision = decide(rules, _at(request, url))
        if decision.effect == "deny":
            return decision.rule
        if decision.effect == "ask" and decision.by is not None and decision.by not in asked:
            return f"a person has to be asked first ({decision.rule})"
        return None

    return refusal


def _at(request: Request, url: str) -> Request:
    """Return a call as if it had named this address."""
    arguments = request.arguments or {}
    moved = {name: url for name in arguments if "url" in kinds_of_argument(request, name)}
    # In a declared resource, braces name an argument.
    place = url.replace("{", "%7B").replace("}", "%7D")
    declared = request.claims.get("resources")
    others = {key: value for key, value in declared.items() if key != "connects"} if isinstance(declared, dict) else {}
    claims = {**request.claims, "resources": {**others, "connects": [f"url:{place}"]}}
    return replace(request, arguments={**arguments, **moved}, claims=claims)
