"""The licence of a distribution: an SPDX expression, and its text."""

from __future__ import annotations

from strands_cli.errors import Code, Finding, Severity, suggest
from strands_cli.phrases import first_of
from strands_cli.plugins.publish.subject import Subject
from strands_cli.plugins.publish.topic import Topic

PUBLISH_LICENCE = Code(
    "publish-licence",
    "A distribution states no licence, one that is not an SPDX expression, or two that may differ.",
    'Write license = "Apache-2.0" and license-files = ["LICENSE"] in [project] of pyproject.toml.',
)

# What people write for the most frequent ones.
_SPOKEN = {
    "apache": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "gpl": "GPL-3.0-or-later",
    "gplv3": "GPL-3.0-or-later",
    "mit license": "MIT",
    "mpl": "MPL-2.0",
}

_FREQUENT = (
    *("Apache-2.0", "MIT", "MIT-0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "ISC", "Unlicense", "MPL-2.0", "EUPL-1.2"),
    *(f"{name}-{ending}" for name in ("GPL-2.0", "GPL-3.0", "LGPL-3.0", "AGPL-3.0") for ending in ("only", "or-later")),
)


def licence_topic(subject: Subject) -> Topic:
    """Check that the licence is an SPDX expression, stated once, and that its text is in the wheel."""
    metadata, where = subject.metadata, subject.source.where("license")
    expression, written = metadata.get("license_expression"), subject.source.project.get("license")
    if reason := subject.refused.get("license-expression"):
        return Topic("licence", str(expression), (Finding(PUBLISH_LICENCE, reason, where, _spelled(expression or "")),))
    classifiers = [one for one in metadata.get("classifiers") or () if one.startswith("License ::")]
    if not expression:
        stated = isinstance(written, dict) or metadata.get("license") or classifiers
        message = "the licence is not stated as an SPDX expression" if stated else "no licence allows others to use it"
        severity: Severity = "warning" if stated else "error"
        return Topic("licence", "none", (Finding(PUBLISH_LICENCE, message, where, None, severity),))
    findings = []
    if classifiers:
        message = f"a classifier states the licence too, which indexes refuse: {first_of(classifiers, 2)}"
        place = subject.source.where("classifiers")
        findings.append(Finding(PUBLISH_LICENCE, message, place, "remove the classifiers that begin with 'License ::'"))
    texts = _texts(subject)
    if subject.wheel is not None and not texts:
        message, fix = "its text is not in the wheel", 'add the file LICENSE, and license-files = ["LICENSE"]'
        findings.append(Finding(PUBLISH_LICENCE, message, where, fix, severity="warning"))
    return Topic("licence", " with ".join(filter(None, [expression, first_of(texts, 2)])), tuple(findings))


def _texts(subject: Subject) -> list[str]:
    """Return the files of the wheel that have the text of the licence."""
    if subject.wheel is None:
        return []
    folder = f"{subject.wheel.dist_info}/"
    names = ("licen", "copying", "notice")
    found = [path.rpartition("/")[2] for path in subject.wheel.files if path.startswith(folder)]
    return [name for name in found if name.lower().startswith(names)]


def _spelled(written: str) -> str | None:
    spoken = _SPOKEN.get(written.strip().lower())
    return f'write license = "{spoken}"' if spoken else suggest(written, _FREQUENT)
