"""The effects of a run as a list of lists, each folded, in which thousands are put into groups."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from strands_cli.api import Branch, Usage, duration
from strands_cli_ui.pages.effect_parts import SHORT, effect_html
from strands_cli_ui.pages.html_text import anchor_of, badge, escape, money
from strands_cli_ui.pages.run_page import RunPage

# More effects side by side are put into groups of this size.
GROUP = 100
# Effects nested deeper are listed at this depth: browsers give up on very deep pages.
DEEPEST = 12

EffectLink = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class _Listing:
    """How effects are listed: the page, and where whole effects are if they are not in it."""

    page: RunPage
    link: EffectLink | None

    def items(self, branches: Sequence[Branch], depth: int) -> Iterator[str]:
        """Yield the items of a list."""
        if len(branches) <= GROUP:
            for branch in branches:
                yield from self._item(branch, depth)
            return
        for start in range(0, len(branches), GROUP):
            group = branches[start : start + GROUP]
            title = f"{start + 1:,} to {start + len(group):,} of {len(branches):,}: {_counts(group)}"
            yield f'<li class="group"><details><summary>{title} {_spent(group)}</summary><ol>'
            for branch in group:
                yield from self._item(branch, depth)
            yield "</ol></details></li>"

    def _item(self, branch: Branch, depth: int) -> Iterator[str]:
        inside = self._content(branch)
        begins = f'<li id="{anchor_of(branch.key)}" class="{branch.kind}">'
        if not inside and not branch.children:
            yield f'{begins}<div class="line">{self._line(branch)}</div></li>'
            return
        nests = depth < DEEPEST
        yield f"{begins}<details{self._source(branch)}><summary>{self._line(branch)}</summary>"
        yield f'<div class="inside">{inside}</div>'
        if branch.children and nests:
            yield "<ol>"
            yield from self.items(branch.children, depth + 1)
            yield "</ol>"
        yield "</details></li>"
        if not nests:
            for below in list(branch.walk())[1:]:
                yield from self._item(_childless(below), depth)

    def _source(self, branch: Branch) -> str:
        return f' data-effect="{escape(self.link(branch.key))}"' if self.link and branch.effect else ""

    def _content(self, branch: Branch) -> str:
        page = self.page
        if branch.effect is None:
            return ""
        if self.link is not None:
            return f'<p><a href="{escape(self.link(branch.key))}">What it read, called and answered</a></p>'
        whole = page.whole.get(branch.key)
        if isinstance(whole, str):
            return f'<p class="error">It cannot be read: {escape(whole)}</p>'
        if whole is None:
            return ""
        return effect_html(whole, limit=SHORT, show_command=f"{page.show_command} {shlex.quote(branch.key)}")

    def _line(self, branch: Branch) -> str:
        who = f' <bdi class="who">{self.page.text(branch.who)}</bdi>' if branch.who else ""
        decision = f' <span class="decision">{self.page.text(branch.decision)}</span>' if branch.decision else ""
        took = f' <span class="number">{duration(branch.seconds)}</span>' if branch.seconds is not None else ""
        name = f'<bdi class="key">{self.page.text(branch.name)}</bdi> <span class="kind">{branch.kind}</span>'
        return f"{badge(branch.status)} {name}{who}{decision}{took} {_spent([branch])}"


def effect_list(page: RunPage, link: EffectLink | None = None) -> str:
    """Return the effects of a run as a list.

    Args:
        link: Returns the address of a whole effect by its key, where the page does not have it.
    """
    if not page.branches:
        return "<p>Nothing has been done.</p>"
    items = "".join(_Listing(page, link).items(page.branches, 1))
    return f'{_left_out(page) if link is None else ""}<ol class="effects">{items}</ol>'


def _left_out(page: RunPage) -> str:
    """Return the note about effects whose texts the page does not have."""
    every = [branch.key for top in page.branches for branch in top.walk() if branch.effect is not None]
    without = [key for key in every if key not in page.whole]
    if not without:
        return ""
    where = f"<code>{escape(page.show_command)} KEY</code>"
    return f'<p class="cut">The texts of {len(without):,} of {len(every):,} effects are left out: {where}</p>'


def _childless(branch: Branch) -> Branch:
    from dataclasses import replace

    return replace(branch, children=())


def _counts(branches: Sequence[Branch]) -> str:
    counts = Counter(branch.status for branch in branches)
    return ", ".join(f"{number} {escape(status)}" for status, number in counts.most_common())


def _spent(branches: Sequence[Branch]) -> str:
    usage = sum((branch.usage for branch in branches), Usage())
    if not usage.total_tokens:
        return ""
    costs = [branch.cost for branch in branches]
    cost = money(None if None in costs else sum(branch for branch in costs if branch is not None))
    return f'<span class="number">{usage.total_tokens:,} tokens, {cost}</span>'
