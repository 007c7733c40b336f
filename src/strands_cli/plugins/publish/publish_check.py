"""Everything that is between a project and an index, topic by topic."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from strands_cli.errors import Code, Finding, InvalidInput
from strands_cli.plugins.publish.attestation_topic import attestation_topic
from strands_cli.plugins.publish.ci_file import CiFile, make_ci_file
from strands_cli.plugins.publish.classifier_topic import classifiers_topic
from strands_cli.plugins.publish.licence_topic import licence_topic
from strands_cli.plugins.publish.metadata_topics import (
    authors_topic,
    links_topic,
    name_topic,
    python_topic,
    requirements_topic,
    summary_topic,
    version_topic,
)
from strands_cli.plugins.publish.plugin_topics import plugin_topics
from strands_cli.plugins.publish.project_source import KINDS, ProjectSource
from strands_cli.plugins.publish.readme_topic import readme_topic
from strands_cli.plugins.publish.subject import Subject
from strands_cli.plugins.publish.topic import Topic
from strands_cli.plugins.publish.wheel_file import WheelFile, build_wheel, read_wheel
from strands_cli.plugins.publish.wheel_topics import secrets_topic, wheel_topic
from strands_cli.quick_dataclass import dataclass

NO_PLUGIN = Code(
    "no-plugin",
    "A distribution has no entry point of strands-cli, so nothing of it is found once it is installed.",
    "Declare one in pyproject.toml, or start from: strands plugin new NAME",
)

_OF_METADATA = (
    version_topic,
    summary_topic,
    readme_topic,
    licence_topic,
    classifiers_topic,
    python_topic,
    requirements_topic,
    links_topic,
    authors_topic,
)


@dataclass(frozen=True, slots=True)
class PublishCheck:
    """The answer.

    Attributes:
        distribution: The name in its metadata.
        version: None where only its build states it, and there is no wheel.
        members: What an entry-point group is for (`tool`, `workflow`) -> names of its plugins.
        topics: What was looked at.
        wheel: The wheel; None where none was built.
        ci: The file for CI to copy.
    """

    distribution: str
    version: str | None
    members: Mapping[str, tuple[str, ...]]
    topics: tuple[Topic, ...]
    wheel: WheelFile | None
    ci: CiFile

    @property
    def findings(self) -> list[Finding]:
        """Everything that is wrong."""
        return [finding for topic in self.topics for finding in topic.findings]


def check_publishable(source: ProjectSource, file: Path | None = None) -> PublishCheck:
    """Check what an index refuses, and what a person who installs from it would miss.

    Args:
        source: The project. Its wheel is built, which runs its build; a tool that cannot be read from its source is
            imported, in a child process.
        file: Its wheel, if it is built already; then nothing is built.
    """
    wheel, findings = _wheel_of(source, file)
    subject = Subject(source, wheel)
    ci = make_ci_file(source.directory, subject.name)
    built = [wheel_topic(subject, wheel), secrets_topic(wheel)] if wheel else [Topic("wheel", "none", findings)]
    topics = [
        name_topic(subject),
        *(topic(subject) for topic in _OF_METADATA),
        *(plugin_topics(subject) if subject.members else [_no_plugin(source)]),
        *built,
        attestation_topic(source, ci),
    ]
    version = subject.metadata.get("version")
    members = {KINDS[group]: tuple(sorted(found)) for group, found in subject.members.items()}
    return PublishCheck(subject.name, version, members, tuple(topics), wheel, ci)


def _wheel_of(source: ProjectSource, file: Path | None) -> tuple[WheelFile | None, tuple[Finding, ...]]:
    try:
        return (read_wheel(file) if file else build_wheel(source.directory)), ()
    except InvalidInput as error:
        return None, error.findings


def _no_plugin(source: ProjectSource) -> Topic:
    message = f"it declares no entry point of {', '.join(KINDS)}"
    return Topic(
        "plugin check", "no plugin", (Finding(NO_PLUGIN, message, source.where("entry-points"), severity="warning"),)
    )
