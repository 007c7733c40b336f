"""What an index refuses in the name, version and other short fields of a distribution, or shows poorly."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Iterable, Iterator
from importlib.resources import files

from strands_cli.catalog.distributions import GROUP as TOOLS
from strands_cli.catalog.distributions import normalise
from strands_cli.errors import Code, Finding
from strands_cli.hooks import GROUP as HOOKS
from strands_cli.phrases import counted, first_of
from strands_cli.plugins.publish.project_source import KINDS
from strands_cli.plugins.publish.subject import Subject
from strands_cli.plugins.publish.topic import Topic
from strands_cli.plugins.scaffold import PURPOSE

PUBLISH_NAME = Code(
    "publish-name",
    "A distribution's name is refused by indexes, belongs to another, or is easily taken for another's.",
    "Rename it, before it is published.",
)
PUBLISH_METADATA = Code(
    "publish-metadata",
    "A field of a distribution's metadata is refused by indexes, or leaves its users without an answer.",
    "Correct the field in [project] of pyproject.toml.",
)

# First-party distributions name these authors.
_OURS = "The strands-cli authors"
_TAKEN = {"strands", "strands-cli", "strands-agents", "strands-agents-tools", "strands-agents-builder"}
_PREFIXES = {TOOLS: "strands-tool-", HOOKS: "strands-"}
_PACKAGED = "strands-flow-"
_SIMILAR = 0.95
_SOURCE_LABELS = ("source", "repository", "sourcecode", "github", "gitlab", "code", "homepage")


def name_topic(subject: Subject) -> Topic:
    """Check the name: valid, by the convention of its kind, and not that of another."""
    kinds = ", ".join(counted(len(found), KINDS[group]) for group, found in subject.members.items())
    return Topic("name", f"{subject.name} ({kinds or 'no plugin'})", tuple(_name_findings(subject)))


def _name_findings(subject: Subject) -> Iterator[Finding]:
    where, name = subject.source.where("name"), normalise(subject.name)
    if reason := subject.refused.get("name"):
        yield Finding(PUBLISH_NAME, reason, where, "letters, digits, '-', '_' and '.' only")
        return
    if name.replace("-", "_") in sys.stdlib_module_names:
        yield Finding(PUBLISH_NAME, f"'{name}' is a module of Python itself, and indexes refuse it", where)
    known = {*_first_party(), *_TAKEN}
    ours = _OURS in (subject.metadata.get("author"), subject.metadata.get("author_email"))
    if name in known and not ours:
        yield Finding(PUBLISH_NAME, f"'{name}' is the name of another distribution", where)
    for one in sorted(known - {name}):
        if not ours and difflib.SequenceMatcher(None, name, one).ratio() >= _SIMILAR:
            message = f"'{name}' is easily taken for '{one}', which is another distribution"
            yield Finding(PUBLISH_NAME, message, where, severity="warning")
    for group in subject.members:
        prefix = _PREFIXES.get(group, _PACKAGED)
        if group != TOOLS and not name.startswith(("strands-", "strands_")):
            message = f"by convention the name of a distribution with a {KINDS[group]} begins with {prefix}"
            yield Finding(PUBLISH_NAME, message, where, severity="warning")


def _first_party() -> Iterable[str]:
    """Return the distributions of the first-party tools, from the data that fixes are made of."""
    text = files("strands_cli.catalog").joinpath("first_party.json").read_text(encoding="utf-8")
    owners: dict[str, str] = json.loads(text)
    return owners.values()


def version_topic(subject: Subject) -> Topic:
    """Check the version: one that indexes accept, and that installers take without being asked to."""
    version = subject.metadata.get("version")
    findings = []
    where = subject.source.where("version")
    if version is None:
        if "version" not in subject.source.project.get("dynamic", ()):
            findings = [Finding(PUBLISH_METADATA, "there is no version", where, 'write version = "0.1.0"')]
        return Topic("version", "stated by the build only", tuple(findings))
    if reason := subject.refused.get("version"):
        findings = [Finding(PUBLISH_METADATA, reason, where, 'write it as in version = "0.1.0"')]
    elif "+" in version:
        message = f"{version!r} has a local part ('+{version.partition('+')[2]}'), which indexes refuse"
        findings = [Finding(PUBLISH_METADATA, message, where, f'write version = "{version.partition("+")[0]}"')]
    return Topic("version", version, tuple(findings))


def python_topic(subject: Subject) -> Topic:
    """Check which versions of Python it admits: without a lower bound it is installed where it cannot run."""
    wanted = subject.metadata.get("requires_python")
    where = subject.source.where("requires-python")
    fix = 'write requires-python = ">=3.11"'
    if reason := subject.refused.get("requires-python"):
        return Topic("python", str(wanted), (Finding(PUBLISH_METADATA, reason, where, fix),))
    if not wanted:
        finding = Finding(PUBLISH_METADATA, "requires-python is missing", where, fix, severity="warning")
        return Topic("python", "any version", (finding,))
    return Topic("python", wanted)


def summary_topic(subject: Subject) -> Topic:
    """Check the sentence that lists and searches show."""
    summary = (subject.metadata.get("summary") or "").strip()
    where = subject.source.where("description")
    if reason := subject.refused.get("summary"):
        return Topic("summary", "one line", (Finding(PUBLISH_METADATA, reason, where, "write one line"),))
    fix = 'write description = "What it does, in one line: a tool for Strands agents"'
    if not summary:
        return Topic("summary", "none", (Finding(PUBLISH_METADATA, "there is no summary", where, fix),))
    if summary.startswith(PURPOSE.rstrip(".")):
        message = "the summary is that of the template, not of what it does"
        return Topic("summary", summary, (Finding(PUBLISH_METADATA, message, where, fix, severity="warning"),))
    return Topic("summary", summary)


def links_topic(subject: Subject) -> Topic:
    """Check the links of the project's page: where its source is, for those who judge it."""
    urls = subject.metadata.get("project_urls") or {}
    where = subject.source.where("urls")
    findings = [
        Finding(PUBLISH_METADATA, f"the link {label!r} is not an https address", where, "write https://", "warning")
        for label, url in sorted(urls.items())
        if not url.startswith("https://")
    ]
    plain = {"".join(filter(str.isalnum, label)).lower() for label in urls}
    if not plain & set(_SOURCE_LABELS) and not subject.metadata.get("home_page"):
        message = "no link leads to the source, so a stranger cannot compare it with what the index serves"
        fix = 'write [project.urls] and in it Source = "https://..."'
        findings.append(Finding(PUBLISH_METADATA, message, where, fix, severity="warning"))
    return Topic("links", first_of(sorted(urls), 4) or "none", tuple(findings))


