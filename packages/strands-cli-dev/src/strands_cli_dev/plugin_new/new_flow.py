"""Makes a new distribution of a workflow and its agent, from templates; its tests pass."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from strands_cli.api import UsageError
from strands_cli_dev.plugin_new.project_directory import CI_FILE, author_of, descriptions, filled, make_project

PREFIX = "strands-flow-"
PURPOSE = "Sum up a text for a customer."
AGENT = "reader"
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_MOST = 50
# Words that YAML reads as something else than text.
_YAML_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


@dataclass(frozen=True, slots=True)
class NewFlow:
    """The choices for a new package of a workflow.

    Attributes:
        name: The workflow's name, and that of its file: `your-words`.
        author: The author in its metadata.
        description: The purpose of the workflow, in a sentence.
    """

    name: str
    author: str | None = None
    description: str | None = None

    @property
    def distribution(self) -> str:
        """The name for pip: `strands-flow-your-words`."""
        return f"{PREFIX}{self.name}"

    @property
    def package(self) -> str:
        """The name for an import by Python: `strands_flow_your_words`."""
        return self.distribution.replace("-", "_")

    @property
    def reference(self) -> str:
        """The argument of `strands run`: `strands-flow-your-words/your-words`."""
        return f"{self.distribution}/{self.name}"

    @property
    def file(self) -> str:
        """The path of the workflow in the project."""
        return f"src/{self.package}/workflows/{self.name}.yaml"


def name_flow(text: str) -> str:
    """Return the workflow's name for `your-words`, `strands-flow-your-words` or `Your_Words`.

    Raises:
        UsageError: No workflow of a package can have that name; the fix proposes another.
    """
    plain = re.sub(r"[-_. ]+", "-", text.strip().lower()).removeprefix(PREFIX)
    if _NAME.fullmatch(plain) and len(plain) <= _MOST and plain not in (*_YAML_WORDS, AGENT):
        return plain
    folded = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9]+", "-", folded)[:_MOST].strip("-").lstrip("0123456789-")
    proposed = "my-flow" if not words else f"my-{words}" if words == plain else words
    message = f"{text!r} is not a workflow's name here: lower-case letters, digits and single '-', a letter first"
    raise UsageError(f"{message}, at most {_MOST}", fix=f"for example: strands plugin new {proposed} --form workflow")


def make_flow(new: NewFlow, parent: Path) -> Path:
    """Write the project's directory and return it; where that fails, nothing remains.

    Raises:
        UsageError: The directory exists, cannot be made, or the author or the description is not a line of text.
    """
    return make_project(parent / new.distribution, flow_files(new))


def flow_files(new: NewFlow) -> dict[str, str]:
    """Return the files of a new project by relative path.

    Raises:
        UsageError: The author or the description is not a line of text.
    """
    about = descriptions(PURPOSE if new.description is None else new.description, "a workflow for strands-cli")
    words = {
        **about,
        "name": new.name,
        "agent": AGENT,
        "distribution": new.distribution,
        "package": new.package,
        "author": author_of(new.author, new.distribution),
    }
    package = f"src/{new.package}"
    templates = {
        CI_FILE: "publish.yml",
        ".gitignore": "gitignore",
        "LICENSE": "LICENSE",
        "README.md": "flow/README.md",
        "pyproject.toml": "flow/pyproject.toml",
        f"{package}/__init__.py": "flow/init.py",
        new.file: "flow/workflow.yaml",
        f"{package}/workflows/{new.name}.recording.yaml": "flow/recording.yaml",
        f"{package}/workflows/{AGENT}.yaml": "flow/agent.yaml",
        f"tests/test_{new.name.replace('-', '_')}.py": "flow/test.py",
    }
    return {path: filled(template, words) for path, template in templates.items()}
