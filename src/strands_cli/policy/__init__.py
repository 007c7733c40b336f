"""Who may call what: `decide(rules, request)` is a pure function from a call to allow, ask or deny."""

from __future__ import annotations

from strands_cli.policy.decide import (
    Decision,
    conditional_rules,
    decide,
    grant_of,
    own_decision,
    speaking_rules,
    strongest,
)
from strands_cli.policy.policy import Policy, SwitchedOn, joined
from strands_cli.policy.rule import CAPABILITIES, EFFECTS, LEVELS, SOURCES, Effect, Level, Request, Rule, names_custom
from strands_cli.policy.tool_patterns import PatternError, make_rule, parse_pattern

__all__ = [
    "CAPABILITIES",
    "EFFECTS",
    "LEVELS",
    "SOURCES",
    "Decision",
    "Effect",
    "Level",
    "PatternError",
    "Policy",
    "Request",
    "Rule",
    "SwitchedOn",
    "conditional_rules",
    "decide",
    "grant_of",
    "joined",
    "make_rule",
    "names_custom",
    "own_decision",
    "parse_pattern",
    "speaking_rules",
    "strongest",
]