def requirements_topic(subject: Subject) -> Topic:
    """Check the dependencies: an index refuses those that name an address or a file."""
    requires = subject.metadata.get("requires_dist") or []
    where = subject.source.where("dependencies")
    findings = [
        Finding(PUBLISH_METADATA, f"'{text}' names an address, which indexes refuse", where, "name a version instead")
        for text in requires
        if "@" in text.partition(";")[0]
    ]
    if reason := subject.refused.get("requires-dist"):
        findings.append(Finding(PUBLISH_METADATA, reason, where, "write it as in 'httpx>=0.27'"))
    shown = [text.partition(";")[0].strip() for text in requires]
    return Topic("dependencies", first_of(shown, 4) or "none", tuple(findings))


def authors_topic(subject: Subject) -> Topic:
    """Check that it says who made it."""
    people = [subject.metadata.get("author"), subject.metadata.get("author_email")]
    people += [one.get("name") for one in subject.source.project.get("authors", ()) if isinstance(one, dict)]
    named = next((one for one in people if one), None)
    if named:
        return Topic("authors", named)
    fix = 'write authors = [{ name = "Jo Doe" }]'
    finding = Finding(PUBLISH_METADATA, "nothing says who made it", subject.source.where("authors"), fix, "warning")
    return Topic("authors", "none", (finding,))
