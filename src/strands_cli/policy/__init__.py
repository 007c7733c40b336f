"""Decisions on tool calls: `decide(rules, request)` returns allow, ask or deny, and the rule that decided."""
