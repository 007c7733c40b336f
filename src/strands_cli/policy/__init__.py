"""Decisions on tool calls: `decide(rules, request)` returns allow, ask or deny, and the rule that decided."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
