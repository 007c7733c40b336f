"""JSON in the spelling that readers of YAML 1.1 accept."""

from __future__ import annotations

import json
import re

_SURROGATE_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})")
# Comments, and commas before a bracket, which editors allow in JSON. What does not end goes on to the end of the text,
# so that a search takes linear time.
_TEXT = r'(?P<text>"(?:[^"\\]|\\.)*(?:"|\\?\Z))'
_COMMENT = re.compile(_TEXT + r"|//[^\n]*|/\*(?:.*?\*/|.*)", re.DOTALL)
_LAST_COMMA = re.compile(_TEXT + r"|,(?=\s*[}\]])", re.DOTALL)
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def json_as_yaml(text: str) -> str:
    """Return JSON in the spelling that YAML readers accept; other text is returned unchanged.

    JSON allows tabs between tokens, writes characters beyond U+FFFF as two escapes, and takes line separators and
    C1 controls literally; YAML 1.1 readers do none of these.
    """
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        plain = _LAST_COMMA.sub(_blank, _COMMENT.sub(_blank, text))
        try:
            json.loads(plain)
        except (ValueError, RecursionError):
            return text
        text = plain
    text = _SURROGATE_PAIR.sub(lambda match: match[1] + json.loads(f'"{match[2]}"'), text.replace("\t", " "))
    return _NOT_IN_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _blank(found: re.Match[str]) -> str:
    """Return blanks for a comment or a comma before a bracket, so that all places stay; a text as it is."""
    return found[0] if found["text"] else re.sub(r"[^\n]", " ", found[0])
