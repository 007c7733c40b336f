"""Every finding code: what it means and what to do; the reference page and `strands explain` are made from it."""

from __future__ import annotations

from typing import NamedTuple


class CodeEntry(NamedTuple):
    """What one code stands for (`meaning`) and the usual way out (`remedy`)."""

    meaning: str
    remedy: str


# Codes are persisted names: scripts match on them. Add, never rename (tests/golden pins the set).
CODES: dict[str, CodeEntry] = {
    # -- the document (spec/document.py)
    "not-yaml": CodeEntry("The text is not well-formed YAML or JSON.", "Mend the syntax at the place named."),
    # -- the workflow (spec/)
    # -- tool refs (toolref.py, catalog/, planning/)
    "unknown-tool": CodeEntry(
        "A tool name that neither the workflow nor an installed distribution provides.",
        "Correct the name, or install the distribution that provides it.",
    ),
    # -- installed distributions (catalog/)
    # -- planning (planning/)
    # -- running (engine/, agents/, outputs/)
}
