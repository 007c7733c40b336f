"""The results of both tools, as numbered text for a model and as JSON, within one size."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

MAX_TEXT = 65_536
MAX_JSON = 131_072


def fitting(results: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the first results that fit in one answer."""
    fitting_results, text, size = [], 0, 0
    for result in results:
        text += len(_shown(result).encode())
        size += len(json.dumps(result, ensure_ascii=False).encode())
        if text > MAX_TEXT or size > MAX_JSON:
            break
        fitting_results.append(result)
    return fitting_results


def as_text(results: Sequence[Mapping[str, Any]], notices: Sequence[str], opening: str = "") -> str:
    """Return the results as a numbered list; a result cannot begin another item, since each part is one line."""
    parts = [opening] if opening else []
    parts += [f"{number}. {_shown(result)}" for number, result in enumerate(results, 1)]
    if not results:
        parts.append("(no results)")
    return "\n\n".join([*parts, *(f"[{notice}]" for notice in notices)])


def _shown(result: Mapping[str, Any]) -> str:
    # Only news have a source; where it is known, the day is shown with it.
    origin = ", ".join(filter(None, (result["source"], result.get("published_date")))) if "source" in result else ""
    return "\n   ".join(part for part in (result["title"], result["url"], origin, result["snippet"]) if part)
