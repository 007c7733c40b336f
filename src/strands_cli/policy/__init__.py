"""Who may call what: `decide(rules, request)` is a pure function from a call to allow, ask or deny."""

from __future__ import annotations

from strands_cli.policy.decide import Decision, Effect, Request, Rule, decide, strongest

__all__ = ["Decision", "Effect", "Request", "Rule", "decide", "strongest"]
