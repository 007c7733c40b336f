"""The examples of the pages import names that a document promises, and nothing inside the core."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.docs.pages import CLONE, pages
from tests.test_house import PUBLIC_MODULES

PROMISED = {*PUBLIC_MODULES, "strands_cli.hooks"}
# Pages about the core itself: they change its modules, or record why these are as they are.
ABOUT_THE_CORE = (CLONE / "docs" / "how-to" / "extend.md", *(CLONE / "docs" / "decisions").glob("*.md"))
IMPORT = re.compile(r"^\s*(?:from|import) (strands_cli[\w.]*)", re.MULTILINE)


def imported() -> Iterator[tuple[str, str]]:
    """Yield each module of the core that a line of a page imports, with the page."""
    for page in pages():
        if page not in ABOUT_THE_CORE:
            for module in IMPORT.findall(page.read_text(encoding="utf-8")):
                if module.split(".")[0] == "strands_cli":
                    yield module, str(page.relative_to(CLONE))


def test_pages_import_promised_names_only() -> None:
    found = list(imported())
    assert len(found) > 20
    assert [one for one in found if one[0] not in PROMISED] == []
