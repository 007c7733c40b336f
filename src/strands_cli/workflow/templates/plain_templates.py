"""What templates say that only print names, as most do: it is read without Jinja's parser, which is not imported."""

from __future__ import annotations

import keyword
import re

from strands_cli.workflow.templates.template_errors import Path
from strands_cli.workflow.templates.template_facts import Facts, Read

# A text up to a name with its fields and numbers in braces; everything else is left to the parser.
_PRINTED = re.compile(r"[^{}]*\{\{[ \t]*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d{1,9}\])*)[ \t]*\}\}", re.ASCII)
_PART = re.compile(r"\w+", re.ASCII)
# Words of the language, and names that templates always have.
NOT_PLAIN = frozenset({*keyword.kwlist, "true", "false", "none", "self", "super", "loop", "caller"}) | frozenset(
    {"cycler", "dict", "joiner", "namespace", "range"}
)


def plain_facts(text: str) -> Facts | None:
    """Return what a template says that only prints names; None for any other."""
    paths, end = dict[Path, None](), 0
    while (found := _PRINTED.match(text, end)) is not None:
        first, *rest = _PART.findall(found[1])
        if first in NOT_PLAIN:
            return None
        paths[(first, *(int(part) if part[0].isdecimal() else part for part in rest))] = None
        end = found.end()
    if "{" in text[end:] or "}" in text[end:] or not paths:
        return None
    every = frozenset(paths)
    return Facts(
        paths=every,
        reads=tuple(Read(path, is_called=False, may_be_missing=False) for path in paths),
        mentions=every,
        certain=frozenset(path[:2] for path in paths if len(path) > 1),
        printed=tuple((path, True) for path in paths),
    )
