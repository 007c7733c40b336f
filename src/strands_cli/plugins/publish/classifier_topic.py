"""The classifiers of a distribution, compared with the list that indexes accept."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from strands_cli.errors import Code, Finding, suggest
from strands_cli.phrases import counted
from strands_cli.plugins.publish.subject import Subject
from strands_cli.plugins.publish.topic import Topic

PUBLISH_CLASSIFIER = Code(
    "publish-classifier",
    "A classifier is not one that indexes accept, or could not be compared with their list.",
    "Correct `classifiers` in [project] of pyproject.toml.",
)

_PYTHON = "Programming Language :: Python :: 3."
_GET_LIST = "python -m pip install 'strands-cli[publish]'"


class Known(NamedTuple):
    """The classifiers that indexes accept, and those that they no longer do, each with what replaces it."""

    valid: Collection[str]
    deprecated: Mapping[str, list[str]]


def classifiers_topic(subject: Subject) -> Topic:
    """Check that each classifier is on the list, and that those on Python fit `requires-python`."""
    written = list(subject.metadata.get("classifiers") or ())
    where = subject.source.where("classifiers")
    if not written:
        fix = 'write classifiers = ["Programming Language :: Python :: 3", "Typing :: Typed"]'
        return Topic("classifiers", "none", (Finding(PUBLISH_CLASSIFIER, "there are none", where, fix, "warning"),))
    found = [Finding(PUBLISH_CLASSIFIER, text, where, fix) for text, fix in _private_or_twice(written)]
    known = known_classifiers()
    if known is None:
        message = "they were not compared with the list of valid ones, which is not installed here"
        found.append(Finding(PUBLISH_CLASSIFIER, message, where, _GET_LIST, severity="warning"))
    else:
        found += [Finding(PUBLISH_CLASSIFIER, text, where, fix) for text, fix in _unknown(written, known)]
    if unfit := _unfit(subject, written):
        message = f"requires-python {subject.metadata.get('requires_python')} does not admit {unfit!r}"
        found.append(Finding(PUBLISH_CLASSIFIER, message, where, "remove it, or widen requires-python", "warning"))
    return Topic("classifiers", counted(len(written), "classifier"), tuple(found))


def known_classifiers() -> Known | None:
    """Return the list of the distribution `trove-classifiers`; None if it is not installed."""
    try:
        import trove_classifiers
    except ImportError:
        return None
    return Known(trove_classifiers.classifiers, trove_classifiers.deprecated_classifiers)


def _private_or_twice(written: list[str]) -> Iterator[tuple[str, str]]:
    for one in dict.fromkeys(written):
        if one.startswith("Private ::"):
            yield f"{one!r} forbids the publication: indexes refuse it", "remove it, if it is to be published"
        if written.count(one) > 1:
            yield f"{one!r} is written {written.count(one)} times", "write it once"


def _unknown(written: list[str], known: Known) -> Iterator[tuple[str, str | None]]:
    for one in dict.fromkeys(written):
        if one.startswith("Private ::"):
            continue
        if one in known.deprecated:
            instead = " or ".join(map(repr, known.deprecated[one]))
            yield f"{one!r} is not accepted any longer", f"write {instead}" if instead else "remove it"
        elif one not in known.valid:
            yield f"{one!r} is not a classifier that indexes accept", suggest(one, known.valid, "remove it")


def _unfit(subject: Subject, written: list[str]) -> str | None:
    """Return the first classifier on a Python version that `requires-python` does not admit."""
    from packaging.specifiers import SpecifierSet

    wanted = subject.metadata.get("requires_python")
    if not wanted or "requires-python" in subject.refused:
        return None
    admitted = SpecifierSet(wanted)
    minors = {one: one.removeprefix(_PYTHON) for one in written if one.startswith(_PYTHON)}
    # A late release of each minor version: `>=3.11.4` admits 3.11.
    return next((one for one, minor in minors.items() if minor.isdigit() and f"3.{minor}.99" not in admitted), None)
