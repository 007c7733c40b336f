"""The pages that fixes refer to, which `strands explain` prints: a wheel has them and no others."""

from __future__ import annotations

from importlib.resources import files

# The page in `docs/` by the word that `explain` takes; `scripts/make_reference.py` copies them.
PAGES = {
    "tool-refs": "reference/tool-refs.md",
    "policy-files": "reference/policy.md",
    "manifest": "reference/manifest.md",
    "recordings": "reference/recordings.md",
    "secrets": "how-to/secrets.md",
    "notifications": "how-to/notifications.md",
    "stores": "how-to/stores.md",
    "plugin-indexes": "how-to/plugin-index.md",
    "live-models": "how-to/live-model.md",
    "security": "explanation/security-model.md",
}


def page_text(name: str) -> str:
    """Return the text of a page."""
    return files("strands_cli").joinpath("shipped_docs", f"{name}.md").read_text(encoding="utf-8")
