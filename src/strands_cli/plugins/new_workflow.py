"""Makes a new workflow file of a pattern, which runs without a model, and the new file of an agent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from strands_cli.errors import ArtifactError, UsageError, suggest
from strands_cli.parts.named_providers import provider_named, provider_names
from strands_cli.workflow.format_schema import agent_schema, workflow_schema
from strands_cli.workflow.pattern_model import PatternModel
from strands_cli.workflow.patterns.pattern_models import PATTERNS

# Writes a new YAML file to start from, and beside it the schema for editors.


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def require_name(name: str, kind: str) -> None:
    """Check that a name can be that of `kind` and of its file.

    Raises:
        UsageError: It cannot.
    """
    if not _NAME.fullmatch(name):
        fix = "begin with a letter; then letters, digits, '_' and '-'"
        raise UsageError(f"{name!r} cannot be the name of {kind}", fix=fix)


def write_new(
    files: Mapping[str, str], directory: Path, schema: tuple[str, Callable[[], dict[str, Any]]], *, force: bool
) -> list[Path]:
    """Write files and their schema, and return their paths; a schema that exists stays unchanged.

    Args:
        files: Name -> text.
        directory: Their directory; it is created.
        schema: The name of the schema's file, and a function that returns the schema.
        force: Whether files that exist are overwritten.

    Raises:
        ArtifactError: One exists and `force` is false, or cannot be written.
    """
    texts = {directory / name: text for name, text in files.items()}
    if existing := [str(path) for path in texts if path.exists() and not force]:
        message = f"{' and '.join(existing)} {'exist' if existing[1:] else 'exists'}"
        raise ArtifactError(message, fix="choose another name, or overwrite with --force")
    name, make = schema
    if not (directory / name).exists():
        texts[directory / name] = json.dumps(make(), indent=2, ensure_ascii=False) + "\n"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        message = f"{error.filename or directory} cannot be written: {error.strerror}"
        raise ArtifactError(message, fix="correct its permissions, or choose another directory") from error
    return list(texts)


# Writes the file of a new agent, and the schema for editors beside it.


AGENT_SCHEMA = "agent.schema.json"


def write_agent(name: str, text: str, directory: Path, *, force: bool = False) -> list[Path]:
    """Write the file of an agent and the schema for editors, `agent.schema.json`; return their paths.

    A schema that exists stays unchanged.

    Raises:
        UsageError: The name is not valid.
        ArtifactError: The file exists and `force` is false, or cannot be written.
    """
    require_name(name, "an agent")
    return write_new({f"{name}.yaml": text}, directory, (AGENT_SCHEMA, agent_schema), force=force)


SCHEMA = "workflow.schema.json"
_TOKEN = re.compile(r"\{\{(schema|purpose|name|runtime)\}\}")
# Words with another meaning than text in YAML.
_YAML_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


@dataclass(frozen=True, slots=True)
class NewWorkflow:
    """The choices for a new workflow.

    Attributes:
        name: The workflow's name, and that of its file.
        pattern: The name of a pattern, of the core or of an installed distribution.
        provider: The provider of its models; without one it plays a recording written beside it.
        model: The provider's name of the model.
    """

    name: str
    pattern: str = "chain"
    provider: str | None = None
    model: str | None = None

    @property
    def recording(self) -> str | None:
        """The name of its recording."""
        return f"{self.name}.recording.yaml" if self.provider is None else None


def make_workflow(new: NewWorkflow, directory: Path, *, force: bool = False) -> list[Path]:
    """Write the workflow, its recording, and the schema for editors; return their paths.

    A schema that exists stays unchanged.

    Raises:
        UsageError: The name is not valid, there is no such provider, or it needs a model.
        ArtifactError: A file exists and `force` is false, or cannot be written.
    """
    return write_new(workflow_files(new), directory, (SCHEMA, workflow_schema), force=force)


def workflow_files(new: NewWorkflow) -> dict[str, str]:
    """Return file name -> text of the workflow, and of its recording where it plays one.

    Raises:
        UsageError: The name is not valid, there is no such provider, or it needs a model.
    """
    require_name(new.name, "a workflow")
    name = json.dumps(new.name) if new.name.lower() in _YAML_WORDS else new.name
    pattern = _pattern(new.pattern)
    words = {"schema": SCHEMA, "purpose": pattern.purpose, "name": name, "runtime": _runtime(new)}
    new_files = {f"{new.name}.yaml": _head(words) + pattern.starter}
    if new.recording is not None:
        new_files[new.recording] = pattern.recording
    return new_files


def _pattern(name: str) -> type[PatternModel]:
    """Return the model of a pattern."""
    PATTERNS.learn(name)
    if name in PATTERNS:
        return PATTERNS[name]
    pattern_names = PATTERNS.installed()
    fix = suggest(name, pattern_names, f"one of {', '.join(pattern_names)}")
    raise UsageError(f"there is no pattern {name!r}", fix=fix)


def _runtime(new: NewWorkflow) -> str:
    if new.provider is None:
        if new.model is not None:
            raise UsageError("--model needs a --provider", fix="add --provider NAME")
        live = "  # provider: openai        # for a live model; `strands doctor` shows which keys are set\n"
        return f"{live}  # model_id: gpt-4.1-mini\n  provider: replay\n  recording: {new.recording}"
    providers = [name for name in provider_names() if name != "replay"]
    if new.provider not in providers:
        fix = suggest(new.provider, providers, f"one of: {', '.join(providers)}")
        raise UsageError(f"there is no provider '{new.provider}'", fix=fix)
    if new.model is not None:
        return f"  provider: {new.provider}\n  model_id: {json.dumps(new.model)}"
    provider = provider_named(new.provider)
    if provider is not None and "model_id" in provider.needs:
        raise UsageError(f"the provider '{new.provider}' needs to know the model", fix="add --model NAME")
    return f"  provider: {new.provider}"


def _head(words: Mapping[str, str]) -> str:
    traversable = files("strands_cli.plugins").joinpath("templates", "workflow", "head.yaml.txt")
    return _TOKEN.sub(lambda match: words[match[1]], traversable.read_text(encoding="utf-8"))
