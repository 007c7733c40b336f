"""A page as a test sees it: its tags, ids, links and text, and what a page must not have."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input", "col", "wbr"}
# What may load or open something; `href` is checked by itself.
LOADING = {"src", "srcset", "action", "formaction", "data", "poster", "background", "ping", "xlink:href"}


class Parsed(HTMLParser):
    """One page; `faults` has what is wrong with it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.headings: list[int] = []
        self.words: list[str] = []
        self.deepest = 0
        self._open: list[str] = []
        self.feed(text)
        self.close()
        self.faults += [f"never closed: {tag}" for tag in self._open]
        self.faults += [f"id twice: {one}" for one in sorted(set(self.ids)) if self.ids.count(one) > 1]
        self.faults += [f"no such id: {one}" for one in self.links if one[:1] == "#" and one[1:] not in self.ids]
        pairs = zip([0, *self.headings], self.headings, strict=False)
        self.faults += [f"heading {after} after {before}" for before, after in pairs if after > before + 1]

    @property
    def text(self) -> str:
        """Everything that is shown."""
        return "".join(self.words)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag in ("script", "iframe", "object", "embed", "form", "base", "link", "img"):
            self.faults.append(f"tag {tag}")
        if tag[0] == "h" and tag[1:].isdigit():
            self.headings.append(int(tag[1:]))
        for name, value in attrs:
            if name.startswith("on") or name in LOADING or name == "style":
                self.faults.append(f"{tag} has {name}")
            if name == "id":
                self.ids.append(value or "")
            if name == "href":
                self.links.append(value or "")
        if tag not in VOID:
            self._open.append(tag)
            self.deepest = max(self.deepest, len(self._open))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"not open: {tag}")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.words.append(data)
