"""Custom Python of a workflow: a function that the SDK's decorator describes."""

from __future__ import annotations

from strands import tool


@tool
def shout(text: str) -> str:
    """Say something in capital letters.

    Args:
        text: What to say.
    """
    return f"{text.upper()}!"
