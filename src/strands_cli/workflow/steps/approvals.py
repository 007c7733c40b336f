"""The words with which a person answers a gate: those that approve, and what a text means."""

from __future__ import annotations

from collections.abc import Sequence

# The answers to a gate that approve, in any case; without --answer, `approve` gives the first that fits.
APPROVALS = ("approved", "approve", "yes", "y", "ok")
_PREFIX = "route:"


def is_approval(answer: str) -> bool:
    """Return whether an answer to a gate approves."""
    return answer.strip().lower() in APPROVALS


def meant_word(text: str, words: Sequence[str]) -> str | None:
    """Return which of the words an answer means: in any case, also after `route:`; an approval means the first one."""
    text = text.strip()
    if text in words:
        return text
    folded = text.casefold()
    for form in (folded, folded.removeprefix(_PREFIX).strip()):
        for word in words:
            if word.casefold() == form:
                return word
    return next((word for word in words if is_approval(word)), None) if is_approval(text) else None
