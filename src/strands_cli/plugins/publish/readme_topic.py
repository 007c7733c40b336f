"""The page that an index shows of a distribution: its readme, rendered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from strands_cli.errors import Code, Finding, Severity
from strands_cli.phrases import counted, first_of
from strands_cli.plugins.publish.subject import Subject
from strands_cli.plugins.publish.topic import Topic

if TYPE_CHECKING:
    from markdown_it.token import Token

PUBLISH_README = Code(
    "publish-readme",
    "A distribution has no readme, or an index would show it as plain text, empty, or with broken links.",
    'Write README.md, and readme = "README.md" in [project] of pyproject.toml.',
)

MARKDOWN = "text/markdown"
_MAX_CHARACTERS = 500_000
_ASIDE: Severity = "warning"


def readme_topic(subject: Subject) -> Topic:
    """Render the readme as an index does, and check that something is left, and that its links lead somewhere."""
    text = subject.metadata.get("description") or ""
    kind = (subject.metadata.get("description_content_type") or "").partition(";")[0].strip().lower()
    where = subject.source.where("readme")
    if not text.strip() or text.strip() == "UNKNOWN":
        return Topic("readme", "none", (Finding(PUBLISH_README, "there is no readme, or it is empty", where),))
    if "description-content-type" in subject.refused:
        message = f"indexes refuse a readme of the type {kind!r}"
        return Topic("readme", kind, (Finding(PUBLISH_README, message, where),))
    if len(text) > _MAX_CHARACTERS:
        message = f"the readme has {len(text):,} characters; at most {_MAX_CHARACTERS:,} are rendered"
        return Topic("readme", kind, (Finding(PUBLISH_README, message, where, "move its parts to pages"),))
    if kind == MARKDOWN:
        rendered, findings = _rendered(subject, text)
        return Topic("readme", f"{MARKDOWN}, renders ({counted(rendered, 'block')})", tuple(findings))
    words = {"text/plain": "is shown as plain text, without headings and links", "": "has no content type"}
    message = f"the readme {words.get(kind, f'is {kind}, which is not rendered here')}"
    fix = "write it as Markdown in README.md, or render it with its own tool: python -m twine check dist/*"
    return Topic("readme", kind or "of no type", (Finding(PUBLISH_README, message, where, fix, _ASIDE),))


def _rendered(subject: Subject, text: str) -> tuple[int, list[Finding]]:
    from markdown_it import MarkdownIt

    where = subject.source.where("readme")
    try:
        tokens = MarkdownIt("commonmark").enable("table").parse(text)
    except (ValueError, RecursionError) as error:
        return 0, [Finding(PUBLISH_README, f"the readme cannot be rendered: {error}", where)]
    findings = []
    if not any(token.type in ("inline", "fence", "code_block") and token.content.strip() for token in tokens):
        findings = [Finding(PUBLISH_README, "the readme renders to an empty page", where, "write what it is for")]
    if broken := sorted({place for token in tokens for place in _places(token) if _is_relative(place)}):
        message = f"{counted(len(broken), 'place')} of the readme is relative, and leads nowhere on an index: "
        fix = "write whole addresses: https://..."
        findings.append(Finding(PUBLISH_README, message + first_of(broken, 3), where, fix, _ASIDE))
    if not any(token.type == "heading_open" for token in tokens):
        findings.append(Finding(PUBLISH_README, "the readme has no heading", where, "begin it with '# NAME'", _ASIDE))
    return sum(token.level == 0 and token.nesting >= 0 for token in tokens), findings


def _places(token: Token) -> Iterator[str]:
    for inner in token.children or ():
        name = {"link_open": "href", "image": "src"}.get(inner.type)
        if name:
            yield str(inner.attrGet(name) or "")
        yield from _places(inner)


def _is_relative(place: str) -> bool:
    return bool(place) and not place.startswith(("#", "//", "mailto:")) and "://" not in place
