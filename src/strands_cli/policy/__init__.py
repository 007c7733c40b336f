"""Who may call what: `decide(rules, request)` is a pure function from a call to allow, ask or deny."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
